//! Reading CORE.

use super::{Parser, Result, is_special_float};
use crate::core::{At, Body, Exp, Fun, FunId, Lambda, LoopForm, Param, Program, Schedule, Stm};
use crate::ty::{Atom, Elem, Type, Var};

/// Reads a printed program. Names of variables that do not occur are lost.
pub fn parse_core(text: &str) -> Result<Program> {
    let mut p = Parser::new(text)?;
    let mut funs = Vec::new();
    while p.is_word("fun") {
        funs.push(p.core_fun(funs.len())?);
    }
    if *p.peek() != super::Token::End {
        return p.error("a function");
    }
    Ok(Program { funs, vars: p.vars, rules: Vec::new() })
}

impl Parser {
    pub(super) fn core_fun(&mut self, index: usize) -> Result<Fun> {
        let name = self.fun_head(index)?;
        let params = self.list("(", ")", Self::core_param)?;
        self.expect("->")?;
        let ret = self.list("(", ")", Self::core_param)?;
        let span = self.span()?;
        let entry = self.entry()?;
        Ok(Fun { name, entry, params, ret, body: self.body()?, span })
    }

    pub(super) fn core_param(&mut self) -> Result<Param> {
        let var = self.var()?;
        self.expect(":")?;
        Ok(Param { var, ty: self.ty()? })
    }

    fn ty(&mut self) -> Result<Type> {
        let dims = self.dims()?;
        let elem = match () {
            () if self.accept_word("desc") => Elem::Desc,
            () if self.accept_word("acc") => Elem::Acc(self.prim()?),
            () => Elem::Prim(self.prim()?),
        };
        Ok(Type { dims, elem })
    }

    pub(super) fn body(&mut self) -> Result<Body> {
        let (stms, results) = self.block(Self::core_stm)?;
        Ok(Body { stms, results })
    }

    pub(super) fn core_stm(&mut self) -> Result<Stm> {
        let mut pat = Vec::new();
        if !(self.is_word("check") || self.is_word("trace") || self.is_word("add")) {
            self.expect_word("let")?;
            pat = self.list("(", ")", Self::core_param)?;
            self.expect("=")?;
        }
        let exp = self.exp()?;
        Ok(Stm { pat, exp, span: self.span()? })
    }

    pub(super) fn lambda(&mut self) -> Result<Lambda> {
        self.expect("\\")?;
        let params = self.list("(", ")", Self::core_param)?;
        self.expect("->")?;
        let ret = self.list("(", ")", Self::ty)?;
        Ok(Lambda { params, body: self.body()?, ret, schedule: Schedule::Free })
    }

    /// `op lambda neutral (atoms)`
    pub(super) fn combine(&mut self) -> Result<(Lambda, Vec<Atom>)> {
        self.expect_word("op")?;
        let op = self.lambda()?;
        self.expect_word("neutral")?;
        Ok((op, self.atoms()?))
    }

    fn soac(&mut self) -> Result<(Atom, Vec<Var>, Lambda)> {
        let schedule = match () {
            () if self.accept_word("seq") => Schedule::Sequential,
            () if self.accept_word("opaque") => Schedule::Opaque,
            () => Schedule::Free,
        };
        let (width, inputs) = (self.atom()?, self.variables()?);
        Ok((width, inputs, Lambda { schedule, ..self.lambda()? }))
    }

    fn exp(&mut self) -> Result<Exp> {
        if self.is_var() {
            return self.var_exp();
        }
        let super::Token::Word(word) = self.peek().clone() else {
            return self.constant().map(|c| Exp::Atom(Atom::Const(c)));
        };
        match word.as_str() {
            "true" | "false" => self.constant().map(|c| Exp::Atom(Atom::Const(c))),
            w if is_special_float(w) => self.constant().map(|c| Exp::Atom(Atom::Const(c))),
            w if w.contains('.') => Ok(Exp::Prim(self.operator()?, self.atoms()?)),
            _ => {
                self.next();
                self.keyword(&word)
            }
        }
    }

    /// `x`, `x[i, j]`, `x with [i, j] = v` or `x with [i, start : stride] = v`.
    fn var_exp(&mut self) -> Result<Exp> {
        let arr = self.var()?;
        if self.is("[") {
            return Ok(Exp::Index(arr, self.list("[", "]", Self::atom)?));
        }
        if !self.accept_word("with") {
            return Ok(Exp::Atom(Atom::Var(arr)));
        }
        let at = self.list("[", "]", Self::at)?;
        self.expect("=")?;
        Ok(Exp::Update { arr, at, value: self.atom()? })
    }

    /// `i` or `start : stride`.
    fn at(&mut self) -> Result<At> {
        let start = self.atom()?;
        Ok(if self.accept(":") { At::Slice { start, stride: self.atom()? } } else { At::Index(start) })
    }

