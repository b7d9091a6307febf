//! The functions that others call, those that an entry point needs, and those that push to a tape of their callers.

use crate::core::{Body, Exp, FunId, Program};
use crate::effects::Effects;
use crate::hash::HashSet;
use crate::stack::deeper;
use crate::ty::Atom;

impl Program {
    /// Keeps an entry point, by its function, and what calling it may lead to.
    pub fn keep_only(&mut self, entry: FunId) {
        let mut needed = vec![false; self.funs.len()];
        let mut open = vec![entry];
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut needed[id.0 as usize], true) {
                self.funs[id.0 as usize].body.callees(&mut open);
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
            each_callee(&mut fun.body, &mut |callee| *callee = new[callee.0 as usize]);
        }
    }
}

impl Program {
    /// True if calls of `from` may call `to`.
    pub fn leads_to(&self, from: FunId, to: FunId) -> bool {
        let (mut seen, mut open) = (HashSet::default(), vec![from]);
        while let Some(id) = open.pop() {
            if id == to {
                return true;
            }
            if seen.insert(id) {
                self.funs[id.0 as usize].body.callees(&mut open);
            }
        }
        false
    }
}

impl Program {
    /// Per function, whether it pushes to the tape of its callers, itself or by a call.
    pub fn pushing(&self) -> Vec<bool> {
        let mut found = vec![false; self.funs.len()];
        loop {
            let next = self.funs.iter().map(|f| !f.begins_tape() && f.body.pushes(&found));
            let next: Vec<bool> = next.collect();
            if next == found {
                return found;
            }
            found = next;
        }
    }
}

impl Body {
    /// True if the body pushes to a tape, itself or by calling one of the functions that do.
    pub fn pushes(&self, pushing: &[bool]) -> bool {
        let mut calls_one = false;
        self.each_call(&mut |id, _| calls_one |= pushing[id.0 as usize]);
        self.has_tape() || calls_one
    }

    /// Adds the functions that the body calls.
    pub fn callees(&self, found: &mut Vec<FunId>) {
        self.each_call(&mut |id, _| found.push(id));
    }

    /// Calls `f` with the function and the arguments of every call, also deep inside.
    pub fn each_call<'b>(&'b self, f: &mut dyn FnMut(FunId, &'b [Atom])) {
        for stm in &self.stms {
            if let Exp::Call(id, args) = &stm.exp {
                f(*id, args);
            }
            deeper(|| stm.exp.bodies().into_iter().for_each(|b| b.each_call(f)));
        }
    }
}

fn each_callee(body: &mut Body, f: &mut dyn FnMut(&mut FunId)) {
    for stm in &mut body.stms {
        if let Exp::Call(callee, _) = &mut stm.exp {
            f(callee);
        }
        deeper(|| stm.exp.for_each_body_mut(|inner| each_callee(inner, f)));
    }
}
