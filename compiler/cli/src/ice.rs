//! What is said when Par itself is wrong.

use par::pipeline::current_stage;
use std::panic::PanicHookInfo;

/// Makes panics apologise.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        // Readers of others may panic at files that are none; whoever called them reports that.
        if !par_data::is_guarded() {
            apologise(current_stage(), &describe(info));
        }
    }));
}

fn describe(info: &PanicHookInfo) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
    match info.location() {
        Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
        None => text.to_string(),
    }
}

/// Reports a bug in Par: where it was noticed, and what is needed to find it.
pub fn apologise(stage: &str, message: &str) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file =
        args.iter().find(|a| a.ends_with(".par") || a.ends_with(".fut")).map_or("FILE", String::as_str);
    crate::status::say(&format!(
        "This is a bug in Par, not in your program. Sorry!

    version: {}
    during:  {stage}
    message: {message}

Please report it with the program, and with the output of

    par dev --verify --dump=after:lower {file}",
        env!("PAR_VERSION")
    ));
}
