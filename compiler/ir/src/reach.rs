//! The functions of a program that an entry point needs.

use crate::core::{Body, Exp, FunId, Program};
use crate::stack::deeper;

impl Program {
    /// Keeps an entry point, by its function, and what calling it may lead to.
    pub fn keep_only(&mut self, entry: FunId) {
        let mut needed = vec![false; self.funs.len()];
        let mut open = vec![entry];
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut needed[id.0 as usize], true) {
                each_call(&mut self.funs[id.0 as usize].body, &mut |callee| open.push(*callee));
            }
        }
        let mut new = Vec::new();
        let mut next = 0;
        for is_needed in &needed {
            new.push(FunId(next));
            next += u32::from(*is_needed);
        }
        let mut keep = needed.iter();
        self.funs.retain(|_| keep.next() == Some(&true));
        for fun in &mut self.funs {
            each_call(&mut fun.body, &mut |callee| *callee = new[callee.0 as usize]);
        }
    }
}

fn each_call(body: &mut Body, f: &mut dyn FnMut(&mut FunId)) {
    for stm in &mut body.stms {
        if let Exp::Call(callee, _) = &mut stm.exp {
            f(callee);
        }
        deeper(|| stm.exp.for_each_body_mut(|inner| each_call(inner, f)));
    }
}
