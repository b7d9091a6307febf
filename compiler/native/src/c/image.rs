//! Calls of the library that `par build --lib` has made of a program.

use super::make::coerce;
use super::read::from_text;
use super::{Failure, ParOptions, ParValue, give_to, made_value, reference, status_of, text, values};
use crate::program::{Backend, Program};
use crate::status::Status;
use clap::ValueEnum;
use par_message::entries;
use par_runtime::Entry;
use par_runtime::image::Image;
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::sync::{Arc, Mutex, PoisonError};

/// Programs by the addresses of their images. They are loaded when they are first used, and then stay.
static LOADED: Mutex<Option<HashMap<usize, Arc<Program>>>> = Mutex::new(None);

/// The program of an image.
///
/// # Safety
/// The image is one of a linked object file.
unsafe fn program(image: *const Image) -> Result<Arc<Program>, Failure> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    if let Some(program) = loaded.get(&(image as usize)) {
        return Ok(program.clone());
    }
    // SAFETY: as the caller promises; nobody else loads it, and its code runs only after it was loaded once.
    let program = unsafe { Program::load(reference(image)?) };
    let program =
        program.map_err(|m| Failure::new(Status::Failed, format!("this library cannot run: {m}")))?;
    Ok(loaded.entry(image as usize).or_insert(Arc::new(program)).clone())
}

fn entry<'p>(program: &'p Program, name: &str) -> Result<&'p Entry, Failure> {
    entries::choose(&program.entries(), Some(name)).map_err(Failure::misuse)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_image_call(
    image: *const Image,
    name: *const c_char,
    options: *const ParOptions,
    count: usize,
    args: *const *const ParValue,
    result: *mut *mut ParValue,
) -> c_int {
    status_of(|| {
        // SAFETY: the header asks for all of this.
        let (program, name, args, limits) =
            unsafe { (program(image)?, text(name)?, values(args, count)?, ParOptions::limits(options)) };
        let entry = entry(&program, name)?;
        let mut options = program.options();
        options.threads = limits.threads;
        options.memory_limit = limits.memory_limit.or(options.memory_limit);
        options.cancel = limits.token;
        options.keep_on_device = true;
        let value = program.call(entry, coerce(entry, args)?, &options);
        let value = value.map_err(|e| Failure::of_run(&e, program.sources()))?;
        // SAFETY: the header asks for a place.
        unsafe { give_to(result, value) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_image_run_on(image: *const Image, backend: *const c_char, device: usize) -> c_int {
    status_of(|| {
        // SAFETY: the header asks for all of this.
        let (program, name) = unsafe { (program(image)?, text(backend)?) };
        let backend = Backend::from_str(name, false);
        let backend = backend.map_err(|_| {
            Failure::misuse(format!("there is no back end `{name}`: they are cpu, cuda and auto"))
        })?;
        program.run_on(backend, device).map(drop).map_err(|m| Failure::new(Status::Failed, m))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_image_upload(image: *const Image, value: *const ParValue) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for a value, and the library passes its image.
        let (program, value) = unsafe { (program(image)?, &reference(value)?.0) };
        program.upload(value.clone()).map_err(|e| Failure::of_run(&e, program.sources()))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_image_read(
    image: *const Image,
    name: *const c_char,
    param: usize,
    words: *const c_char,
) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for all of this.
        let (program, name, words) = unsafe { (program(image)?, text(name)?, text(words)?) };
        from_text(words, entry(&program, name)?, param)
    })
}
