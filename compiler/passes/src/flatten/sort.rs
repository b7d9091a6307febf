//! Sorting: the rows of all positions by one operation, which needs them packed.

use super::Flattener;
use super::nest::LevelId;
use super::rep::{Arr, Rep, Src};
use par_ir::Var;
use par_ir::core::Stm;
use par_ir::flat::{self, Op, Space, Ty};

impl Flattener<'_> {
    pub fn sort(&mut self, level: LevelId, stm: &Stm, keys: Var, values: Option<Var>) {
        let (keys, levels) = self.packed_data(level, keys);
        let values = values.map(|v| self.packed_data(level, v).0);
        let child = levels[0];
        let space = match self.shapes.is_root(level) {
            true => Space::flat(self.count(child)),
            false => self.row_space(level, child),
        };
        let extent = self.shapes.extent(child);
        let mut pat = Vec::new();
        for p in &stm.pat {
            let name = self.builder.vars.name(p.var).to_string();
            let var = self.fresh_array(&name, extent.clone());
            pat.push(flat::Param { var, ty: Ty::Array(p.ty.prim()) });
            let arr = self.packed_arr(Src::Data(var, p.ty.prim()), &levels);
            self.env.insert(p.var, Rep::Array(arr));
        }
        self.builder.emit(pat, Op::Sort { space, keys, values });
    }

    /// The packed data of an array of scalars, and the level of its elements.
    fn packed_data(&mut self, level: LevelId, v: Var) -> (Var, Vec<LevelId>) {
        let ty = self.types[&v].clone();
        let arr = self.arr(v);
        let (packed, levels): (Arr, _) = self.pack_levels(level, &arr, &ty);
        match packed.src {
            Src::Data(data, _) => (data, levels),
            _ => unreachable!("packed scalars are data"),
        }
    }
}
