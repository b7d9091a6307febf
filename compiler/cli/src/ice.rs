//! Messages for bugs in Par itself.

use crate::status;
use par::pipeline::current_stage;

/// Makes panics apologise.
pub fn install() {
    status::set_version(env!("PAR_VERSION"));
    std::panic::set_hook(Box::new(|info| {
        // Readers of others may panic at files that are none; whoever called them reports that.
        if !par_data::is_guarded() {
            apologise(current_stage(), &status::describe(info));
        }
    }));
}

/// Reports a bug in Par: where it was noticed, and what is needed to find it.
pub fn apologise(stage: &str, message: &str) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file =
        args.iter().find(|a| a.ends_with(".par") || a.ends_with(".fut")).map_or("FILE", String::as_str);
    let wanted = format!(
        "Please report it with the program, and with the output of

    par dev --verify --dump=after:lower {file}"
    );
    status::apologise(stage, message, &wanted);
}
