//! Values that a session keeps: to the checker they are definitions, to the compiled program they are arguments.
//!
//! A stored value is declared in a file of its own, with a body that only has the right type. After inference every
//! definition that mentions one, directly or through other definitions, takes it as a further parameter:
//!
//! ```text
//! def xs : []i64 = []                 -- stored: [3, 1, 2]
//! def above k = filter (> k) xs       ==>   def above [n] (xs: [n]i64) k = filter (> k) xs
//! entry e = above 1                         entry e [n] (xs: [n]i64) = above xs 1      called with [3, 1, 2]
//! ```
//!
//! So a value is neither computed again nor copied into the program, and its size does not matter to the compiler.

use par_check::thir::{
    Constructors, Def, DefId, Expr, ExprKind, Hidden, LocalId, Pat, PatKind, Program, Size, Ty,
};
use par_check::visit;
use par_runtime::{Prim, Value, ValueType};
use std::collections::{BTreeSet, HashMap};

/// A value under a name, and the file that declares it.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) file: u32,
    pub(super) value: Value,
}

/// A declaration of a name of this type, for the checker.
pub(super) fn declaration(name: &str, ty: &ValueType) -> String {
    // Only their module makes values of hidden types; but nothing evaluates the body.
    let body = if has_hidden(ty) { name.to_string() } else { any_expression(ty) };
    format!("def {name} : {} = {body}", without_sizes(ty))
}

fn has_hidden(ty: &ValueType) -> bool {
    match ty {
        ValueType::Prim(_) => false,
        ValueType::Tuple(ts) => ts.iter().any(has_hidden),
        ValueType::Record(fs) => fs.iter().any(|(_, t)| has_hidden(t)),
        ValueType::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).any(has_hidden),
        ValueType::Array { elem, .. } => has_hidden(elem),
        ValueType::Opaque { .. } => true,
    }
}

fn without_sizes(ty: &ValueType) -> ValueType {
    let all = |ts: &[ValueType]| ts.iter().map(without_sizes).collect();
    match ty {
        ValueType::Prim(p) => ValueType::Prim(*p),
        ValueType::Tuple(ts) => ValueType::Tuple(all(ts)),
        ValueType::Record(fs) => ValueType::Record(fs.map(without_sizes)),
        ValueType::Sum(cs) => ValueType::Sum(cs.iter().map(|(n, ts)| (n.clone(), all(ts))).collect()),
        ValueType::Array { ragged, elem, .. } => {
            ValueType::Array { ragged: *ragged, size: None, elem: Box::new(without_sizes(elem)) }
        }
        ValueType::Opaque { .. } => ty.clone(),
    }
}

/// Any expression of a type. It is never evaluated.
fn any_expression(ty: &ValueType) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match ty {
        ValueType::Prim(Prim::Bool) => "false".into(),
        ValueType::Prim(p) => format!("0{p}"),
        ValueType::Array { .. } => "[]".into(),
        ValueType::Tuple(ts) => format!("({})", list(ts.iter().map(any_expression).collect())),
        ValueType::Record(fs) => {
            format!("{{{}}}", list(fs.iter().map(|(n, t)| format!("{n} = {}", any_expression(t))).collect()))
        }
        ValueType::Sum(cs) => match cs.first() {
            Some((name, ts)) => {
                let payload: String = ts.iter().map(|t| format!(" ({})", any_expression(t))).collect();
                format!("#{name}{payload}")
            }
            None => "???".into(),
        },
        ValueType::Opaque { of, .. } => any_expression(of),
    }
}

/// Makes parameters of the stored values. Gives back which of them the definition `entry` now takes, in order.
pub(super) fn bind(program: &mut Program, stored: &[Stored], entry: usize) -> Vec<usize> {
    let mut slots = HashMap::new();
    for (i, def) in program.defs.iter().enumerate() {
        if let Some(slot) = stored.iter().position(|s| s.file == def.span.file) {
            slots.insert(DefId(i as u32), slot);
        }
    }
    let needs = needs(program, &slots);
    let Program { defs, locals, .. } = program;
    for (i, def) in defs.iter_mut().enumerate() {
        let id = DefId(i as u32);
        if needs[i].is_empty() || slots.contains_key(&id) {
            continue;
        }
        let mut own = HashMap::new();
        let params = needs[i].iter().map(|slot| {
            let pat = parameter(&stored[*slot], def.name_span, &mut def.size_params, locals);
            if let PatKind::Var(local) = pat.kind {
                own.insert(*slot, (local, pat.ty.clone()));
            }
            pat
        });
        let params: Vec<Pat> = params.collect();
        def.params.splice(0..0, params);
        hide_params(def, needs[i].iter().map(|slot| hidden(&stored[*slot].value.ty)).collect());
        let rewrite = Rewrite { slots: &slots, needs: &needs, own };
        visit::def(def, &mut |e| rewrite.expr(e));
    }
    needs.get(entry).map(|n| n.iter().copied().collect()).unwrap_or_default()
}

/// The same parts stay hidden behind the new parameters in front.
fn hide_params(def: &mut Def, mut new: Vec<Hidden>) {
    match &mut def.hidden {
        Hidden::Parts(parts) => _ = parts.splice(0..0, new),
        _ if new.iter().all(|h| *h == Hidden::Nothing) => {}
        nothing => {
            new.push(Hidden::Nothing);
            *nothing = Hidden::Parts(new);
        }
    }
}

