//! Exhaustiveness of the cases of a `match`, and reachability of each of them.
//!
//! A case is useful if some value fits it and none of the cases before. Cases are rows of a matrix of patterns; the
//! first column is taken apart constructor by constructor:
//!
//! ```text
//! #a 0  true         by #a:  0  true       by 0:      true        the value #a _ false fits no row
//! #b    _                    1  _          by others: (nothing)
//! ```

use super::Cx;
use crate::thir::{Expr, Pat, PatKind, Ty};
use par_ir::hash::HashMap;
use par_runtime::{Prim, Scalar, Span};
use par_syntax::{Diagnostic, Severity};

/// Steps after which the answer is taken to be that everything is covered: some sets of patterns are exponential.
const MAX_STEPS: usize = 500_000;

/// A pattern without names.
#[derive(Clone, Debug)]
enum Shape {
    Any,
    /// The constructor, and the patterns of its parts.
    Of(Head, Vec<Shape>),
}

/// Requirement of a pattern on a value's outermost part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Head {
    /// A tuple or record: there is no other.
    Whole,
    Constr(String),
    Literal(Scalar),
    /// A string.
    Bytes(Vec<u8>),
}

impl Cx<'_> {
    /// E0312 if some value fits no case, a warning for each case that is never reached.
    pub(super) fn check_cases(&mut self, value: &Expr, cases: &[(Pat, Expr)]) {
        if self.has_errors() {
            return;
        }
        let rows: Vec<Vec<Shape>> = cases.iter().map(|(pat, _)| vec![shape(pat)]).collect();
        let mut before = Groups::default();
        for ((pat, _), row) in cases.iter().zip(&rows) {
            let tys = [value.ty.clone()];
            let mut steps = 0;
            if missing(before.like(row), row, &tys, &mut steps).is_none() && steps <= MAX_STEPS {
                let message = "this case is never reached";
                let diag = Diagnostic::new(Severity::Warning, "W0301", message, pat.span);
                let diag = diag.here("the cases before it cover all of its values");
                self.diags.push(match self.name_like_constructor(&value.ty, cases) {
                    Some((name, span)) => diag
                        .label(span, format!("`{name}` is a new name here, which fits every value"))
                        .note(format!("the constructor is written `#{name}`")),
                    None => diag,
                });
            }
            before.add(row);
        }
        let all: Vec<Row> = rows.iter().map(|r| &r[..]).collect();
        if let Some(example) = missing(&all, &[Shape::Any], std::slice::from_ref(&value.ty), &mut 0) {
            let diag =
                Diagnostic::error("E0312", "the cases of this `match` do not cover every value", value.span);
            self.diags.push(diag.here(format!("missing: `{}`", example.concat())));
        }
    }

    /// E0312 if a pattern that must fit does not fit every value.
    pub(super) fn check_pattern(&mut self, pat: &Pat) {
        let simple = matches!(pat.kind, PatKind::Var(_) | PatKind::Wildcard);
        if simple || self.has_errors() {
            return;
        }
        if let Some(example) = missing(&[&[shape(pat)]], &[Shape::Any], std::slice::from_ref(&pat.ty), &mut 0)
        {
            let diag = Diagnostic::error("E0312", "this pattern does not fit every value", pat.span);
            let diag = diag.here(format!("does not fit `{}`", example.concat()));
            self.diags.push(diag.note("use `match` with a case for the others"));
        }
    }

    /// A case that is a name which a constructor of the type has too.
    fn name_like_constructor(&self, ty: &Ty, cases: &[(Pat, Expr)]) -> Option<(String, Span)> {
        let Ty::Sum(constrs) = ty else { return None };
        cases.iter().find_map(|(pat, _)| {
            let PatKind::Var(id) = pat.kind else { return None };
            let name = self.locals.get(id.0 as usize)?;
            constrs.number(name).map(|_| (name.clone(), pat.span))
        })
    }

    fn has_errors(&self) -> bool {
        self.diags.iter().any(|d| d.severity >= Severity::Unsupported)
    }
}

