//! Spaces of rows without indices: what back ends execute.
//!
//! ```text
//!                                                rows = n * m
//! kernel map over [n] [m] [k] \row pos i j l {   kernel map over [rows] [k] \row pos _ prologue {
//!     f i j l                                        i = row quot m
//! }                                       ==>        j = row - i*m
//!                                                    start = row*k
//!                                                } {
//!                                                    l = pos - start
//!                                                    f i j l }
//! ```
//!
//! Analyses of kernels come before: an index is easier to recognise than the quotient that it becomes.

use super::bulk::reads;
use par_ir::build::Host;
use par_ir::core::{self, Exp};
use par_ir::flat::{Block, Kernel, Op, Program, Space, Stm, Ty};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var, Vars};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    for f in &mut program.funs {
        in_block(&mut f.body, &Known::default(), &mut program.vars);
    }
}

/// Arrays that descriptors have on the host, and products of sizes.
#[derive(Clone, Default)]
struct Known {
    offsets: HashMap<Var, Var>,
    row_numbers: HashMap<Var, Var>,
    products: HashMap<[Atom; 2], Atom>,
}

impl Known {
    fn note(&mut self, stm: &Stm) {
        let Some(p) = stm.pat.first() else { return };
        match &stm.op {
            Op::Offsets(d) => drop(self.offsets.insert(*d, p.var)),
            Op::SegIds(d) => drop(self.row_numbers.insert(*d, p.var)),
            Op::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), xs) => {
                self.products.insert([xs[0], xs[1]], p.var.into());
            }
            _ => {}
        }
    }
}

fn in_block(block: &mut Block, outside: &Known, vars: &mut Vars) {
    let mut known = outside.clone();
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        stm.op.for_each_block_mut(|b| in_block(b, &known, vars));
        if let Op::Kernel(k) = &stm.op
            && (k.space.0.len() > 2 || mentions_innermost(k))
        {
            let mut kernel = (**k).clone();
            let mut rows = Rows { host: Host::new(&stm, vars), known: &mut known, prologue: vec![] };
            rows.linearise(&mut kernel);
            stms.extend(rows.host.stms);
            stm.op = Op::Kernel(Box::new(kernel));
        }
        known.note(&stm);
        stms.push(stm);
    }
    block.stms = stms;
}

/// True if a kernel over rows asks for the index inside the row.
fn mentions_innermost(k: &Kernel) -> bool {
    k.space.0.len() > 1 && k.bodies().iter().any(|b| b.mentions(k.innermost()))
}

/// A kernel's rows, with what they need on the host and at every row.
struct Rows<'r> {
    host: Host<'r>,
    known: &'r mut Known,
    prologue: Vec<core::Stm>,
}

impl Rows<'_> {
    fn linearise(&mut self, k: &mut Kernel) {
        let rows = self.count(&k.space.0[..k.space.0.len() - 1]);
        let names = self.outer_indices(k);
        let mut body = Vec::new();
        if mentions_innermost(k) {
            let (i, dim) = (k.innermost(), k.space.innermost());
            let start = self.start(dim, k.row.into());
            let exp = arithmetic(BinOp::Sub, k.pos.into(), start);
            body.push(self.statement(i, exp));
        }
        k.substitute(&names);
        k.body.stms.splice(..0, body);
        k.prologue.splice(..0, self.prologue.drain(..));
        k.space = Space::rows(rows, k.space.innermost());
        k.index = vec![k.row, self.host.vars.fresh("i")];
        reads::simplify(k);
    }

    /// Computes the indices of the outer dimensions at every row. The outermost one may have another name already.
    fn outer_indices(&mut self, k: &Kernel) -> Subst {
        let mut number = Atom::Var(k.row);
        if k.space.0.len() == 2 {
            return Subst::default();
        }
        let outer = &k.space.0[1..k.space.0.len() - 1];
        for (dim, i) in outer.iter().zip(&k.index[1..]).rev() {
            let above = self.row_of(*dim, number);
            let start = self.start(*dim, above);
            let stm = self.statement(*i, arithmetic(BinOp::Sub, number, start));
            self.prologue.push(stm);
            number = above;
        }
        Subst::from_iter([(k.index[0], number)])
    }

    /// Number of positions of these dimensions.
    fn count(&mut self, dims: &[Dim]) -> Atom {
        let mut count = Atom::i64(1);
        for (i, dim) in dims.iter().enumerate() {
            count = match *dim {
                Dim::Size(n) if i == 0 => n,
                Dim::Size(n) => self.product(count, n),
                Dim::Seg(d) => self.host.value("total", Ty::Scalar(Prim::I64), Op::Total(d)).into(),
            };
        }
        count
    }

    fn product(&mut self, a: Atom, b: Atom) -> Atom {
        if let Some(known) = self.known.products.get(&[a, b]) {
            return *known;
        }
        let product = self.host.arith("rows", BinOp::Mul, a, b);
        self.known.products.insert([a, b], product);
        product
    }

    /// The row of a dimension that position `number` is in.
    fn row_of(&mut self, dim: Dim, number: Atom) -> Atom {
        self.by_dim("p", dim, (BinOp::Quot, number), ("ii", Op::SegIds), |known| &mut known.row_numbers)
    }

    /// Offset of row `number` of a dimension.
    fn start(&mut self, dim: Dim, number: Atom) -> Atom {
        self.by_dim("start", dim, (BinOp::Mul, number), ("off", Op::Offsets), |known| &mut known.offsets)
    }

    /// An operator on a number and the size of a dimension; of rows with any lengths, an element of an array that is made once.
    fn by_dim(
        &mut self,
        name: &str,
        dim: Dim,
        (op, number): (BinOp, Atom),
        (array, make): (&str, fn(Var) -> Op),
        known: fn(&mut Known) -> &mut HashMap<Var, Var>,
    ) -> Atom {
        let exp = match dim {
            Dim::Size(m) => arithmetic(op, number, m),
            Dim::Seg(d) => {
                let made = known(self.known).get(&d).copied();
                let made = made.unwrap_or_else(|| self.array(array, make(d)));
                known(self.known).insert(d, made);
                Exp::Index(made, vec![number])
            }
        };
        self.computed(name, exp)
    }

    fn array(&mut self, name: &str, op: Op) -> Var {
        self.host.value(name, Ty::Array(Prim::I64), op)
    }

    /// A scalar of the prologue.
    fn computed(&mut self, name: &str, exp: Exp) -> Atom {
        let var = self.host.vars.fresh(name);
        let stm = self.statement(var, exp);
        self.prologue.push(stm);
        var.into()
    }

    fn statement(&self, var: Var, exp: Exp) -> core::Stm {
        core::Stm { pat: vec![core::Param { var, ty: Type::I64 }], exp, span: self.host.like.span }
    }
}

fn arithmetic(op: BinOp, a: Atom, b: Atom) -> Exp {
    Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![a, b])
}
