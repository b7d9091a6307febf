//! Settings of `:set`.

use par::{Backend, Layout};
use par_runtime::trace::Sink;

/// Elements that are shown of a value, to begin with.
const PRINT_LIMIT: usize = 200;
/// Columns of a line, where nobody knows better.
const WIDTH: usize = 80;

/// Settings of evaluation and output.
pub struct Settings {
    pub backend: Backend,
    /// 0 stands for all processors.
    pub threads: usize,
    /// 0 stands for all elements.
    print_limit: usize,
    /// 0 stands for the terminal's, or for no limit.
    width: usize,
    texts: bool,
    /// The terminal's width, if there is one.
    terminal_width: Option<usize>,
}

/// A setting: its name, what it may be, what it is for.
pub struct Setting {
    pub name: &'static str,
    pub values: &'static str,
    pub help: &'static str,
}

/// All settings.
pub const SETTINGS: [Setting; 5] = [
    Setting { name: "backend", values: "cpu|cuda|interp|flat-interp", help: "what runs expressions" },
    Setting { name: "threads", values: "N", help: "for the cpu, 0 for all processors" },
    Setting { name: "print-limit", values: "N", help: "elements shown of a value, 0 for all" },
    Setting { name: "width", values: "N", help: "columns of a line, 0 for the terminal's" },
    Setting { name: "texts", values: "on|off", help: "rows of bytes are shown as texts" },
];

impl Settings {
    /// For a person at a terminal values are cut and broken into lines; scripts get them as they are.
    pub fn new(backend: Backend, threads: usize, terminal: bool) -> Settings {
        let (print_limit, terminal_width) = if terminal { (PRINT_LIMIT, Some(WIDTH)) } else { (0, None) };
        Settings { backend, threads, print_limit, width: 0, texts: false, terminal_width }
    }

    /// Sets the terminal's width.
    pub fn terminal_is(&mut self, width: usize) {
        self.terminal_width = Some(width);
    }

    /// The space for a value; with `all` for every element of it.
    pub fn layout(&self, all: bool) -> Layout {
        let unlimited = |n: usize| if n == 0 { usize::MAX } else { n };
        let width = if self.width > 0 { self.width } else { self.terminal_width.unwrap_or(0) };
        let limit = if all { usize::MAX } else { unlimited(self.print_limit) };
        Layout { width: unlimited(width), limit, texts: self.texts }
    }

    /// A setting's value.
    pub fn get(&self, name: &str) -> Option<String> {
        match name {
            "backend" => Some(self.backend.name().to_string()),
            "threads" => Some(self.threads.to_string()),
            "print-limit" => Some(self.print_limit.to_string()),
            "width" => Some(self.width.to_string()),
            "texts" => Some(if self.texts { "on" } else { "off" }.to_string()),
            _ => None,
        }
    }

    /// Changes a setting; the error says what is wrong with the name or the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == "backend" {
            let found = Backend::ALL.into_iter().find(|b| b.name() == value);
            let wrong = || format!("no back end `{value}`: there is cpu, cuda, interp, flat-interp");
            self.backend = found.ok_or_else(wrong)?;
            return Ok(());
        }
        if name == "texts" {
            let wrong = || format!("`{value}` is neither on nor off");
            self.texts =
                [("on", true), ("off", false)].into_iter().find(|o| o.0 == value).ok_or_else(wrong)?.1;
            Sink::show_texts(self.texts);
            return Ok(());
        }
        let place = match name {
            "threads" => &mut self.threads,
            "print-limit" => &mut self.print_limit,
            "width" => &mut self.width,
            _ => return Err(format!("no setting `{name}`; `:set` lists them")),
        };
        // As in programs.
        let number = value.replace('_', "").parse();
        *place = number.map_err(|_| format!("`{value}` is not a number that `{name}` can be"))?;
        Ok(())
    }
}
