//! The expressions of a syntax tree by number, and edits of one of them.

use par_syntax::ast::{Dec, DecKind, Exp, ExpKind, File, IndexArg, LoopForm, Step};

/// The expressions directly inside another, in the order of the text.
pub fn children(e: &mut Exp) -> Vec<&mut Exp> {
    match &mut e.kind {
        ExpKind::Name(_)
        | ExpKind::Literal(_)
        | ExpKind::Operator(_)
        | ExpKind::SectionField(_)
        | ExpKind::Hole => vec![],
        ExpKind::Tuple(es) | ExpKind::Array(es) | ExpKind::Constr(_, es) => es.iter_mut().collect(),
        ExpKind::Record(fields) => fields.iter_mut().filter_map(|f| f.1.as_mut()).collect(),
        ExpKind::Range { start, second, end, .. } => {
            let mut out = vec![start.as_mut()];
            out.extend(second.as_deref_mut());
            out.push(end);
            out
        }
        ExpKind::Apply(f, args) => std::iter::once(f.as_mut()).chain(args).collect(),
        ExpKind::Binary { left, right, .. } => vec![left, right],
        ExpKind::Negate(e)
        | ExpKind::Not(e)
        | ExpKind::SectionLeft(_, e)
        | ExpKind::SectionRight(_, e)
        | ExpKind::Lambda { body: e, .. }
        | ExpKind::Field(e, _)
        | ExpKind::Ascribe(e, _)
        | ExpKind::Coerce(e, _)
        | ExpKind::Attr(_, e)
        | ExpKind::Parens(e)
        | ExpKind::OpenIn(_, e) => vec![e],
        ExpKind::SectionIndex(index) => indices(index),
        ExpKind::Let { value, body, .. } => vec![value, body],
        ExpKind::LetFun { def, body } => vec![&mut def.body, body],
        ExpKind::LetWith { place, value, body, .. } => {
            let mut out = steps(place);
            out.extend([value.as_mut(), body.as_mut()]);
            out
        }
        ExpKind::If { cond, then, other } => vec![cond, then, other],
        ExpKind::Match { value, cases } => {
            std::iter::once(value.as_mut()).chain(cases.iter_mut().map(|c| &mut c.1)).collect()
        }
        ExpKind::Loop { init, form, body, .. } => {
            let bound = match form {
                LoopForm::For(_, e) | LoopForm::ForIn(_, e) | LoopForm::While(e) => e,
            };
            vec![init, bound, body]
        }
        ExpKind::Index(e, index) => std::iter::once(e.as_mut()).chain(indices(index)).collect(),
        ExpKind::With { value, place, update } => {
            let mut out = vec![value.as_mut()];
            out.extend(steps(place));
            out.push(update);
            out
        }
        ExpKind::Assert(a, b) => vec![a, b],
    }
}

fn steps(place: &mut [Step]) -> Vec<&mut Exp> {
    let indices = place.iter_mut().map(|step| match step {
        Step::Index(args, _) => indices(args),
        Step::Field(_) => Vec::new(),
    });
    indices.flatten().collect()
}

fn indices(index: &mut [IndexArg]) -> Vec<&mut Exp> {
    let parts = index.iter_mut().flat_map(|i| match i {
        IndexArg::Index(e) => vec![Some(e)],
        IndexArg::Slice { start, end, stride, .. } => vec![start.as_mut(), end.as_mut(), stride.as_mut()],
    });
    parts.flatten().collect()
}

/// The bodies of a file's definitions, those in modules aside.
fn roots(file: &mut File) -> impl Iterator<Item = &mut Exp> {
    fn root(dec: &mut Dec) -> Option<&mut Exp> {
        match &mut dec.kind {
            DecKind::Def(def) => Some(&mut def.body),
            DecKind::Local(dec) => root(dec),
            _ => None,
        }
    }
    file.decs.iter_mut().filter_map(root)
}

/// Visits every expression, outer ones first, until the visitor has found what it wants.
pub fn find<T>(file: &mut File, visit: &mut impl FnMut(&mut Exp) -> Option<T>) -> Option<T> {
    fn inside<T>(e: &mut Exp, visit: &mut impl FnMut(&mut Exp) -> Option<T>) -> Option<T> {
        visit(e).or_else(|| children(e).into_iter().find_map(|e| inside(e, visit)))
    }
    roots(file).find_map(|e| inside(e, visit))
}

/// Does something with expression number `n`.
pub fn at<T>(file: &mut File, n: usize, work: impl FnOnce(&mut Exp) -> T) -> Option<T> {
    let (mut left, mut work) = (n, Some(work));
    find(file, &mut |e| {
        if left == 0 {
            return work.take().map(|work| work(e));
        }
        left -= 1;
        None
    })
}

/// Number of expressions.
pub fn count(file: &mut File) -> usize {
    let mut n = 0;
    find::<()>(file, &mut |_| {
        n += 1;
        None
    });
    n
}

/// All expressions inside one, nearest first, at most so many.
pub fn descendants(e: &mut Exp, most: usize) -> Vec<Exp> {
    let mut out: Vec<Exp> = Vec::new();
    let mut level = vec![e.clone()];
    while out.len() < most && !level.is_empty() {
        let next: Vec<Exp> =
            level.iter_mut().flat_map(|e| children(e).into_iter().map(|c| c.clone())).collect();
        out.extend(next.iter().cloned());
        level = next;
    }
    out.truncate(most);
    out
}