/// Hidden parts of a type.
fn hidden(ty: &ValueType) -> Hidden {
    let parts: Vec<Hidden> = match ty {
        ValueType::Prim(_) => Vec::new(),
        ValueType::Opaque { name, .. } => return Hidden::Type(name.clone()),
        ValueType::Array { elem, .. } => vec![hidden(elem)],
        ValueType::Tuple(ts) => ts.iter().map(hidden).collect(),
        ValueType::Record(fs) => fs.iter().map(|(_, t)| hidden(t)).collect(),
        ValueType::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).map(hidden).collect(),
    };
    if parts.iter().all(|h| *h == Hidden::Nothing) { Hidden::Nothing } else { Hidden::Parts(parts) }
}

/// The values that each definition needs, those of the definitions it mentions included.
fn needs(program: &mut Program, slots: &HashMap<DefId, usize>) -> Vec<BTreeSet<usize>> {
    let mentions: Vec<BTreeSet<DefId>> = program.defs.iter_mut().map(mentioned).collect();
    let mut needs = vec![BTreeSet::new(); mentions.len()];
    for (id, slot) in slots {
        needs[id.0 as usize].insert(*slot);
    }
    // Definitions may be recursive: until nothing changes.
    loop {
        let mut changed = false;
        for (i, mentions) in mentions.iter().enumerate() {
            let more: Vec<usize> = mentions.iter().flat_map(|id| needs[id.0 as usize].clone()).collect();
            let before = needs[i].len();
            needs[i].extend(more);
            changed |= needs[i].len() > before;
        }
        if !changed {
            return needs;
        }
    }
}

/// The definitions that a definition mentions. The library mentions no values.
fn mentioned(def: &mut Def) -> BTreeSet<DefId> {
    fn collect(e: &mut Expr, out: &mut BTreeSet<DefId>) {
        if let ExprKind::Def(id, _) = &e.kind {
            out.insert(*id);
        }
        visit::children(e, &mut |e| collect(e, out));
    }
    let mut out = BTreeSet::new();
    if !def.library {
        visit::def(def, &mut |e| collect(e, &mut out));
    }
    out
}

/// A parameter for a value, with new names for its sizes.
fn parameter(
    stored: &Stored,
    span: par_runtime::Span,
    sizes: &mut Vec<LocalId>,
    locals: &mut Vec<String>,
) -> Pat {
    let ty = value_ty(&stored.value.ty, &mut || {
        let size = new_local("n", locals);
        sizes.push(size);
        Size::Local(size)
    });
    Pat { kind: PatKind::Var(new_local(&stored.name, locals)), ty, declared: true, span }
}

fn new_local(name: &str, locals: &mut Vec<String>) -> LocalId {
    locals.push(name.to_string());
    LocalId(locals.len() as u32 - 1)
}

fn value_ty(ty: &ValueType, size: &mut dyn FnMut() -> Size) -> Ty {
    match ty {
        ValueType::Prim(p) => Ty::Prim(*p),
        ValueType::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| value_ty(t, size)).collect()),
        ValueType::Record(fs) => Ty::Record(fs.map(|t| value_ty(t, size))),
        // A payload has its sizes only where the constructor is the right one.
        ValueType::Sum(cs) => {
            let payload = |ts: &[ValueType]| ts.iter().map(|t| value_ty(t, &mut || Size::Anon)).collect();
            Ty::Sum(Constructors::new(cs.iter().map(|(n, ts)| (n.clone(), payload(ts))).collect()))
        }
        ValueType::Array { ragged, elem, .. } => {
            let outer = if *ragged { Size::Anon } else { size() };
            Ty::Array(outer, Box::new(value_ty(elem, size)))
        }
        ValueType::Opaque { of, .. } => value_ty(of, size),
    }
}

/// Replaces what a definition mentions.
struct Rewrite<'a> {
    slots: &'a HashMap<DefId, usize>,
    needs: &'a [BTreeSet<usize>],
    /// The definition's own parameters for the values.
    own: HashMap<usize, (LocalId, Ty)>,
}

impl Rewrite<'_> {
    fn expr(&self, e: &mut Expr) {
        if let ExprKind::Apply(f, args) = &mut e.kind
            && let ExprKind::Def(id, _) = &f.kind
            && !self.slots.contains_key(id)
        {
            let (more, ty) = self.arguments(*id, f);
            f.ty = ty;
            args.splice(0..0, more);
            // The function itself is done.
            args.iter_mut().for_each(|e| self.expr(e));
            return;
        }
        visit::children(e, &mut |e| self.expr(e));
        if let ExprKind::Def(id, _) = &e.kind {
            if let Some((local, _)) = self.slots.get(id).and_then(|slot| self.own.get(slot)) {
                e.kind = ExprKind::Local(*local);
                return;
            }
            let (args, ty) = self.arguments(*id, e);
            if !args.is_empty() {
                let f = Expr { kind: e.kind.clone(), ty, span: e.span };
                e.kind = ExprKind::Apply(Box::new(f), args);
            }
        }
    }

    /// The values that a mentioned definition takes, and its type with them.
    fn arguments(&self, id: DefId, at: &Expr) -> (Vec<Expr>, Ty) {
        let slots = self.needs.get(id.0 as usize).into_iter().flatten();
        let own: Vec<&(LocalId, Ty)> = slots.filter_map(|slot| self.own.get(slot)).collect();
        let ty =
            own.iter().rev().fold(at.ty.clone(), |ty, (_, arg)| Ty::Fun(Box::new(arg.clone()), Box::new(ty)));
        let args = own.into_iter().map(|(local, ty)| Expr {
            kind: ExprKind::Local(*local),
            ty: ty.clone(),
            span: at.span,
        });
        (args.collect(), ty)
    }
}
