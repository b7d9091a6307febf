//! Names of operations of FLAT.

use super::operations::function_name;
use par_ir::core::{Exp, Lambda};
use par_ir::flat::{Kernel, KernelKind, Op, Out, Param, Program, Space, Stm, Ty};
use par_ir::place::Construct;
use par_ir::ty::{Atom, Dim, Var};

/// Description of a statement's operation and of its operands.
pub(super) fn operation(program: &Program, stm: &Stm, place: Option<Construct>) -> (String, String) {
    let w = Words { program };
    let (name, detail) = match &stm.op {
        Op::Kernel(k) if place == Some(Construct::Pack) => ("pack", w.kernel_detail(k)),
        Op::Kernel(k) => return (w.kernel_name(k), w.kernel_detail(k)),
        Op::Iota(n) => ("iota", w.atom(n)),
        Op::Replicate(n, x) => ("replicate", format!("{} times {}", w.atom(n), w.atom(x))),
        Op::Literal(xs, _) => ("literal", format!("{} elements", xs.len())),
        Op::Slice { arr, len, .. } => ("copy", format!("{} elements of {}", w.atom(len), w.var(*arr))),
        Op::Concat(vs) => ("concat", w.vars(vs)),
        Op::Write { arr, .. } => ("write", format!("one element of {}", w.var(*arr))),
        Op::MakeDesc(v) => ("row lengths", format!("offsets from {}", w.var(*v))),
        Op::UniformDesc { rows, m } => ("row lengths", format!("{} rows of {}", w.atom(rows), w.atom(m))),
        Op::Append(vs) => ("append", format!("{} read as one, nothing is copied", w.vars(vs))),
        Op::Compact { rope, .. } => ("compact", format!("{}: frees what no row needs", w.var(*rope))),
        Op::NeedsCollection { rope, .. } => {
            ("needs_collection", format!("whether {} has much more than before", w.var(*rope)))
        }
        Op::Collect { rope, .. } => ("collect", format!("{}: frees arrays that no row is in", w.var(*rope))),
        Op::Sort { keys, values, .. } => {
            let with = values.map_or(String::new(), |v| format!(", and with it {}", w.var(v)));
            ("sort", format!("{} by its digits{with}", w.var(*keys)))
        }
        Op::ConcatDesc(vs) => ("row lengths", format!("of {} one after the other", w.vars(vs))),
        Op::Lengths(v) => ("row lengths", format!("as an array, of {}", w.var(*v))),
        Op::SegIds(v) => ("row of each element", format!("of {}", w.var(*v))),
        Op::Read(v, i) => ("read", format!("element {} of {}", w.atom(i), w.var(*v))),
        Op::Total(v) => ("read", format!("the number of elements in {}", w.var(*v))),
        Op::Split { rows, .. } => ("split", format!("{} rows into chunks", w.atom(rows))),
        Op::Call(f, _) => ("call", function_name(&program.funs[f.0 as usize]).to_string()),
        _ => ("", String::new()),
    };
    (name.to_string(), detail)
}

/// Why an operation is there, if the source does not say so.
pub(super) fn reason(op: &Op, place: Option<Construct>) -> Option<String> {
    let scatters =
        |k: &Kernel| matches!(&k.kind, KernelKind::Map(o) if o.iter().any(|o| matches!(o, Out::Scatter(_))));
    let text = match (op, place) {
        (Op::Kernel(k), Some(Construct::If)) if k.kind == KernelKind::Filter => {
            "selects the positions of an arm: arms differ between elements, and contain parallel code"
        }
        (Op::Kernel(k), Some(Construct::If)) if scatters(k) => "merges the results of the arms",
        (Op::Kernel(k), Some(Construct::Loop)) if k.kind == KernelKind::Filter => {
            "selects the positions that go on: the number of iterations differs, and the body is parallel"
        }
        (Op::Kernel(k), Some(Construct::Loop)) if scatters(k) => "stores the results of what is finished",
        (Op::Kernel(k), Some(Construct::Call)) if k.kind == KernelKind::Filter => {
            "selects the positions that call"
        }
        (Op::Kernel(_), Some(Construct::Pack)) => {
            "copies rows that are views, to have them one after the other"
        }
        (Op::Split { most: u64::MAX, .. }, _) => "as many rows at a time as there is memory for",
        (Op::Split { .. }, _) => "chunks were asked for",
        (Op::Slice { .. }, _) => "copied: a part is needed as an array of its own",
        (Op::SegIds(_), _) => "elements use values of their row",
        (Op::Lengths(_), _) => "the lengths are used as values",
        (Op::Read(..) | Op::Total(_), _) => "the host waits for it",
        _ => return None,
    };
    Some(text.to_string())
}