    fn keyword(&mut self, word: &str) -> Result<Exp> {
        Ok(match word {
            "check" => {
                let (cond, kind, args) = self.check()?;
                Exp::Check { cond, kind, args }
            }
            "trace" => {
                let (label, ty, args) = self.trace()?;
                Exp::Trace { label, ty, args }
            }
            "if" => self.core_if()?,
            "loop" => self.core_loop()?,
            "call" => {
                self.expect("@")?;
                Exp::Call(FunId(self.natural()?), self.atoms()?)
            }
            "map" => {
                let (width, inputs, lam) = self.soac()?;
                Exp::Map { width, inputs, lam }
            }
            "filter" => {
                let (width, inputs, lam) = self.soac()?;
                Exp::Filter { width, inputs, lam }
            }
            "reduce" => {
                let (width, inputs, lam) = self.soac()?;
                let (op, neutral) = self.combine()?;
                Exp::Reduce { width, inputs, lam, op, neutral }
            }
            "scan" | "exscan" => {
                let (width, inputs, lam) = self.soac()?;
                let (op, neutral) = self.combine()?;
                Exp::Scan { width, inputs, lam, op, neutral, exclusive: word == "exscan" }
            }
            "scatter" => {
                let dests = self.variables()?;
                let (width, inputs, lam) = self.soac()?;
                Exp::Scatter { dests, width, inputs, lam }
            }
            "hist" => {
                let dests = self.variables()?;
                let (width, inputs, lam) = self.soac()?;
                let (op, neutral) = self.combine()?;
                Exp::Hist { dests, width, inputs, lam, op, neutral }
            }
            _ => self.array_keyword(word)?,
        })
    }

    /// Array operations without a lambda.
    fn array_keyword(&mut self, word: &str) -> Result<Exp> {
        Ok(match word {
            "slice" => {
                let arr = self.var()?;
                let [start, len, stride] = self.fixed()?;
                Exp::Slice { arr, start, len, stride }
            }
            "iota" => Exp::Iota(self.atom()?),
            "replicate" => {
                let [n, x] = self.fixed()?;
                Exp::Replicate(n, x)
            }
            "concat" => Exp::Concat(self.variables()?),
            "literal" => {
                let p = self.prim()?;
                Exp::Literal(self.list("[", "]", Self::atom)?, p)
            }
            "flatten" => Exp::Flatten(self.var()?),
            "unflatten" => Exp::Unflatten(self.var()?),
            "makedesc" => Exp::MakeDesc(self.var()?),
            "lengths" => Exp::Lengths(self.var()?),
            "total" => Exp::Total(self.var()?),
            "push" => Exp::Push(self.var()?),
            "tape" => Exp::Tape(self.atom()?),
            "accumulate" => Exp::Accumulate(self.var()?),
            "add" => {
                let acc = self.var()?;
                let [places, values] = *self.variables()?.as_slice() else {
                    return Err("places and values are added".into());
                };
                Exp::Add { acc, places, values }
            }
            "accumulated" => Exp::Accumulated(self.var()?),
            "sort" => {
                let (keys, values) = self.sorted()?;
                Exp::Sort { keys, values }
            }
            _ => return Err(format!("`{word}` begins no expression of CORE")),
        })
    }

    /// Operands of a sort, after the word.
    pub(super) fn sorted(&mut self) -> Result<(Var, Option<Var>)> {
        match *self.variables()?.as_slice() {
            [keys] => Ok((keys, None)),
            [keys, values] => Ok((keys, Some(values))),
            _ => Err("one or two variables are sorted".into()),
        }
    }

    /// Exactly `N` operands in parentheses.
    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[Atom; N]> {
        let found = self.atoms()?;
        found.try_into().map_err(|v: Vec<Atom>| format!("{} operands where {N} are needed", v.len()))
    }

    fn core_if(&mut self) -> Result<Exp> {
        let cond = self.atom()?;
        self.expect_word("then")?;
        let then = self.body()?;
        self.expect_word("else")?;
        Ok(Exp::If { cond, then, other: self.body()? })
    }

    fn core_loop(&mut self) -> Result<Exp> {
        let params = self.list("(", ")", |p| {
            let param = p.core_param()?;
            p.expect("=")?;
            Ok((param, p.atom()?))
        })?;
        let form = if self.accept_word("while") {
            LoopForm::While(self.body()?)
        } else {
            let (index, prim, bound) = self.for_header()?;
            LoopForm::For { index, prim, bound }
        };
        self.expect_word("do")?;
        Ok(Exp::Loop { params, form, body: self.body()? })
    }

    /// `for i: i64 < n`
    pub(super) fn for_header(&mut self) -> Result<(Var, par_runtime::Prim, Atom)> {
        self.expect_word("for")?;
        let index = self.var()?;
        self.expect(":")?;
        let prim = self.prim()?;
        self.expect("<")?;
        Ok((index, prim, self.atom()?))
    }
}
