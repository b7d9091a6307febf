//! Hash tables whose order of iteration depends on their keys and history only, so that a program is compiled to the same code in every run. They are not safe
//! against keys chosen to collide.

pub use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
