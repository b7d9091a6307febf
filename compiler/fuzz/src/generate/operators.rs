//! Associative operators with their neutral elements.

use super::Gen;
use crate::types::{I64, Ty};
use par_runtime::Prim;

/// An operator as text.
pub(super) struct Operator {
    pub(super) op: String,
    pub(super) neutral: String,
    pub(super) commutes: bool,
    /// Floats must be small integers for it, so that every order gives the same.
    pub(super) exact: bool,
}

impl Gen {
    /// An operator on the type. All types have one.
    pub(super) fn operator(&mut self, ty: &Ty) -> Operator {
        match ty {
            Ty::Prim(p) if p.is_float() => self.on_floats(*p),
            Ty::Prim(Prim::Bool) => self.on_bools(),
            Ty::Prim(p) => self.on_integers(*p),
            Ty::Tuple(ts) if self.rng.chance(75) => self.on_tuples(ty, ts),
            Ty::Array(elem) if self.rng.chance(70) => self.on_arrays(ty, elem),
            _ => self.first(ty),
        }
    }

    /// A commutative operator, if the type has one.
    pub(super) fn commutative(&mut self, ty: &Ty) -> Option<Operator> {
        const TRIES: usize = 4;
        (0..TRIES).map(|_| self.operator(ty)).find(|o| o.commutes)
    }

    /// The first value that is not the neutral one.
    fn first(&mut self, ty: &Ty) -> Operator {
        let neutral = self.literal(ty);
        let (a, b) = (self.name(), self.name());
        let op = format!("(\\({a}: {ty}) ({b}: {ty}) -> if {a} == {neutral} then {b} else {a})");
        Operator { op, neutral, commutes: false, exact: false }
    }

    fn on_integers(&mut self, p: Prim) -> Operator {
        let ty = Ty::Prim(p);
        let of =
            |op: &str, neutral: String| Operator { op: op.into(), neutral, commutes: true, exact: false };
        match self.rng.below(12) {
            0..3 => of("(+)", format!("0{p}")),
            3 => of("(*)", format!("1{p}")),
            4 => of(&format!("{p}.max"), format!("{p}.lowest")),
            5 => of(&format!("{p}.min"), format!("{p}.highest")),
            6 => of("(|)", format!("0{p}")),
            7 => of("(^)", format!("0{p}")),
            8 => of("(&)", format!("({p}.not 0{p})")),
            9 => self.parallel_sum(p),
            10 if ty == I64 => of("rec_add", "0i64".into()),
            _ => self.first(&ty),
        }
    }

    /// An operator that is itself parallel.
    fn parallel_sum(&mut self, p: Prim) -> Operator {
        let (a, b, i) = (self.name(), self.name(), self.name());
        let row = match self.rng.below(3) {
            0 => format!("[{a}, {b}]"),
            1 => format!("(map (\\{i} -> if {i} == 0 then {a} else {b}) (iota 2))"),
            _ => format!("(filter (\\{i} -> {i} != 0{p}) [{a}, {b}, 0{p}])"),
        };
        let op = format!("(\\({a}: {p}) ({b}: {p}) -> {p}.sum {row})");
        Operator { op, neutral: format!("0{p}"), commutes: true, exact: false }
    }

    fn on_bools(&mut self) -> Operator {
        let (op, neutral) =
            *self.rng.pick(&[("(&&)", "true"), ("(||)", "false"), ("(==)", "true"), ("(!=)", "false")]);
        Operator { op: op.into(), neutral: neutral.into(), commutes: true, exact: false }
    }

    fn on_floats(&mut self, p: Prim) -> Operator {
        let (op, neutral) = match self.rng.below(4) {
            0 if self.smooth && self.rng.chance(50) => ("(*)".into(), format!("1{p}")),
            0 => (format!("{p}.min"), format!("{p}.inf")),
            1 => (format!("{p}.max"), format!("({p}.neg {p}.inf)")),
            _ => ("(+)".into(), format!("0{p}")),
        };
        Operator { op, neutral, commutes: true, exact: !self.smooth }
    }

