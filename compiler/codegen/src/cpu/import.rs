//! Functions of the runtime that machine code calls.
//!
//! Code in memory calls them where they are. Code in a file does not know that: it calls a function of its own, which jumps to
//! the address in a table that the runtime fills before anything runs. So the runtime has no names that could clash with others'.
//!
//! ```text
//! par_Un_Exp_F64_(x):  f = table[3]; return f(x)
//! ```

use crate::Result;
use cranelift::prelude::*;
use cranelift_codegen::ir::{Inst, MemFlagsData, UserFuncName};
use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module};
use par_ir::hash::HashMap;

/// The functions that were called so far.
pub struct Imports {
    linkage: Linkage,
    declared: HashMap<String, FuncId>,
    /// The same, in the order of the table.
    all: Vec<(String, FuncId, Signature)>,
}

impl Imports {
    /// The module knows where they are.
    pub fn known() -> Imports {
        Imports { linkage: Linkage::Import, declared: HashMap::default(), all: Vec::new() }
    }

    /// Imports that are called through a table, see [`Imports::define`].
    pub fn by_table() -> Imports {
        Imports { linkage: Linkage::Local, ..Imports::known() }
    }

    /// The function of that name, which always has that signature.
    pub fn declare(&mut self, module: &mut dyn Module, name: String, signature: Signature) -> FuncId {
        if let Some(id) = self.declared.get(&name) {
            return *id;
        }
        let declared = module.declare_function(&name, self.linkage, &signature);
        let id = declared.expect("a function of the runtime has one signature");
        self.declared.insert(name.clone(), id);
        self.all.push((name, id, signature));
        id
    }

    /// Their names, in the order of the table.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|(name, ..)| name.clone()).collect()
    }

    /// Writes the functions that jump, and the table.
    pub fn define(&self, module: &mut dyn Module) -> Result<DataId> {
        let mut data = DataDescription::new();
        // A table without entries has an address as well.
        data.define_zeroinit(8 * self.all.len().max(1));
        data.set_align(8);
        let table = add_data(module, "imports", Linkage::Local, true, &data)?;
        for (i, (_, id, signature)) in self.all.iter().enumerate() {
            let offset = 8 * i as i32;
            forward(module, *id, signature, |module, b, params| {
                let pointer = module.isa().pointer_type();
                let table = module.declare_data_in_func(table, b.func);
                let callee = b.import_signature(signature.clone());
                let table = b.ins().symbol_value(pointer, table);
                let address = b.ins().load(pointer, MemFlagsData::trusted(), table, offset);
                b.ins().call_indirect(callee, address, params)
            })?;
        }
        Ok(table)
    }
}

/// Adds data under a name.
pub fn add_data(
    module: &mut dyn Module,
    name: &str,
    linkage: Linkage,
    writable: bool,
    data: &DataDescription,
) -> Result<DataId> {
    let id = module.declare_data(name, linkage, writable, false).map_err(|e| e.to_string())?;
    module.define_data(id, data).map_err(|e| e.to_string())?;
    Ok(id)
}

/// Defines a function that calls another one, given its own parameters, and results in what that does.
pub fn forward(
    module: &mut dyn Module,
    id: FuncId,
    signature: &Signature,
    call: impl FnOnce(&mut dyn Module, &mut FunctionBuilder, &[Value]) -> Inst,
) -> Result {
    let mut context = module.make_context();
    context.func.signature = signature.clone();
    context.func.name = UserFuncName::user(0, id.as_u32());
    let config = module.isa().frontend_config();
    let mut builder = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let call = call(module, &mut b, &params);
    let results = b.inst_results(call).to_vec();
    b.ins().return_(&results);
    b.seal_all_blocks();
    b.finalize(config);
    module.define_function(id, &mut context).map_err(|e| format!("{e:?}"))
}
