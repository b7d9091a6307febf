//! Versions of a nest: flat, or every position of its outermost level worked through by itself.
//!
//! ```text
//! map (\ xs -> let m = sum xs in sum (map (\ x -> (x - m) ** 2) xs)) xss
//!
//! flat         m  = kernel reduce rows n seg d { … }          -- every inner operator is a bulk operation
//!              ys = kernel reduce rows n seg d { … }
//! sequential   ys = kernel map flat n { loop … loop … }       -- reads each row twice while it is near
//! ```
//!
//! Both are there where the sizes tell which is better: if there are enough rows for all threads, and none is long, the host takes the
//! sequential one. That a nest has one is up to [`super::sequential`].

use super::sequential::sequential_nest;
use super::split::traces;
use super::{Flattener, Versions};
use par_ir::core::{Exp, Lambda, Stm};

impl Flattener<'_> {
    /// The sequential version of a nest that has inner parallel operators.
    fn sequential_lambda(&mut self, stm: &Stm, lam: &Lambda) -> Option<Lambda> {
        let scalars = lam.ret.iter().all(|t| t.is_scalar() && !t.is_desc());
        if !scalars || self.sequential(&lam.body) || traces(&lam.body) || stm.pat.is_empty() {
            return None;
        }
        let body = sequential_nest(&lam.body, &mut self.vars)?;
        self.sequential(&body).then(|| Lambda { body, ..lam.clone() })
    }

    /// The nest as [`Self::map`] is to flatten it.
    pub(crate) fn version_of(&mut self, stm: &Stm) -> Option<Lambda> {
        let Exp::Map { lam, .. } = &stm.exp else { return None };
        match self.versions {
            Versions::Sequential => self.sequential_lambda(stm, lam),
            Versions::Flat | Versions::Auto => None,
        }
    }
}
