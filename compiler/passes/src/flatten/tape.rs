//! Tapes: what functions push is appended, in place, to one array, which calls take along.
//!
//! ```text
//! e = push row                       -- at a level of n positions, with rows of k numbers
//!
//! len  = length tape                 -- one append for all positions
//! tape = concat tape rows
//! e    = len + off k (pos + 1)       -- where a position's row ends
//! ```
//!
//! A function that pushes to its callers' tape has the tape as its last parameter and gives it as its last result ([`super::carried`]). In which
//! order rows stand on it does not matter: only where they end is used.

use super::carried::Carried;
use super::ex::Ex;
use super::nest::LevelId;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Body, Fun, FunId, Param, Stm};
use par_ir::flat::{self, Op, Ty};
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Var};

/// The type of a tape.
const TAPE: Ty = Ty::Array(Prim::F64);

impl Flattener<'_> {
    /// True if a body pushes to a tape, itself or by a call.
    pub fn pushes(&self, body: &Body) -> bool {
        body.pushes(&self.facts.pushing)
    }

    /// The parameter of a function that pushes to its callers' tape. It is that function's tape from now on.
    pub fn tape_param(&mut self, id: FunId) -> Option<flat::Param> {
        let is_pushing = self.facts.pushing[id.0 as usize];
        is_pushing.then(|| {
            let tape = flat::Param { var: self.builder.vars.fresh("tape"), ty: TAPE };
            self.own.carried.insert(Carried::Tape, tape);
            tape
        })
    }

    /// The tape as the last argument of a call.
    pub fn tape_of_call(&self, callee: FunId) -> Option<Atom> {
        self.facts.pushing[callee.0 as usize].then(|| self.carried(Carried::Tape).var.into())
    }

    /// Begins the tape of a function that has one.
    pub fn begin_tape(&mut self, fun: &Fun) {
        if fun.begins_tape() {
            let var = self.builder.bind("tape", TAPE, Op::Literal(vec![], Prim::F64));
            self.own.carried.insert(Carried::Tape, flat::Param { var, ty: TAPE });
        }
    }

    /// Appends the rows of all positions to the tape.
    pub fn push_row(&mut self, level: LevelId, stm: &Stm, row: Var) -> Result {
        let ty = self.types[&row].clone();
        let size = ty.rows();
        let data = self.canonical(level, &[row.into()])[0].var().expect("an array is a variable");
        // The packed rows, for where each of them starts.
        let packed = Param { var: self.builder.vars.fresh_like(row), ty };
        self.adopt_canonical(level, std::slice::from_ref(&packed), &[flat::Param { var: data, ty: TAPE }]);
        let before = self.carried(Carried::Tape).var;
        let len = self.builder.array_length(before);
        self.at(stm.span);
        let tape = self.next_version_of(Carried::Tape);
        self.builder.emit(vec![tape], Op::Concat(vec![before, data]));
        let end = self.add(self.arr(packed.var).start, self.ex(size));
        let end = match self.shapes.is_root(level) {
            true => {
                let end = self.host(&end);
                Ex::Atom(self.builder.host_op(BinOp::Add, len, end))
            }
            false => self.add(Ex::Atom(len), end),
        };
        self.bind_local(&stm.pat[0], end);
        Ok(())
    }

    /// The function's tape as an array.
    pub fn taken_tape(&mut self, p: &Param) {
        let tape = self.carried(Carried::Tape).var;
        self.env.insert(p.var, Rep::Array(Arr::whole(Src::Data(tape, Prim::F64), vec![])));
    }
}