/// The arrays that a statement binds, with their element types.
pub(super) fn makes(program: &Program, stm: &Stm) -> Vec<String> {
    let w = Words { program };
    let array = |p: &Param| match p.ty {
        Ty::Array(prim) => Some(format!("{}: []{prim}", w.var(p.var))),
        Ty::Desc => Some(format!("{}: row lengths", w.var(p.var))),
        Ty::Scalar(_) | Ty::Rope(_) => None,
    };
    stm.pat.iter().filter_map(array).collect()
}

struct Words<'a> {
    program: &'a Program,
}

impl Words<'_> {
    fn var(&self, v: Var) -> String {
        self.program.vars.name(v).to_string()
    }

    fn vars(&self, vs: &[Var]) -> String {
        vs.iter().map(|v| self.var(*v)).collect::<Vec<_>>().join(", ")
    }

    fn atom(&self, a: &Atom) -> String {
        match a {
            Atom::Var(v) => self.var(*v),
            Atom::Const(c) => match c.as_i64() {
                Some(n) => n.to_string(),
                None => c.to_string(),
            },
        }
    }

    fn kernel_name(&self, k: &Kernel) -> String {
        let scatters = |o: &Out| matches!(o, Out::Scatter(_));
        match &k.kind {
            KernelKind::Map(outs) if outs.is_empty() => "check",
            KernelKind::Map(outs) if outs.iter().all(scatters) => "scatter",
            KernelKind::Map(outs) if outs.iter().any(scatters) => "map and scatter",
            KernelKind::Map(_) => "map",
            KernelKind::Reduce { .. } => "reduce",
            KernelKind::Scan { after: Some(a), .. } if a.outs.iter().any(scatters) => "scan and scatter",
            KernelKind::Scan { .. } => "scan",
            KernelKind::Filter => "filter",
            KernelKind::Hist { .. } => "histogram",
        }
        .to_string()
    }

    fn kernel_detail(&self, k: &Kernel) -> String {
        let operator = match &k.kind {
            KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
                format!("{} ", operator(op))
            }
            _ => String::new(),
        };
        format!("{operator}over {}", self.space(&k.space))
    }

    fn space(&self, space: &Space) -> String {
        let (outermost, inner) = space.0.split_first().expect("a space has a dimension");
        inner.iter().fold(self.dimension(outermost), |outer, dim| match dim {
            Dim::Size(m) => format!("{outer} rows of {}", self.atom(m)),
            Dim::Seg(d) => format!("{outer} ragged rows {}", self.var(*d)),
        })
    }

    fn dimension(&self, dim: &Dim) -> String {
        match dim {
            Dim::Size(n) => self.atom(n),
            Dim::Seg(d) => self.var(*d),
        }
    }
}

/// An operator by its name if it is one, else by its size.
fn operator(op: &Lambda) -> String {
    match op.body.stms.as_slice() {
        [stm] => match &stm.exp {
            Exp::Prim(op, _) => op.to_string(),
            _ => "by one statement".into(),
        },
        stms => format!("by {} statements", stms.len()),
    }
}