fn shape(pat: &Pat) -> Shape {
    match &pat.kind {
        PatKind::Var(_) | PatKind::Wildcard => Shape::Any,
        PatKind::Tuple(ps) => Shape::Of(Head::Whole, ps.iter().map(shape).collect()),
        PatKind::Record(ps) => Shape::Of(Head::Whole, ps.iter().map(|(_, p)| shape(p)).collect()),
        PatKind::Literal(s) => Shape::Of(Head::Literal(*s), Vec::new()),
        PatKind::String(s) => Shape::Of(Head::Bytes(s.clone()), Vec::new()),
        PatKind::Constr(c, ps) => Shape::Of(Head::Constr(c.clone()), ps.iter().map(shape).collect()),
    }
}

/// Patterns of the parts of a value.
type Row<'r> = &'r [Shape];

/// Rows by the head of their first pattern, each group in the order of the rows. Those that leave it open are in every group.
#[derive(Default)]
struct Groups<'r> {
    heads: Vec<(&'r Head, Vec<Row<'r>>)>,
    numbers: HashMap<&'r Head, usize>,
    open: Vec<Row<'r>>,
    all: Vec<Row<'r>>,
}

impl<'r> Groups<'r> {
    fn of(rows: &[Row<'r>]) -> Groups<'r> {
        let mut groups = Groups::default();
        rows.iter().for_each(|r| groups.add(r));
        groups
    }

    fn add(&mut self, row: Row<'r>) {
        self.all.push(row);
        match &row[0] {
            Shape::Any => {
                self.open.push(row);
                self.heads.iter_mut().for_each(|(_, rows)| rows.push(row));
            }
            Shape::Of(head, _) => {
                let number = *self.numbers.entry(head).or_insert_with(|| {
                    self.heads.push((head, self.open.clone()));
                    self.heads.len() - 1
                });
                self.heads[number].1.push(row);
            }
        }
    }

    /// The rows that some value has in common with this one, as far as their first patterns say.
    fn like(&self, row: Row) -> &[Row<'r>] {
        match &row[0] {
            Shape::Any => &self.all,
            Shape::Of(head, _) => self.numbers.get(head).map_or(&self.open, |i| &self.heads[*i].1),
        }
    }
}

/// Values, as text, that fit `query` and no row; `None` if there are none.
fn missing(rows: &[Row], query: &[Shape], tys: &[Ty], steps: &mut usize) -> Option<Vec<String>> {
    *steps += 1 + rows.len();
    if rows.iter().any(|row| row.iter().all(|shape| matches!(shape, Shape::Any))) {
        return None;
    }
    let (Some((first, rest)), Some((ty, others))) = (query.split_first(), tys.split_first()) else {
        return rows.is_empty().then(Vec::new);
    };
    if *steps > MAX_STEPS {
        return None;
    }
    super::deep(|| match first {
        Shape::Of(head, _) => missing_with(head, rows, query, tys, steps),
        Shape::Any => {
            let groups = Groups::of(rows);
            let used: Vec<&Head> = groups.heads.iter().map(|(head, _)| *head).collect();
            if covers(ty, &used) {
                let mut heads = groups.heads.iter();
                return heads.find_map(|(head, rows)| missing_with(head, rows, query, tys, steps));
            }
            // Values with none of these heads fit the fewest rows: those that leave it open.
            let open: Vec<Row> = groups.open.iter().map(|r| &r[1..]).collect();
            let mut found = missing(&open, rest, others, steps)?;
            found.insert(0, other(ty, &used));
            Some(found)
        }
    })
}

/// As [`missing`], for values whose first part has this head.
fn missing_with(
    head: &Head,
    rows: &[Row],
    query: &[Shape],
    tys: &[Ty],
    steps: &mut usize,
) -> Option<Vec<String>> {
    let parts = parts(head, &tys[0]);
    let arity = parts.len();
    let opened_rows: Vec<_> = rows.iter().filter_map(|r| opened(head, arity, r)).collect();
    let rows: Vec<Row> = opened_rows.iter().map(|r| &r[..]).collect();
    let query = opened(head, arity, query)?;
    let inner: Vec<Ty> = parts.into_iter().chain(tys[1..].iter().cloned()).collect();
    let mut found = missing(&rows, &query, &inner, steps)?;
    let rest = found.split_off(arity);
    let mut all = vec![text(head, &tys[0], &found)];
    all.extend(rest);
    Some(all)
}

/// A row with its first pattern replaced by those of its parts, if it can have this head.
fn opened(head: &Head, arity: usize, row: &[Shape]) -> Option<Vec<Shape>> {
    let parts = match &row[0] {
        Shape::Any => vec![Shape::Any; arity],
        Shape::Of(h, ps) if h == head && ps.len() == arity => ps.clone(),
        Shape::Of(..) => return None,
    };
    Some(parts.into_iter().chain(row[1..].iter().cloned()).collect())
}

/// True if every value has one of these heads.
fn covers(ty: &Ty, used: &[&Head]) -> bool {
    match ty {
        Ty::Unique(t) => covers(t, used),
        Ty::Tuple(_) | Ty::Record(_) => !used.is_empty(),
        Ty::Sum(cs) => used.len() == cs.len(),
        Ty::Prim(Prim::Bool) => used.len() == 2,
        Ty::Prim(Prim::I8 | Prim::U8) => used.len() == 256,
        _ => false,
    }
}

/// The types of the parts of a value with this head.
fn parts(head: &Head, ty: &Ty) -> Vec<Ty> {
    match (head, ty) {
        (_, Ty::Unique(t)) => parts(head, t),
        (Head::Whole, Ty::Tuple(ts)) => ts.clone(),
        (Head::Whole, Ty::Record(fs)) => fs.iter().map(|(_, t)| t.clone()).collect(),
        (Head::Constr(c), Ty::Sum(cs)) => cs.payload(c).map_or_else(Vec::new, <[Ty]>::to_vec),
        _ => Vec::new(),
    }
}

/// A value with this head, as source text.
fn text(head: &Head, ty: &Ty, parts: &[String]) -> String {
    match (head, ty) {
        (Head::Literal(s), _) => s.to_string(),
        (Head::Bytes(s), _) => format!("{:?}", String::from_utf8_lossy(s)),
        (Head::Whole, Ty::Record(fs)) => {
            let fields: Vec<String> = fs.iter().zip(parts).map(|((n, _), p)| format!("{n} = {p}")).collect();
            format!("{{{}}}", fields.join(", "))
        }
        (Head::Whole, _) => format!("({})", parts.join(", ")),
        (Head::Constr(c), _) => parts.iter().fold(format!("#{c}"), |text, p| {
            let inner = p.starts_with('#') && p.contains(' ');
            if inner { format!("{text} ({p})") } else { format!("{text} {p}") }
        }),
    }
}

/// A value with none of the heads.
fn other(ty: &Ty, used: &[&Head]) -> String {
    let text = match ty {
        _ if used.is_empty() => None,
        Ty::Unique(t) => Some(other(t, used)),
        Ty::Sum(cs) => {
            let unused = cs.iter().find(|(c, _)| !used.contains(&&Head::Constr(c.clone())));
            unused.map(|(c, parts)| format!("#{c}{}", " _".repeat(parts.len())))
        }
        Ty::Prim(Prim::Bool) => Some((!used.contains(&&Head::Literal(Scalar::Bool(true)))).to_string()),
        Ty::Prim(p) if p.is_integer() => (0..=used.len() as i64)
            .map(|i| Scalar::from_i64(*p, i))
            .find(|s| !used.contains(&&Head::Literal(*s)))
            .map(|s| s.to_string()),
        _ => None,
    };
    text.unwrap_or_else(|| "_".to_string())
}
