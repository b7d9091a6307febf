//! Inputs: values as text, of the shapes that break flattened code.

use crate::rng::Rng;
use crate::types::Ty;
use par_runtime::Prim;

/// Profile of the arrays of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// No rows at all.
    NoRows,
    /// Rows without elements.
    EmptyRows,
    /// Everything has one element.
    Singletons,
    /// One long row among short ones.
    GiantRow,
    /// Short rows of any length.
    Mixed,
    /// All rows of one level equally long.
    Regular,
}

/// The profiles, each of which every entry point is called with.
pub fn profiles() -> impl Iterator<Item = Profile> {
    use Profile::{EmptyRows, GiantRow, Mixed, NoRows, Regular, Singletons};
    [Mixed, NoRows, EmptyRows, Singletons, GiantRow, Regular].into_iter()
}

/// Arguments of these types.
pub fn arguments(rng: &mut Rng, params: &[Ty], profile: Profile) -> Vec<String> {
    params.iter().map(|t| value(rng, t, (profile, scalar), 0)).collect()
}

/// Arguments without infinities and floats that are no numbers.
pub fn finite_arguments(rng: &mut Rng, params: &[Ty], profile: Profile) -> Vec<String> {
    params.iter().map(|t| value(rng, t, (profile, finite), 0)).collect()
}

/// Lengths, and the maker of scalars.
type Maker = (Profile, fn(&mut Rng, Prim) -> String);

fn value(rng: &mut Rng, ty: &Ty, maker: Maker, depth: usize) -> String {
    match ty {
        Ty::Prim(p) => maker.1(rng, *p),
        Ty::Tuple(ts) => {
            let ts: Vec<String> = ts.iter().map(|t| value(rng, t, maker, depth)).collect();
            format!("({})", ts.join(", "))
        }
        Ty::Record(fs) => {
            let fs: Vec<String> =
                fs.iter().map(|(n, t)| format!("{n} = {}", value(rng, t, maker, depth))).collect();
            format!("{{{}}}", fs.join(", "))
        }
        Ty::Sum(_, constructors) => {
            let (name, payload) = rng.pick(constructors).clone();
            let payload: Vec<String> =
                payload.iter().map(|t| format!(" {}", value(rng, t, maker, depth))).collect();
            if payload.is_empty() { format!("#{name}") } else { format!("(#{name}{})", payload.concat()) }
        }
        Ty::Array(elem) => {
            let n = length(rng, ty, maker.0, depth);
            let elems: Vec<String> = (0..n).map(|_| value(rng, elem, maker, depth + 1)).collect();
            format!("[{}]", elems.join(", "))
        }
    }
}

fn length(rng: &mut Rng, ty: &Ty, profile: Profile, depth: usize) -> usize {
    let last = ty.rank() == 1;
    match profile {
        Profile::NoRows if depth == 0 => 0,
        Profile::EmptyRows if last && depth > 0 => 0,
        Profile::Singletons => 1,
        Profile::GiantRow if last && rng.chance(if depth == 0 { 60 } else { 20 }) => {
            let most = if rng.chance(25) { 400 } else { 60 };
            20 + rng.below(most)
        }
        Profile::GiantRow => rng.below(4),
        // Rows of one length are matrices, short ones have constant lengths, others not.
        Profile::Regular => [4, 6, 2][depth.min(2)],
        _ if rng.chance(25) => 0,
        _ => rng.below(6),
    }
}

fn finite(rng: &mut Rng, p: Prim) -> String {
    match p.is_float() {
        true => format!("{:?}{p}", rng.between(-20, 40) as f64 / 4.0),
        false => scalar(rng, p),
    }
}

fn scalar(rng: &mut Rng, p: Prim) -> String {
    if p == Prim::Bool {
        return rng.chance(50).to_string();
    }
    if p.is_float() {
        return match rng.below(30) {
            0 => format!("{p}.nan"),
            1 => format!("{p}.inf"),
            _ => finite(rng, p),
        };
    }
    let bits = p.bits();
    let (low, high) = if p.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    let x = match rng.below(40) {
        0 => low,
        1 => high,
        _ => i128::from(rng.between(if p.is_signed() { -5 } else { 0 }, 9)),
    };
    format!("{x}{p}")
}
