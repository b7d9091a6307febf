//! Local functions: recursion inside kernels, on CUDA's stack. A call of itself in tail position is a jump.

use super::body::{Bodies, Result};
use super::text::{atom, ty};
use par_ir::core::{Body, Exp, Fun, FunId};
use par_ir::ty::Atom;
use par_runtime::cuda;

/// The functions that kernels call, in the order of their numbers.
pub fn functions(b: &mut Bodies, funs: &[Fun]) -> Result<Vec<cuda::Function>> {
    b.locals = funs.iter().enumerate().map(|(i, f)| function_name(i, f)).collect();
    let write = |(i, f): (usize, &Fun)| {
        let head = head(b, i, f);
        b.text.line("");
        b.comment(f.span);
        b.text.open(format!("{head} {{"));
        b.text.open("for (u32 iterations = 1;; iterations++) {");
        b.text.line("if (iterations % 1024 == 0 && here.is_over()) return false;");
        Tail { f: FunId(i as u32), fun: f }.body(b, &f.body)?;
        b.text.close("}");
        b.text.close("}");
        Ok(cuda::Function { declaration: format!("{head};\n"), definition: b.text.take() })
    };
    funs.iter().enumerate().map(write).collect()
}

fn function_name(i: usize, f: &Fun) -> String {
    let name: String = f.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("local{i}_{name}")
}

fn head(b: &mut Bodies, i: usize, f: &Fun) -> String {
    let mut params = vec!["const par::Here& here".to_string()];
    for (i, p) in f.params.iter().enumerate() {
        // The function only reads its other arrays.
        let constant = if p.ty.is_scalar() || i >= f.params.len() - f.states() { "" } else { "const " };
        params.push(format!("{constant}{}", b.declared(p)));
    }
    let scalars = f.ret.iter().enumerate().skip(f.states());
    params.extend(scalars.map(|(i, p)| format!("{}& result{i}", ty(p.ty.prim()))));
    format!("PAR_FUNCTION bool {}({})", b.locals[i], params.join(", "))
}

/// The function whose bodies in tail position are written.
struct Tail<'a> {
    f: FunId,
    fun: &'a Fun,
}

impl Tail<'_> {
    /// A body whose results are the function's.
    fn body(&self, b: &mut Bodies, body: &Body) -> Result {
        let last = body.stms.last().filter(|s| {
            let bound = s.pat.iter().map(|p| Atom::Var(p.var));
            !s.pat.is_empty() && bound.eq(body.results.iter().copied())
        });
        let before = &body.stms[..body.stms.len() - usize::from(last.is_some())];
        match last.map(|s| (s, &s.exp)) {
            Some((_, Exp::Call(g, xs))) if *g == self.f => {
                b.stms(before)?;
                self.jump(b, xs);
            }
            Some((_, Exp::If { cond, then, other })) => {
                b.stms(before)?;
                b.text.open(format!("if ({}) {{", atom(cond, b.vars)));
                self.body(b, then)?;
                b.text.otherwise("} else {");
                self.body(b, other)?;
                b.text.close("}");
            }
            _ => {
                b.stms(&body.stms)?;
                for (i, x) in body.results.iter().enumerate().skip(self.fun.states()) {
                    b.text.line(format!("result{i} = {};", atom(x, b.vars)));
                }
                b.text.line("return true;");
            }
        }
        Ok(())
    }

    /// Starts again with other arguments.
    fn jump(&self, b: &mut Bodies, xs: &[Atom]) {
        for (i, (p, x)) in self.fun.params.iter().zip(xs).enumerate() {
            let (constant, star) = match p.ty.is_scalar() {
                true => ("const ", ""),
                false if i >= xs.len() - self.fun.states() => ("", "*"),
                false => ("const ", "*"),
            };
            b.text.line(format!("{constant}{}{star} next{i} = {};", ty(p.ty.prim()), atom(x, b.vars)));
        }
        for (i, p) in self.fun.params.iter().enumerate() {
            b.text.line(format!("{} = next{i};", super::text::name(p.var, b.vars)));
        }
        b.text.line("continue;");
    }
}
