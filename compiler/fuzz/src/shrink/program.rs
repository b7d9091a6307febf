//! Smaller programs: declarations, parameters and parts of expressions left out, expressions replaced by what they are
//! made of or by literals. Most candidates are not well-typed; whoever tries them finds out.

use super::tree;
use par_syntax::ast::{DecKind, Def, Exp, ExpKind, File, PatKind};
use par_syntax::{parse_expression, pretty};

/// Replacements of expressions.
const LITERALS: [&str; 9] = ["0", "true", "false", "[]", "[0]", "1", "[[]]", "0f32", "([], [])"];

/// So many expressions inside one are tried in its place.
const INSIDE: usize = 24;

/// The file with smaller expressions in place of expression number `n`, the smallest first; nothing if there is none.
pub fn at(file: &mut File, n: usize) -> Option<Vec<File>> {
    let size = size(file);
    let found = tree::at(file, n, replacements)?;
    let mut out: Vec<(usize, File)> = Vec::new();
    for replacement in found {
        let mut changed = file.clone();
        tree::at(&mut changed, n, |e| e.kind = replacement.kind);
        out.push((self::size(&changed), changed));
    }
    out.retain(|c| c.0 < size);
    out.sort_by_key(|c| c.0);
    out.dedup_by(|a, b| a.1 == b.1);
    Some(out.into_iter().map(|c| c.1).collect())
}

/// The text of a program is what counts for its size.
pub fn size(file: &File) -> usize {
    pretty::file(file).chars().filter(|c| !matches!(c, ' ' | '\n' | '(' | ')')).count()
}

/// The file without each of its declarations.
pub fn declarations(file: &File) -> Vec<File> {
    let without = |i: usize| {
        let mut smaller = file.clone();
        smaller.decs.remove(i);
        smaller
    };
    (0..file.decs.len()).map(without).collect()
}

/// Smaller expressions to try in place of one.
fn replacements(e: &mut Exp) -> Vec<Exp> {
    let mut out = tree::descendants(e, INSIDE);
    let is_leaf = out.is_empty();
    let literals = LITERALS.iter().filter(|text| !is_leaf || text.len() < 2);
    out.extend(literals.filter_map(|text| parse_expression(text, 0).0));
    out.extend(shortened(e));
    out.extend(inlined(e));
    if is_leaf && matches!(e.kind, ExpKind::Literal(_) | ExpKind::Operator(_)) {
        out.clear();
    }
    out
}

/// The expression with one of several parts left out.
fn shortened(e: &Exp) -> Vec<Exp> {
    let with = |kind: ExpKind| Exp { kind, span: e.span };
    match &e.kind {
        ExpKind::Array(es) => (0..es.len())
            .map(|i| {
                let mut es = es.clone();
                es.remove(i);
                with(ExpKind::Array(es))
            })
            .collect(),
        ExpKind::Match { value, cases } if cases.len() > 1 => (0..cases.len())
            .map(|i| {
                let mut cases = cases.clone();
                cases.remove(i);
                with(ExpKind::Match { value: value.clone(), cases })
            })
            .collect(),
        _ => vec![],
    }
}

/// `let x = v in e` as `e` with `v` for `x`; `(\x -> e) v` alike.
fn inlined(e: &Exp) -> Vec<Exp> {
    let ExpKind::Let { pat, value, body, .. } = &e.kind else { return vec![] };
    let mut pat = pat;
    while let PatKind::Ascribe(inner, _) = &pat.kind {
        pat = inner;
    }
    let PatKind::Name(name) = &pat.kind else { return vec![] };
    let mut body = body.as_ref().clone();
    substitute(&mut body, name, value);
    vec![body]
}

/// Names are unique in generated programs; elsewhere the result is another program, which is tried all the same.
fn substitute(e: &mut Exp, name: &str, value: &Exp) {
    if matches!(&e.kind, ExpKind::Name(n) if n.path.is_empty() && n.base == name) {
        e.kind = ExpKind::Parens(Box::new(value.clone()));
        return;
    }
    tree::children(e).into_iter().for_each(|e| substitute(e, name, value));
}

/// The file without parameter `i` of an entry, if it can be found.
pub fn without_parameter(file: &File, entry: &str, i: usize) -> Option<File> {
    let mut smaller = file.clone();
    let def = smaller.decs.iter_mut().find_map(|d| match &mut d.kind {
        DecKind::Def(def) if def.entry && def.name.name == entry => Some(def),
        _ => None,
    })?;
    remove_parameter(def, i).then_some(smaller)
}

fn remove_parameter(def: &mut Def, i: usize) -> bool {
    if i >= def.params.len() {
        return false;
    }
    def.params.remove(i);
    true
}

/// The file without the result types of its definitions, one at a time, and with the entries' results made smaller.
pub fn results(file: &File) -> Vec<File> {
    let mut out = Vec::new();
    for i in 0..file.decs.len() {
        let DecKind::Def(def) = &file.decs[i].kind else { continue };
        let change = |edit: &dyn Fn(&mut Def)| {
            let mut smaller = file.clone();
            if let DecKind::Def(def) = &mut smaller.decs[i].kind {
                edit(def);
            }
            smaller
        };
        let mut body = def.body.clone();
        for part in tree::descendants(&mut body, INSIDE) {
            out.push(change(&|def| {
                def.ret = None;
                def.body = part.clone();
            }));
        }
        if def.ret.is_some() {
            out.push(change(&|def| def.ret = None));
        }
    }
    out
}
