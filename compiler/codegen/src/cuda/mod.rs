//! The CUDA back end: a program's kernels as readable C++, which NVRTC compiles when a function that launches them is called.
//!
//! Every kernel instantiates a template of `kernels/par` with its body ([`kernel`]); bodies are written statement by
//! statement ([`body`]), on the operators of `kernels/program/scalar.cuh`. The host's part is the same plan as the CPU's.

mod body;
mod filter;
mod fold;
mod hist;
mod kernel;
mod local;
mod map;
mod operator;
mod plan;
mod schedule;
mod text;

use crate::Result;
use crate::free;
use body::Bodies;
use kernel::Source;
use par_ir::Span;
use par_ir::flat;
use par_ir::hash::HashMap;
use par_runtime::cuda::{KernelText, Program};
use par_runtime::plan::Plan;
use plan::CudaCode;
use text::Text;

/// A program for a GPU. `reproducible`: of several values that are scattered to one index the last one wins. `source` gives the
/// line of the source that a span is in, for comments. Fails only on a program that the FLAT verifier would refuse.
pub fn compile(
    program: &flat::Program,
    reproducible: bool,
    source: &dyn Fn(Span) -> Option<String>,
) -> Result<Program> {
    let types = free::types(program);
    let mut bodies = Bodies {
        text: Text::default(),
        vars: &program.vars,
        checks: Vec::new(),
        prims: HashMap::default(),
        locals: Vec::new(),
        source,
    };
    let functions = local::functions(&mut bodies, &program.locals)?;
    let (mut kernels, mut texts) = (HashMap::default(), Vec::new());
    for (i, (number, stm, kernel)) in crate::plan::kernels(program).into_iter().enumerate() {
        par_runtime::cancel::poll();
        let mut source = Source::new(i, kernel, stm.pat.iter().map(|p| p.ty).collect());
        source.reproducible = reproducible;
        bodies.text.line("");
        bodies.comment(stm.span);
        kernel::kernel(&mut bodies, &source, &types)?;
        kernels.insert(number, source);
        let calls = free::callees(kernel, &program.locals).iter().map(|f| f.0 as usize).collect();
        texts.push(KernelText { text: bodies.text.take(), calls });
    }
    let checks = bodies.checks;
    let mut code = CudaCode { kernels, locals: &program.locals };
    let host = crate::plan::functions(program, &types, &mut code)?;
    let plan = Plan { functions: host, sites: program.statements().len() };
    Ok(Program { functions, kernels: texts, checks, plan, compiled: Vec::new() })
}
