//! The compiler for C. `include/par.h` says what each function does; values and errors are those of [`par_native::c`], whose rules for
//! callers hold here, too.

use par::{Backend, CancelToken, Context, Entry, Error};
use par_native::c::{
    Failure, ParOptions, ParValue, coerce, free, from_text, give_to, given_text, guarded, made, made_value,
    reference, status_of, text, values,
};
use par_native::status::Status;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

/// `par_context`.
pub struct ParContext(Context);

/// `par_program`.
pub struct ParProgram(par::embed::Program);

#[unsafe(no_mangle)]
unsafe extern "C" fn par_context_new(backend: *const c_char, options: *const ParOptions) -> *mut ParContext {
    made(|| {
        // SAFETY: the header asks for a text, and options or null.
        let (name, limits) = unsafe { (text(backend)?, ParOptions::limits(options)) };
        let known = || Backend::ALL.into_iter().chain([Backend::Auto]);
        let backend = known().find(|b| b.name() == name).ok_or_else(|| {
            let names = known().map(Backend::name).collect::<Vec<_>>().join(", ");
            Failure::misuse(format!("there is no back end `{name}`: there are {names}"))
        })?;
        let context = Context::new(backend).threads(limits.threads);
        Ok(ParContext(match limits.memory_limit {
            Some(bytes) => context.memory_limit(bytes),
            None => context,
        }))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_context_free(context: *mut ParContext) {
    // SAFETY: the header asks for a context that nobody uses any more.
    unsafe { free(context) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_compile(
    context: *const ParContext,
    program: *const c_char,
    name: *const c_char,
    options: *const ParOptions,
) -> *mut ParProgram {
    made(|| {
        // SAFETY: the header asks for all of this.
        let (context, program, limits) =
            unsafe { (reference(context)?, text(program)?, ParOptions::limits(options)) };
        // SAFETY: the header asks for a text or null.
        let name = if name.is_null() { "program.par" } else { unsafe { text(name)? } };
        compiled(&limits.token, || context.0.compile_named(program, name))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_compile_file(
    context: *const ParContext,
    path: *const c_char,
    options: *const ParOptions,
) -> *mut ParProgram {
    made(|| {
        // SAFETY: the header asks for all of this.
        let (context, path, limits) =
            unsafe { (reference(context)?, text(path)?, ParOptions::limits(options)) };
        compiled(&limits.token, || context.0.compile_file(path))
    })
}

/// A program, unless the token stops the compiler.
fn compiled(
    token: &CancelToken,
    compile: impl FnOnce() -> Result<par::embed::Program, Error>,
) -> Result<ParProgram, Failure> {
    let compiled = par::cancel::watched(token, compile).map_err(|_| Failure::cancelled())?;
    compiled.map(ParProgram).map_err(|e| failure(&e))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_program_free(program: *mut ParProgram) {
    // SAFETY: the header asks for a program that nobody uses any more.
    unsafe { free(program) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_program_entries(program: *const ParProgram) -> usize {
    // SAFETY: the header asks for a program.
    guarded(|| Ok(unsafe { reference(program)? }.0.entries().len())).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_program_entry(program: *const ParProgram, index: usize) -> *mut c_char {
    let signature = guarded(|| {
        // SAFETY: the header asks for a program.
        let entries = unsafe { reference(program)? }.0.entries();
        let entry =
            entries.get(index).ok_or_else(|| Failure::misuse(format!("there is no entry point {index}")))?;
        Ok(entry.to_string())
    });
    signature.map_or(null_mut(), given_text)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_call(
    program: *const ParProgram,
    name: *const c_char,
    options: *const ParOptions,
    count: usize,
    args: *const *const ParValue,
    result: *mut *mut ParValue,
) -> c_int {
    status_of(|| {
        // SAFETY: the header asks for all of this.
        let (program, name, args, limits) = unsafe {
            (&reference(program)?.0, text(name)?, values(args, count)?, ParOptions::limits(options))
        };
        let entry = entry(program, name)?;
        let mut call = program.prepare(&entry.name).cancel_by(&limits.token);
        if limits.threads > 0 {
            call = call.threads(limits.threads);
        }
        if let Some(bytes) = limits.memory_limit {
            call = call.memory_limit(bytes);
        }
        let value = call.call::<_, par::Value>(coerce(entry, args)?).map_err(|e| failure(&e))?;
        // SAFETY: the header asks for a place.
        unsafe { give_to(result, value) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_upload(program: *const ParProgram, value: *const ParValue) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for both.
        let (program, value) = unsafe { (&reference(program)?.0, &reference(value)?.0) };
        program.upload_value(value.clone()).map_err(|e| failure(&e))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_read(
    program: *const ParProgram,
    name: *const c_char,
    parameter: usize,
    words: *const c_char,
) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for all of this.
        let (program, name, words) = unsafe { (&reference(program)?.0, text(name)?, text(words)?) };
        from_text(words, entry(program, name)?, parameter)
    })
}

fn entry<'p>(program: &'p par::embed::Program, name: &str) -> Result<&'p Entry, Failure> {
    program.as_compiled().choose_entry(Some(name)).map_err(Failure::misuse)
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::Rejected { .. } => Failure::new(Status::Rejected, error.to_string()),
        Error::Unsupported { .. } => Failure::new(Status::Unsupported, error.to_string()),
        Error::Mismatch(_) => Failure::misuse(error.to_string()),
        Error::Cancelled => Failure::cancelled(),
        Error::Bug(_) => Failure::new(Status::Bug, error.to_string()),
        _ => Failure::new(Status::Failed, error.to_string()),
    }
}
