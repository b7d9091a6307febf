//! Size parameters must be the size of something: what they are is read from values.
//!
//! ```text
//! def f [n] (x: i32) = x                   E0316: there is no array of size `n`
//! let [n] (x: i32) = 3 in x                E0316, as for `loop [n]`, `?[n].i32`, types and module types
//! entry f [n] : [0][n]i32 = []             E0316: whoever calls it cannot say what `n` is
//! ```

use super::Cx;
use par_syntax::Diagnostic;
use par_syntax::ast::{Def, ExpKind, Ident, Pat, PatKind, SizeExp, TypeArg, TypeExp, TypeKind, TypeParam};

/// Pattern or type in which a size may be mentioned.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Pat(&'a Pat),
    Type(&'a TypeExp),
}

/// The sizes among parameters.
pub(super) fn sizes(params: &[TypeParam]) -> impl Iterator<Item = &Ident> {
    params.iter().filter_map(|p| if let TypeParam::Size(name) = p { Some(name) } else { None })
}

impl Cx<'_> {
    /// E0316 for size parameters of a definition: those of a function may be sizes of its result only, and are what its use asks for.
    pub(super) fn must_use_sizes(&mut self, def: &Def) {
        let params = def.params.iter().map(Place::Pat);
        // The type of an entry point without parameters may be that of a function.
        let is_place = |t: &&TypeExp| !def.entry || matches!(t.kind, TypeKind::Arrow(..));
        let ret = def.ret.iter().filter(is_place).map(Place::Type);
        let places: Vec<Place> = params.chain(ret).collect();
        let of = if def.entry { "the types of its parameters" } else { "its types" };
        self.diags.extend(unused_sizes(sizes(&def.type_params), &places, of));
    }
}

/// E0316 for names of sizes that no size in these places mentions. Takes time in proportion to their length for each name.
pub(super) fn unused_sizes<'n>(
    names: impl IntoIterator<Item = &'n Ident>,
    places: &[Place],
    of: &str,
) -> Vec<Diagnostic> {
    let unused = names.into_iter().filter(|name| !places.iter().any(|p| p.mentions(&name.name)));
    let error = |name: &Ident| {
        let message = format!("the size `{}` is a parameter, but no size in {of}", name.name);
        let diag = Diagnostic::error("E0316", message, name.span).here("not used");
        diag.note("nothing says what it is: sizes are read from arrays")
    };
    unused.map(error).collect()
}

impl Place<'_> {
    fn mentions(self, name: &str) -> bool {
        match self {
            Place::Pat(pat) => in_pat(pat, name),
            Place::Type(ty) => in_type(ty, name),
        }
    }
}

fn in_pat(pat: &Pat, name: &str) -> bool {
    super::deep(|| match &pat.kind {
        PatKind::Name(_) | PatKind::Wildcard | PatKind::Literal(_) => false,
        PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().any(|p| in_pat(p, name)),
        PatKind::Record(fields) => fields.iter().filter_map(|(_, p)| p.as_ref()).any(|p| in_pat(p, name)),
        PatKind::Ascribe(p, t) => in_type(t, name) || in_pat(p, name),
        PatKind::Attr(_, p) => in_pat(p, name),
    })
}

fn in_type(ty: &TypeExp, name: &str) -> bool {
    super::deep(|| match &ty.kind {
        TypeKind::Name(_, args) => args.iter().any(|arg| match arg {
            TypeArg::Size(size) => in_size(size, name),
            TypeArg::Type(t) => in_type(t, name),
        }),
        TypeKind::Tuple(ts) => ts.iter().any(|t| in_type(t, name)),
        TypeKind::Record(fs) => fs.iter().any(|(_, t)| in_type(t, name)),
        TypeKind::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).any(|t| in_type(t, name)),
        TypeKind::Array(size, t) => in_size(size, name) || in_type(t, name),
        TypeKind::Unique(t) | TypeKind::Exists(_, t) => in_type(t, name),
        TypeKind::Arrow(_, a, r) => in_type(a, name) || in_type(r, name),
    })
}

/// Any expression counts as one that mentions the name.
fn in_size(size: &SizeExp, name: &str) -> bool {
    match size {
        SizeExp::Anonymous(_) => false,
        SizeExp::Exp(e) => match &e.kind {
            ExpKind::Name(n) => n.path.is_empty() && n.base == name,
            ExpKind::Literal(_) => false,
            _ => true,
        },
    }
}
