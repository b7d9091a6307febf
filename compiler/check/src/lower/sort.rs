//! Sorting by a word of the numbers that stand for keys, see [`super::order`].
//!
//! ```text
//! sort_by_word 0 xs xs          xs : [n]i32      numbers, sorted; what each stands for
//! sort_by_word 0 ks xs          xs : [n]f32      numbers of ks, and with them xs
//! sort_by_word 0 ks xs          xs : [n](a, b)   numbers of ks, and with them 0, 1, …; the elements of xs there
//! ```

use super::order::{unsigned, width};
use super::value::Val;
use super::{Lower, R};
use par_ir::core::Exp;
use par_ir::{Atom, Dim, Prim, Type, Var};

impl<'p> Lower<'p> {
    /// `sort_by_word w keys values`.
    pub fn sort_by_word(&mut self, word: Atom, keys: Val<'p>, values: Val<'p>) -> R<Val<'p>> {
        let (n, arrays) = self.together(vec![keys, values], "the arguments of sort_by_word")?;
        let [keys, values] = &arrays[..] else { return Err(self.internal("two arrays are sorted")) };
        let (numbers, prim) = self.numbers(n, word, keys)?;
        let (key, value) = (self.elem_of(keys)?.clone(), self.elem_of(values)?.clone());
        match (key, value) {
            (Val::Leaf(k, p), Val::Leaf(v, _)) if k == v && p.is_integer() => {
                let (sorted, _) = self.sorted(n, numbers, prim, None)?;
                self.map_over(n, &[Val::vector(n, sorted, prim)], &mut |lo, rows| match rows[0] {
                    Val::Scalar(x, _) => Ok(Val::Scalar(lo.number_back(x, p), p)),
                    _ => Err(lo.internal("a number is a scalar")),
                })
            }
            (_, Val::Leaf(v, p)) => Ok(Val::vector(n, self.sorted_with(n, numbers, prim, (v, p))?, p)),
            _ => {
                let places = self.iota(n);
                let order = self.sorted_with(n, numbers, prim, (places, Prim::I64))?;
                self.map_over(n, &[Val::vector(n, order, Prim::I64)], &mut |lo, rows| match rows[0] {
                    Val::Scalar(i, _) => lo.row(values, i),
                    _ => Err(lo.internal("an index is a scalar")),
                })
            }
        }
    }

    /// The numbers of the elements, in a type that has room for them.
    fn numbers(&mut self, n: Atom, word: Atom, keys: &Val<'p>) -> R<(Var, Prim)> {
        let elem = self.elem_of(keys)?.clone();
        let bits: i64 = elem.leaves().iter().map(|(_, p)| width(*p)).sum();
        let below = 64 * word.as_i64().unwrap_or(0);
        let prim = unsigned(bits - below);
        match elem {
            Val::Leaf(v, p) if p.is_unsigned() && below == 0 => return Ok((v, p)),
            _ => {}
        }
        let numbers = self.map_over(n, std::slice::from_ref(keys), &mut |lo, rows| match rows[0] {
            Val::Scalar(x, p) if below == 0 => Ok(Val::Scalar(lo.number(x, p).0, prim)),
            ref row => match lo.order_word(word, row)? {
                Val::Scalar(x, p) => Ok(Val::Scalar(lo.conv(p, prim, x), prim)),
                _ => Err(lo.internal("a word is a scalar")),
            },
        })?;
        match self.elem_of(&numbers)? {
            Val::Leaf(v, _) => Ok((*v, prim)),
            _ => Err(self.internal("numbers are scalars")),
        }
    }

    fn sorted_with(&mut self, n: Atom, keys: Var, prim: Prim, values: (Var, Prim)) -> R<Var> {
        let (_, sorted) = self.sorted(n, keys, prim, Some(values))?;
        sorted.ok_or_else(|| self.internal("the values of a sort"))
    }

    fn sorted(
        &mut self,
        n: Atom,
        keys: Var,
        prim: Prim,
        values: Option<(Var, Prim)>,
    ) -> R<(Var, Option<Var>)> {
        let mut array = |name: &str, prim| self.param(name, Type::array(vec![Dim::Size(n)], prim));
        let mut pat = vec![array("keys", prim)];
        pat.extend(values.map(|(_, p)| array("sorted", p)));
        let bound = (pat[0].var, pat.get(1).map(|p| p.var));
        self.push(pat, Exp::Sort { keys, values: values.map(|v| v.0) });
        Ok(bound)
    }
}
