//! Variables of kernels that code generation writes itself: none that the program has.

use par_ir::{Var, Vars};
use std::cell::{RefCell, RefMut};

/// The program's table of variables, with those that are added while its kernels are compiled.
pub struct Fresh(RefCell<Vars>);

impl Fresh {
    /// For a program with these variables.
    pub fn new(vars: &Vars) -> Fresh {
        Fresh(RefCell::new(vars.clone()))
    }

    /// The table as it is now.
    pub fn vars(&self) -> Vars {
        self.0.borrow().clone()
    }

    /// A variable that nothing else is called.
    pub fn var(&self, name: &str) -> Var {
        self.table().fresh(name)
    }

    /// The table, while no other code writes to it.
    pub fn table(&self) -> RefMut<'_, Vars> {
        self.0.borrow_mut()
    }
}
