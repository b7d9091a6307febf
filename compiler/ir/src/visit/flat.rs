//! Traversals of FLAT, and what one asks of an operation: its operands, its blocks.

use super::{Code, Edit, Site};
use crate::core::Body;
use crate::flat::{After, Block, Fun, Kernel, KernelKind, LoopForm, Op, Out, Param, Program, Space, Stm};
use crate::stack::deeper;
use crate::ty::Atom;

impl Code for Param {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        f(Site::Bind(self.var));
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.var = e.binder(self.var);
    }
}

impl Code for Block {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        deeper(|| self.stms.walk(f));
        self.results.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        deeper(|| self.stms.edit(e));
        self.results.edit(e);
    }
}

impl Code for Stm {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.op.walk(f);
        self.pat.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.op.edit(e);
        self.pat.edit(e);
    }
}

impl Code for Fun {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.params.walk(f);
        self.body.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.params.edit(e);
        self.body.edit(e);
    }
}

impl Code for Space {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.0.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.0.edit(e);
    }
}

impl Code for Out {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        match self {
            Out::Elem(_) | Out::Row(..) => {}
            Out::Scatter(dests) => dests.walk(f),
            Out::Own { dest, state } => {
                dest.walk(f);
                state.walk(f);
            }
        }
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            Out::Elem(_) | Out::Row(..) => {}
            Out::Scatter(dests) => dests.edit(e),
            Out::Own { dest, state } => {
                dest.edit(e);
                state.edit(e);
            }
        }
    }
}

impl Code for After {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.outs.walk(f);
        self.params.walk(f);
        self.body.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.outs.edit(e);
        self.params.edit(e);
        self.body.edit(e);
    }
}

impl Code for KernelKind {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        match self {
            KernelKind::Map(outs) => outs.walk(f),
            KernelKind::Reduce { op, neutral } => {
                op.walk(f);
                neutral.walk(f);
            }
            KernelKind::Scan { op, neutral, after, .. } => {
                op.walk(f);
                neutral.walk(f);
                after.iter().for_each(|a| a.walk(f));
            }
            KernelKind::Filter => {}
            KernelKind::Hist { dests, op, neutral } => {
                dests.walk(f);
                op.walk(f);
                neutral.walk(f);
            }
        }
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            KernelKind::Map(outs) => outs.edit(e),
            KernelKind::Reduce { op, neutral } => {
                op.edit(e);
                neutral.edit(e);
            }
            KernelKind::Scan { op, neutral, after, .. } => {
                op.edit(e);
                neutral.edit(e);
                after.iter_mut().for_each(|a| a.edit(e));
            }
            KernelKind::Filter => {}
            KernelKind::Hist { dests, op, neutral } => {
                dests.edit(e);
                op.edit(e);
                neutral.edit(e);
            }
        }
    }
}

impl Code for Kernel {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.kind.walk(f);
        self.space.walk(f);
        self.binders().into_iter().for_each(|v| f(Site::Bind(v)));
        self.prologue.walk(f);
        self.body.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.kind.edit(e);
        self.space.edit(e);
        let (row, pos) = (self.row, self.pos);
        (self.row, self.pos) = (e.binder(row), e.binder(pos));
        for v in &mut self.index {
            *v = match *v {
                v if v == pos => self.pos,
                v if v == row => self.row,
                v => e.binder(v),
            };
        }
        self.prologue.edit(e);
        self.body.edit(e);
    }
}

