//! The readers of files. The first byte chooses a format and the type that is wanted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use par_data::{Format, Input};
use par_runtime::{Prim, ValueType};

fn types() -> Vec<ValueType> {
    let prim = ValueType::Prim;
    let row = vec![
        ("id".to_string(), prim(Prim::I64)),
        ("name".to_string(), ValueType::ragged(prim(Prim::U8))),
        ("xs".to_string(), ValueType::ragged(prim(Prim::F32))),
    ];
    vec![
        ValueType::array(ValueType::array(prim(Prim::U8))),
        ValueType::array(ValueType::ragged(prim(Prim::F64))),
        ValueType::array(ValueType::Record(row.clone())),
        ValueType::array(ValueType::ragged(ValueType::Tuple(vec![prim(Prim::I64), prim(Prim::F64)]))),
        ValueType::Tuple(vec![prim(Prim::F16), prim(Prim::Bool)]),
    ]
}

fuzz_target!(
    // The harness's own hook ends the process at panics that readers of others are allowed.
    init: std::panic::set_hook(Box::new(|info| {
        if !par_data::is_guarded() {
            eprintln!("{info}");
            std::process::abort();
        }
    })),
    |data: &[u8]| {
        let Some((first, rest)) = data.split_first() else { return };
        let formats: Vec<&str> = Format::names().collect();
        let types = types();
        let choice = usize::from(*first);
        let format = formats.get(choice % (formats.len() + 1)).and_then(|name| Format::from_name(name));
        let ty = &types[choice / (formats.len() + 1) % types.len()];
        let Ok(mut input) = Input::from_bytes(rest.to_vec(), format) else { return };
        for name in input.names().into_iter().flatten().take(2) {
            let _ = input.read(Some(&name), ty);
        }
        if let Err(e) = input.read(None, ty) {
            assert!(!e.to_string().contains('\n'), "{e}");
        }
    }
);
