//! The functions of the WebAssembly module. A request is written to memory that [`par_room`] gives; the answer lies where [`par_answer`] says.

use crate::Playground;
use std::cell::RefCell;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::new(Playground::default());
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

#[link(wasm_import_module = "par")]
unsafe extern "C" {
    /// Takes the text of a panic: nothing can be asked of this instance any more.
    fn panicked(text: *const u8, len: usize);
}

/// Prepares the module; the first call.
#[unsafe(no_mangle)]
pub extern "C" fn par_start() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: the host reads the text before it returns.
        unsafe { panicked(text.as_ptr(), text.len()) }
    }));
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn par_room(len: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(len, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request: the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn par_ask() -> usize {
    let request = REQUEST.take();
    let request = String::from_utf8_lossy(&request);
    let answer = PLAYGROUND.with_borrow_mut(|playground| playground.answer(&request));
    ANSWER.replace(answer);
    ANSWER.with_borrow(String::len)
}

/// Address of the last answer, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn par_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
