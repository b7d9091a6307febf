//! The engine in WebAssembly: the page's script loads modules, which share this module's memory.

use crate::frame::Frame;
use crate::module::Code;
use crate::runner::{Ended, Engine, Part};
use crate::support;

#[link(wasm_import_module = "par")]
unsafe extern "C" {
    /// Loads a module of these bytes, whose imports are at these places in the table of functions; a number of its own, or -1.
    fn kernel_load(bytes: *const u8, len: usize, imports: *const u32, count: usize) -> i32;
    /// Runs a part: 0 if all positions were done, 1 if the code stopped itself, 2 if there was no more stack, 3 for any other end.
    fn kernel_run(module: i32, frame: *mut u64, row: i64, last: i64, from: i64, to: i64) -> i32;
    /// Forgets a module.
    fn kernel_drop(module: i32);
}

/// The page's script.
#[derive(Default)]
pub struct Browser;

/// A module's number.
pub struct Loaded(i32);

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: nobody runs the module any more.
        unsafe { kernel_drop(self.0) }
    }
}

impl Engine for Browser {
    type Loaded = Loaded;
    const LOOKS_UP: bool = false;

    fn load(&self, code: &Code) -> Result<Loaded, String> {
        let places = code.imports.iter().map(|i| support::address(*i).map(|a| a as u32));
        let places: Vec<u32> = places.collect::<Option<_>>().ok_or("a function is missing")?;
        // SAFETY: the script reads the bytes and places before it returns.
        let module =
            unsafe { kernel_load(code.bytes.as_ptr(), code.bytes.len(), places.as_ptr(), places.len()) };
        if module < 0 { Err("the browser refuses the module".into()) } else { Ok(Loaded(module)) }
    }

    fn call(&self, module: &Loaded, _: &Code, frame: &mut Frame, [row, last, from, to]: Part) -> Ended {
        let slots = frame.slots.as_mut_ptr();
        // SAFETY: the frame's slots are where the code expects them, and its arrays live as long as the frame.
        match unsafe { kernel_run(module.0, slots, row, last, from, to) } {
            0 => Ended::Done,
            1 => Ended::Failed,
            2 => Ended::Overflow,
            _ => Ended::Trapped("a kernel was ended by the browser".into()),
        }
    }
}
