//! Reading FLAT.

use super::{Parser, Result, Token, is_special_float};
use crate::Var;
use crate::core::FunId;
use crate::flat::{
    After, Block, Fun, Kernel, KernelKind, LoopForm, Op, Out, Param, Program, Space, Stm, Ty, VersionChoice,
};
use crate::place::{PlaceId, Places};
use crate::ty::Atom;

/// Reads a printed program. Names of variables that do not occur are lost.
pub fn parse_flat(text: &str) -> Result<Program> {
    let mut p = Parser::new(text)?;
    let mut locals = Vec::new();
    while p.accept_word("local") {
        locals.push(p.core_fun(locals.len())?);
    }
    let mut funs = Vec::new();
    while p.is_word("fun") {
        funs.push(p.flat_fun(funs.len())?);
    }
    if *p.peek() != Token::End {
        return p.error("a function");
    }
    Ok(Program { funs, locals, vars: p.vars, places: Places::default() })
}

impl Parser {
    fn flat_fun(&mut self, index: usize) -> Result<Fun> {
        let name = self.fun_head(index)?;
        let params = self.list("(", ")", Self::flat_param)?;
        self.expect("->")?;
        let ret = self.list("(", ")", Self::flat_ty)?;
        let span = self.span()?;
        let entry = self.entry()?;
        Ok(Fun { name, entry, params, ret, body: self.flat_block()?, span })
    }

    fn flat_param(&mut self) -> Result<Param> {
        let var = self.var()?;
        self.expect(":")?;
        Ok(Param { var, ty: self.flat_ty()? })
    }

    fn flat_ty(&mut self) -> Result<Ty> {
        if self.accept_word("desc") {
            return Ok(Ty::Desc);
        }
        if self.accept("[") {
            let is_rope = self.accept("*");
            self.expect("]")?;
            return self.prim().map(if is_rope { Ty::Rope } else { Ty::Array });
        }
        self.prim().map(Ty::Scalar)
    }

    fn flat_block(&mut self) -> Result<Block> {
        let (stms, results) = self.block(Self::flat_stm)?;
        Ok(Block { stms, results })
    }

    fn flat_stm(&mut self) -> Result<Stm> {
        let mut pat = Vec::new();
        if !(self.is_word("check") || self.is_word("trace")) {
            self.expect_word("let")?;
            pat = self.list("(", ")", Self::flat_param)?;
            self.expect("=")?;
        }
        let op = self.op()?;
        Ok(Stm { pat, op, span: self.span()?, place: PlaceId::default() })
    }

    fn op(&mut self) -> Result<Op> {
        if self.is_var() {
            return self.op_from_var();
        }
        let Token::Word(word) = self.peek().clone() else {
            return self.constant().map(|c| Op::Atom(Atom::Const(c)));
        };
        match word.as_str() {
            "true" | "false" => self.constant().map(|c| Op::Atom(Atom::Const(c))),
            w if is_special_float(w) => self.constant().map(|c| Op::Atom(Atom::Const(c))),
            w if w.contains('.') => Ok(Op::Prim(self.operator()?, self.atoms()?)),
            _ => {
                self.next();
                self.op_keyword(&word)
            }
        }
    }

    /// `x`, `x[i]` or `x with [i] = v`.
    fn op_from_var(&mut self) -> Result<Op> {
        let arr = self.var()?;
        if self.is("[") {
            return Ok(Op::Read(arr, self.single_index()?));
        }
        if !self.accept_word("with") {
            return Ok(Op::Atom(Atom::Var(arr)));
        }
        let index = self.single_index()?;
        self.expect("=")?;
        Ok(Op::Write { arr, index, value: self.atom()? })
    }

    fn single_index(&mut self) -> Result<Atom> {
        self.expect("[")?;
        let index = self.atom()?;
        self.expect("]")?;
        Ok(index)
    }

    fn op_keyword(&mut self, word: &str) -> Result<Op> {
        Ok(match word {
            "check" => self.check().map(|(cond, kind, args)| Op::Check { cond, kind, args })?,
            "trace" => self.trace().map(|(label, ty, args)| Op::Trace { label, ty, args })?,
            "kernel" => Op::Kernel(Box::new(self.kernel()?)),
            "makedesc" => Op::MakeDesc(self.var()?),
            "uniformdesc" => self.fixed().map(|[rows, m]| Op::UniformDesc { rows, m })?,
            "offsets" => Op::Offsets(self.var()?),
            "lengths" => Op::Lengths(self.var()?),
            "segids" => Op::SegIds(self.var()?),
            "total" => Op::Total(self.var()?),
            "rows" => Op::Rows(self.var()?),
            "length" => Op::Length(self.var()?),
            "iota" => Op::Iota(self.atom()?),
            "replicate" => self.fixed().map(|[n, x]| Op::Replicate(n, x))?,
            "literal" => {
                let p = self.prim()?;
                Op::Literal(self.list("[", "]", Self::atom)?, p)
            }
            "slice" => {
                let arr = self.var()?;
                let [start, len] = self.fixed()?;
                Op::Slice { arr, start, len }
            }
            "append" => Op::Append(self.variables()?),
            "compact" => match self.variables()?.as_slice() {
                [rope, starts, lens, kept @ ..] if kept.len() <= 1 => {
                    Op::Compact { rope: *rope, starts: *starts, lens: *lens, kept: kept.first().copied() }
                }
                _ => return self.error("three variables or four"),
            },
            "needs_collection" => match self.variables()?.as_slice() {
                [rope] => Op::NeedsCollection { rope: *rope, base: None },
                [rope, base] => Op::NeedsCollection { rope: *rope, base: Some(*base) },
                _ => return self.error("one variable or two"),
            },
            "collect" => match self.variables()?.as_slice() {
                [rope, starts] => Op::Collect { rope: *rope, starts: *starts, weight: self.atom()? },
                _ => return self.error("two variables"),
            },
            "concat" => Op::Concat(self.variables()?),
            "concatdesc" => Op::ConcatDesc(self.variables()?),
            "sort" => {
                let (keys, values) = self.sorted()?;
                Op::Sort { space: self.space()?, keys, values }
            }
            "if" => self.flat_if()?,
            "loop" => self.flat_loop()?,
            "split" => self.split()?,
            "call" => {
                self.expect("@")?;
                Op::Call(FunId(self.natural()?), self.atoms()?)
            }
            _ => return Err(format!("`{word}` begins no operation of FLAT")),
        })
    }

