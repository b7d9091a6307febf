//! Messages for people: diagnostics as data ([`Diagnostic`]), as text ([`render()`]) and as JSON ([`report`]), with the files
//! that they are about. Compiled programs need it as well, so it knows nothing of the compiler.

pub mod diagnostic;
pub mod entries;
mod excerpt;
mod render;
pub mod report;
pub mod source;
mod spelling;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use render::render;
pub use source::{Source, Sources};
pub use spelling::{distance, nearest};