impl Code for Op {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        match self {
            Op::Atom(a) | Op::Iota(a) => a.walk(f),
            Op::Prim(_, args) | Op::Call(_, args) | Op::Literal(args, _) | Op::Trace { args, .. } => {
                args.walk(f)
            }
            Op::Check { cond, args, .. } => {
                cond.walk(f);
                args.walk(f);
            }
            Op::Kernel(k) => k.walk(f),
            Op::UniformDesc { rows, m } => [rows, m].into_iter().for_each(|a| a.walk(f)),
            Op::MakeDesc(v) | Op::Offsets(v) | Op::Lengths(v) | Op::SegIds(v) => v.walk(f),
            Op::Total(v) | Op::Rows(v) | Op::Length(v) => v.walk(f),
            Op::Read(v, i) => {
                v.walk(f);
                i.walk(f);
            }
            Op::Write { arr, index, value } => {
                arr.walk(f);
                [index, value].into_iter().for_each(|a| a.walk(f));
            }
            Op::Replicate(n, x) => [n, x].into_iter().for_each(|a| a.walk(f)),
            Op::Slice { arr, start, len } => {
                arr.walk(f);
                [start, len].into_iter().for_each(|a| a.walk(f));
            }
            Op::Concat(vs) | Op::ConcatDesc(vs) | Op::Append(vs) => vs.walk(f),
            Op::Compact { rope, starts, lens, kept } => {
                [rope, starts, lens].into_iter().chain(kept).for_each(|v| v.walk(f));
            }
            Op::NeedsCollection { rope, base } => std::iter::once(rope).chain(base).for_each(|v| v.walk(f)),
            Op::Collect { rope, starts, weight } => {
                [rope, starts].into_iter().for_each(|v| v.walk(f));
                weight.walk(f);
            }
            Op::Sort { space, keys, values } => {
                space.walk(f);
                std::iter::once(keys).chain(values).for_each(|v| v.walk(f));
            }
            Op::If { cond, then, other, .. } => {
                cond.walk(f);
                then.walk(f);
                other.walk(f);
            }
            Op::Loop { params, form, body } => {
                for (p, init) in params {
                    init.walk(f);
                    p.walk(f);
                }
                form.walk(f);
                body.walk(f);
            }
            Op::Split { rows, first, count, body, .. } => {
                rows.walk(f);
                [first, count].into_iter().for_each(|v| f(Site::Bind(*v)));
                body.walk(f);
            }
        }
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            Op::Atom(a) | Op::Iota(a) => a.edit(e),
            Op::Prim(_, args) | Op::Call(_, args) | Op::Literal(args, _) | Op::Trace { args, .. } => {
                args.edit(e)
            }
            Op::Check { cond, args, .. } => {
                cond.edit(e);
                args.edit(e);
            }
            Op::Kernel(k) => k.edit(e),
            Op::UniformDesc { rows, m } => [rows, m].into_iter().for_each(|a| a.edit(e)),
            Op::MakeDesc(v) | Op::Offsets(v) | Op::Lengths(v) | Op::SegIds(v) => v.edit(e),
            Op::Total(v) | Op::Rows(v) | Op::Length(v) => v.edit(e),
            Op::Read(v, i) => {
                v.edit(e);
                i.edit(e);
            }
            Op::Write { arr, index, value } => {
                arr.edit(e);
                [index, value].into_iter().for_each(|a| a.edit(e));
            }
            Op::Replicate(n, x) => [n, x].into_iter().for_each(|a| a.edit(e)),
            Op::Slice { arr, start, len } => {
                arr.edit(e);
                [start, len].into_iter().for_each(|a| a.edit(e));
            }
            Op::Concat(vs) | Op::ConcatDesc(vs) | Op::Append(vs) => vs.edit(e),
            Op::Compact { rope, starts, lens, kept } => {
                [rope, starts, lens].into_iter().chain(kept).for_each(|v| v.edit(e));
            }
            Op::NeedsCollection { rope, base } => std::iter::once(rope).chain(base).for_each(|v| v.edit(e)),
            Op::Collect { rope, starts, weight } => {
                [rope, starts].into_iter().for_each(|v| v.edit(e));
                weight.edit(e);
            }
            Op::Sort { space, keys, values } => {
                space.edit(e);
                std::iter::once(keys).chain(values).for_each(|v| v.edit(e));
            }
            Op::If { cond, then, other, .. } => {
                cond.edit(e);
                then.edit(e);
                other.edit(e);
            }
            Op::Loop { params, form, body } => {
                for (p, init) in params {
                    init.edit(e);
                    p.edit(e);
                }
                form.edit(e);
                body.edit(e);
            }
            Op::Split { rows, first, count, body, .. } => {
                rows.edit(e);
                [first, count].into_iter().for_each(|v| *v = e.binder(*v));
                body.edit(e);
            }
        }
    }
}