    /// Component by component; sometimes the composition of affine functions, the product of complex numbers, or the position of a maximum.
    fn on_tuples(&mut self, ty: &Ty, ts: &[Ty]) -> Operator {
        let (a, b) = (self.name(), self.name());
        let params = format!("\\({a}: {ty}) ({b}: {ty}) ->");
        let pair = ts.len() == 2 && ts[0] == ts[1];
        if pair && (ts[0] == I64 || self.smooth && ts[0].is_float()) && self.rng.chance(60) {
            let neutral = format!("(1{0}, 0{0})", ts[0]);
            if self.rng.chance(40) {
                let op = format!("({params} ({a}.0 * {b}.0, {b}.0 * {a}.1 + {b}.1))");
                return Operator { op, neutral, commutes: false, exact: false };
            }
            if ts[0] != I64 || self.rng.chance(30) {
                let (real, imaginary) =
                    (format!("{a}.0 * {b}.0 - {a}.1 * {b}.1"), format!("{a}.0 * {b}.1 + {a}.1 * {b}.0"));
                let op = format!("({params} ({real}, {imaginary}))");
                return Operator { op, neutral, commutes: true, exact: false };
            }
            let larger = format!("{a}.0 > {b}.0 || {a}.0 == {b}.0 && {a}.1 < {b}.1");
            let op = format!("({params} if {larger} then {a} else {b})");
            return Operator {
                op,
                neutral: "(i64.lowest, i64.highest)".into(),
                commutes: true,
                exact: false,
            };
        }
        let parts: Vec<Operator> = ts.iter().map(|t| self.operator(t)).collect();
        let ops: Vec<String> =
            parts.iter().enumerate().map(|(i, o)| format!("{} {a}.{i} {b}.{i}", o.op)).collect();
        let neutral: Vec<&str> = parts.iter().map(|o| o.neutral.as_str()).collect();
        Operator {
            op: format!("({params} ({}))", ops.join(", ")),
            neutral: format!("({})", neutral.join(", ")),
            commutes: parts.iter().all(|o| o.commutes),
            exact: parts.iter().any(|o| o.exact),
        }
    }

    /// Concatenation, the longest, or element by element with the longer one's rest.
    fn on_arrays(&mut self, ty: &Ty, elem: &Ty) -> Operator {
        let (a, b, i) = (self.name(), self.name(), self.name());
        let params = format!("\\({a}: {ty}) ({b}: {ty}) ->");
        let (op, inner) = match self.rng.below(4) {
            0 | 1 => ("(++)".into(), None),
            2 => (format!("({params} if length {a} >= length {b} then {a} else {b})"), None),
            _ => {
                let inner = self.operator(elem);
                let both = format!("{} {a}[{i}] {b}[{i}]", inner.op);
                let one = format!("if {i} < length {a} then {a}[{i}] else {b}[{i}]");
                let at = format!("if {i} < length {a} && {i} < length {b} then {both} else {one}");
                let n = format!("i64.max (length {a}) (length {b})");
                (format!("({params} tabulate ({n}) (\\{i} -> {at}))"), Some(inner))
            }
        };
        let (commutes, exact) = inner.map_or((false, false), |o| (o.commutes, o.exact));
        Operator { op, neutral: format!("([] : {ty})"), commutes, exact }
    }

    /// A function that makes floats in a value of the type small integers.
    pub(super) fn rounding(&mut self, ty: &Ty) -> String {
        let x = self.name();
        format!("(\\({x}: {ty}) -> {})", self.rounded(&x, ty))
    }

    fn rounded(&mut self, x: &str, ty: &Ty) -> String {
        match ty {
            Ty::Prim(p) if p.is_float() => {
                let most = if *p == Prim::F16 { 3 } else { 63 };
                format!("{p}.i32 (i32.{p} {x} & {most})")
            }
            Ty::Tuple(ts) => {
                let ts: Vec<String> =
                    ts.iter().enumerate().map(|(i, t)| self.rounded(&format!("{x}.{i}"), t)).collect();
                format!("({})", ts.join(", "))
            }
            Ty::Record(fs) => {
                let fs: Vec<String> = fs
                    .iter()
                    .map(|(n, t)| format!("{n} = {}", self.rounded(&format!("{x}.{n}"), t)))
                    .collect();
                format!("{{{}}}", fs.join(", "))
            }
            Ty::Array(elem) if elem.has_floats() => format!("map {} {x}", self.rounding(elem)),
            _ => x.to_string(),
        }
    }
}
