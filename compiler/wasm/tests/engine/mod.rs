//! An engine that interprets modules. It has a memory of its own, to which arrays are copied for every call.

use par_ir::PrimOp;
use par_runtime::{Prim, Rope, Scalar};
use par_wasm::{Code, Ended, Engine, Frame, Import, Part, support};
use wasmi::{
    Caller, Error, Func, FuncType, Linker, Memory, MemoryType, Module, Store, TrapCode, Val, ValType,
};

/// An interpreter of WebAssembly.
pub struct Wasmi(wasmi::Engine);

impl Default for Wasmi {
    /// With more stack than any test needs.
    fn default() -> Wasmi {
        let mut config = wasmi::Config::default();
        config.set_max_recursion_depth(10_000_000);
        config.set_max_stack_height(2 << 30);
        Wasmi(wasmi::Engine::new(&config))
    }
}

/// Arrays of ropes: the rope's number, the array's origin, elements, their size, and address.
type Placed = Vec<(usize, i64, i64, i64, i64)>;

/// Address of the frame.
const FRAME: usize = 64;
const PAGE: usize = 65536;

impl Engine for Wasmi {
    type Loaded = Module;
    const LOOKS_UP: bool = true;

    fn load(&self, code: &Code) -> Result<Module, String> {
        Module::new(&self.0, &code.bytes).map_err(|e| format!("{e}"))
    }

    fn call(&self, module: &Module, code: &Code, frame: &mut Frame, part: Part) -> Ended {
        let mut image = Image::default();
        image.bytes.resize(FRAME + 8 * frame.slots.len(), 0);
        let mut slots = frame.slots.clone();
        let places: Vec<usize> = frame.arrays.iter().map(|(_, a, _)| image.add(a.bytes())).collect();
        frame.arrays.iter().zip(&places).for_each(|((slot, ..), at)| slots[*slot] = *at as u64);
        frame.ropes.iter().for_each(|(number, rope)| image.add_rope(*number, rope));
        for (i, x) in slots.iter().enumerate() {
            image.bytes[FRAME + 8 * i..FRAME + 8 * i + 8].copy_from_slice(&x.to_le_bytes());
        }
        let (ended, memory) = run(&self.0, module, code, image, part);
        // The outcome is in the slots before the addresses, prefixes behind them; addresses stay those of this process.
        for (i, x) in frame.slots.iter_mut().enumerate() {
            if !frame.arrays.iter().any(|(slot, ..)| *slot == i) {
                let mut word = [0; 8];
                word.copy_from_slice(&memory[FRAME + 8 * i..FRAME + 8 * i + 8]);
                *x = u64::from_le_bytes(word);
            }
        }
        for ((_, array, written), at) in frame.arrays.iter().zip(places) {
            let len = array.bytes().len();
            if *written {
                // SAFETY: an array that is written belongs to the launch alone, and has so many bytes.
                unsafe { std::ptr::copy_nonoverlapping(memory[at..at + len].as_ptr(), array.as_ptr(), len) }
            }
        }
        ended
    }
}

#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
    ropes: Placed,
}

impl Image {
    fn add(&mut self, bytes: &[u8]) -> usize {
        let at = self.bytes.len().next_multiple_of(64);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        at
    }

    fn add_rope(&mut self, number: usize, rope: &Rope) {
        for part in rope.parts() {
            let at = self.add(part.bytes()) as i64;
            let size = part.prim().size() as i64;
            self.ropes.push((number, part.as_ptr() as i64 / size, part.len() as i64, size, at));
        }
    }
}

/// Runs a part; the end, and what is in memory then.
fn run(engine: &wasmi::Engine, module: &Module, code: &Code, image: Image, part: Part) -> (Ended, Vec<u8>) {
    let mut store = Store::new(engine, image.ropes);
    let pages = image.bytes.len().div_ceil(PAGE).max(1) as u32;
    let memory = Memory::new(&mut store, MemoryType::new(pages, None)).expect("memory");
    memory.data_mut(&mut store)[..image.bytes.len()].copy_from_slice(&image.bytes);
    let mut linker = Linker::new(engine);
    linker.define("par", "memory", memory).expect("a name");
    for (i, import) in code.imports.iter().enumerate() {
        let f = function(&mut store, *import);
        linker.define("par", &i.to_string(), f).expect("a name");
    }
    let instance = linker.instantiate_and_start(&mut store, module).expect("an instance");
    let main = instance.get_func(&store, "part").expect("the function");
    let [row, last, from, to] = part.map(Val::I64);
    let result = main.call(&mut store, &[Val::I32(FRAME as i32), row, last, from, to], &mut []);
    let ended = match result {
        Ok(()) => Ended::Done,
        Err(e) => match e.as_trap_code() {
            Some(TrapCode::UnreachableCodeReached) => Ended::Failed,
            Some(TrapCode::StackOverflow) => Ended::Overflow,
            _ => Ended::Trapped(e.to_string()),
        },
    };
    (ended, memory.data(&store).to_vec())
}

/// Functions that the code calls, by the meaning of operators.
fn function(store: &mut Store<Placed>, import: Import) -> Func {
    let (params, result) = import.signature();
    let val_type = |t| match t {
        par_wasm::ValType::I64 => ValType::I64,
        par_wasm::ValType::F32 => ValType::F32,
        par_wasm::ValType::F64 => ValType::F64,
        _ => ValType::I32,
    };
    let ty = FuncType::new(params.into_iter().map(val_type), [val_type(result)]);
    let call = move |caller: Caller<Placed>, args: &[Val], results: &mut [Val]| -> Result<(), Error> {
        results[0] = match import {
            Import::Operator(op) => operator(op, args),
            Import::Expand => Val::from(support::expand(args[0].i32().unwrap_or(0) as u32)),
            Import::Compress => Val::I32(support::compress(f32::from(args[0].f32().expect("f32"))) as i32),
            Import::Narrow => Val::from(support::narrow(f64::from(args[0].f64().expect("f64")))),
            Import::Rope(_) => {
                let (number, index) = (args[0].i32().expect("i32"), args[1].i64().expect("i64"));
                let inside = |p: &&(usize, i64, i64, i64, i64)| {
                    p.0 == number as usize && index >= p.1 && index < p.1 + p.2
                };
                match caller.data().iter().find(inside) {
                    Some((_, origin, _, size, at)) => Val::I32((at + (index - origin) * size) as i32),
                    None => return Err(Error::new("an index is in no array of the rope")),
                }
            }
        };
        Ok(())
    };
    Func::new(store, ty, call)
}

fn operator(op: PrimOp, args: &[Val]) -> Val {
    let scalar = |(p, x): (Prim, &Val)| match x {
        Val::F32(x) => Scalar::F32(f32::from(*x)),
        Val::F64(x) => Scalar::F64(f64::from(*x)),
        Val::I64(x) => Scalar::from_bits(p, *x as u64),
        other => Scalar::from_bits(p, other.i32().unwrap_or(0) as u64),
    };
    let args: Vec<Scalar> = op.operands().into_iter().zip(args).map(scalar).collect();
    match op.eval(&args) {
        Scalar::F32(x) => Val::from(x),
        Scalar::F64(x) => Val::from(x),
        Scalar::I64(x) => Val::I64(x),
        Scalar::U64(x) => Val::I64(x as i64),
        x => Val::I32(x.as_i64().unwrap_or(0) as i32),
    }
}