impl Code for LoopForm {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        match self {
            LoopForm::For { index, bound, .. } => {
                bound.walk(f);
                f(Site::Bind(*index));
            }
            LoopForm::While(cond) => cond.walk(f),
        }
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            LoopForm::For { index, bound, .. } => {
                bound.edit(e);
                *index = e.binder(*index);
            }
            LoopForm::While(cond) => cond.edit(e),
        }
    }
}

impl Kernel {
    /// Use of a scan's prefixes, if it does not store them.
    pub fn after(&self) -> Option<&After> {
        if let KernelKind::Scan { after, .. } = &self.kind { after.as_deref() } else { None }
    }

    /// The kernel's code, but for its prologue: body, operator, and what is done with prefixes.
    pub fn bodies(&self) -> Vec<&Body> {
        let operator = match &self.kind {
            KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
                Some(&op.body)
            }
            KernelKind::Map(_) | KernelKind::Filter => None,
        };
        let after = self.after().map(|a| &a.body);
        [&self.body].into_iter().chain(operator).chain(after).collect()
    }
}

impl Program {
    /// All statements, each before those in its blocks. Their order is what numbers them.
    pub fn statements(&self) -> Vec<&Stm> {
        fn collect<'p>(block: &'p Block, all: &mut Vec<&'p Stm>) {
            for stm in &block.stms {
                all.push(stm);
                stm.op.blocks().into_iter().for_each(|b| collect(b, all));
            }
        }
        let mut all = Vec::new();
        self.funs.iter().for_each(|f| collect(&f.body, &mut all));
        all
    }
}

impl Op {
    /// Blocks directly inside: arms; condition (of a while) and body of a loop; what is done with chunks.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Op::If { then, other, .. } => vec![then, other],
            Op::Loop { form: LoopForm::While(cond), body, .. } => vec![cond, body],
            Op::Loop { body, .. } | Op::Split { body, .. } => vec![body],
            _ => vec![],
        }
    }

    /// As [`Op::blocks`], for changing them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Op::If { then, other, .. } => vec![then, other],
            Op::Loop { form: LoopForm::While(cond), body, .. } => vec![cond, body],
            Op::Loop { body, .. } | Op::Split { body, .. } => vec![body],
            _ => vec![],
        }
    }

    /// Calls `f`, which may recurse, on all blocks directly inside.
    pub fn for_each_block<'o>(&'o self, f: impl FnMut(&'o Block)) {
        deeper(|| self.blocks().into_iter().for_each(f));
    }

    /// As [`Op::for_each_block`], for changing them.
    pub fn for_each_block_mut(&mut self, f: impl FnMut(&mut Block)) {
        deeper(|| self.blocks_mut().into_iter().for_each(f));
    }

    /// Visits the operands of a host operation, and everything a kernel uses from outside; not what is inside the
    /// blocks of an `if`, a loop or a split.
    pub fn for_each_operand(&self, f: &mut dyn FnMut(Atom)) {
        match self {
            Op::If { cond, .. } => f(*cond),
            Op::Split { rows, .. } => f(*rows),
            Op::Loop { params, form, .. } => {
                params.iter().for_each(|(_, init)| f(*init));
                if let LoopForm::For { bound, .. } = form {
                    f(*bound);
                }
            }
            Op::Kernel(k) => k.free().into_iter().for_each(|v| f(Atom::Var(v))),
            _ => self.walk(&mut |site| {
                if let Site::Use(a) = site {
                    f(a);
                }
            }),
        }
    }
}