    fn flat_if(&mut self) -> Result<Op> {
        let cond = self.atom()?;
        let versions = if self.accept_word("versions") { Some(self.version_choice()?) } else { None };
        self.expect_word("then")?;
        let then = self.flat_block()?;
        self.expect_word("else")?;
        Ok(Op::If { cond, versions, then, other: self.flat_block()? })
    }

    fn version_choice(&mut self) -> Result<VersionChoice> {
        let name = self.word()?;
        let numbers = self.list("(", ")", |p| p.natural())?;
        VersionChoice::from_parts(&name, &numbers).ok_or_else(|| format!("`{name}` is no choice of versions"))
    }

    fn split(&mut self) -> Result<Op> {
        let rows = self.atom()?;
        self.expect_word("most")?;
        let most = self.natural()?;
        self.expect("\\")?;
        let (first, count) = (self.var()?, self.var()?);
        Ok(Op::Split { rows, most, first, count, body: self.flat_block()? })
    }

    fn flat_loop(&mut self) -> Result<Op> {
        let params = self.list("(", ")", |p| {
            let param = p.flat_param()?;
            p.expect("=")?;
            Ok((param, p.atom()?))
        })?;
        let form = if self.accept_word("while") {
            LoopForm::While(self.flat_block()?)
        } else {
            let (index, prim, bound) = self.for_header()?;
            LoopForm::For { index, prim, bound }
        };
        self.expect_word("do")?;
        Ok(Op::Loop { params, form, body: self.flat_block()? })
    }

    fn space(&mut self) -> Result<Space> {
        self.expect_word("over")?;
        Ok(Space(self.dims()?))
    }

    /// `row pos` and the indices that are neither.
    fn position(&mut self, dims: usize) -> Result<(Var, Var, Vec<Var>)> {
        let (row, pos) = (self.var()?, self.var()?);
        let index = match dims {
            1 => vec![pos],
            2 => vec![row, self.var()?],
            _ => (0..dims).map(|_| self.var()).collect::<Result<_>>()?,
        };
        Ok((row, pos, index))
    }

    fn kernel(&mut self) -> Result<Kernel> {
        let kind = self.kernel_kind()?;
        let space = self.space()?;
        self.expect("\\")?;
        let (row, pos, index) = self.position(space.0.len())?;
        let prologue = if self.accept_word("prologue") { self.body()?.stms } else { Vec::new() };
        let body = self.body()?;
        let mut kernel = Kernel { kind, space, index, row, pos, prologue, body };
        if self.accept_word("then") {
            self.after(&mut kernel.kind)?;
        }
        Ok(kernel)
    }

    fn after(&mut self, kind: &mut KernelKind) -> Result<()> {
        let outs = self.list("(", ")", Self::out)?;
        self.expect("\\")?;
        let params = self.list("(", ")", Self::core_param)?;
        let body = self.body()?;
        let KernelKind::Scan { after, .. } = kind else {
            return Err("only a scan has a `then`".into());
        };
        *after = Some(Box::new(After { params, body, outs }));
        Ok(())
    }

    fn kernel_kind(&mut self) -> Result<KernelKind> {
        let word = self.word()?;
        Ok(match word.as_str() {
            "map" => KernelKind::Map(self.list("(", ")", Self::out)?),
            "reduce" => {
                let (op, neutral) = self.combine()?;
                KernelKind::Reduce { op, neutral }
            }
            "scan" | "exscan" => {
                let (op, neutral) = self.combine()?;
                KernelKind::Scan { op, neutral, exclusive: word == "exscan", after: None }
            }
            "filter" => KernelKind::Filter,
            "hist" => {
                let dests = self.variables()?;
                let (op, neutral) = self.combine()?;
                KernelKind::Hist { dests, op, neutral }
            }
            _ => return Err(format!("`{word}` is no kind of kernel")),
        })
    }

    fn out(&mut self) -> Result<Out> {
        if self.accept_word("scatter") {
            return Ok(Out::Scatter(self.variables()?));
        }
        if self.accept_word("own") {
            let dest = self.var()?;
            self.expect_word("as")?;
            return Ok(Out::Own { dest, state: self.core_param()? });
        }
        if self.accept_word("row") {
            let n = self.natural()?;
            return Ok(Out::Row(self.prim()?, n));
        }
        self.expect_word("elem")?;
        self.prim().map(Out::Elem)
    }
}
