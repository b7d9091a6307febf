use super::giant::{self, GIANT};
use super::row::{self, Key, Row};
use super::short::SHORT;
use super::*;
use crate::exec::Desc;
use std::sync::Arc;

/// Numbers that look random.
fn numbers(n: usize, bits: u32) -> Vec<u64> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) & (u64::MAX >> (64 - bits))
    };
    (0..n).map(|_| next()).collect()
}

/// The places of the keys in ascending order, by the library's stable sort; what cannot be compared is behind all others.
fn expected<K: PartialOrd + Copy>(keys: &[K]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    let is_nan = |x: K| x.partial_cmp(&x).is_none();
    order.sort_by(|i, j| {
        let (x, y) = (keys[*i as usize], keys[*j as usize]);
        x.partial_cmp(&y).unwrap_or_else(|| is_nan(x).cmp(&is_nan(y)))
    });
    order
}

fn sorted<K: Key>(keys: &[K], offsets: &[i64], threads: usize, own: bool) -> Vec<u32> {
    let places: Vec<u32> = (0..keys.len() as u32).collect();
    let (keys, values) = (Array::from_slice(keys), Array::from_slice(&places));
    let held = (!own).then(|| (keys.clone(), values.clone()));
    let rows = Rows::Ragged(Arc::new(Desc::new(Array::from_slice(offsets))));
    let bounds = Bounds::new(&rows, keys.len());
    let mut columns = Columns::new(keys, Some(values), &bounds).expect("memory");
    columns.sort(threads, &bounds);
    drop(held);
    columns.values.expect("there are values").to.slice::<u32>().to_vec()
}

fn check<K: Key + PartialOrd>(keys: &[K], offsets: &[i64]) {
    let mut wanted = Vec::new();
    for row in offsets.windows(2) {
        let order = expected(&keys[row[0] as usize..row[1] as usize]);
        wanted.extend(order.into_iter().map(|i| i + row[0] as u32));
    }
    for (threads, own) in [(1, false), (2, true), (3, false), (1, true)] {
        assert_eq!(sorted(keys, offsets, threads, own), wanted, "{threads} {own}");
    }
}

#[test]
fn rows_of_all_lengths() {
    let lengths =
        [0usize, 1, 2, 19, 20, 21, 40, 0, 41, 159, 160, 161, 1000, 5000, GIANT, GIANT + 1, 3, 3 * GIANT, 0];
    let offsets: Vec<i64> = lengths
        .iter()
        .scan(0, |sum, n| {
            *sum += *n as i64;
            Some(*sum)
        })
        .collect();
    let offsets: Vec<i64> = std::iter::once(0).chain(offsets).collect();
    let n = offsets[lengths.len()] as usize;
    for bits in [1, 5, 12, 31, 64] {
        let keys = numbers(n, bits);
        check(&keys, &offsets);
        check(&keys.iter().map(|k| *k as u32).collect::<Vec<_>>(), &offsets);
        check(&keys.iter().map(|k| (*k * 3) as u16).collect::<Vec<_>>(), &offsets);
        check(&keys.iter().map(|k| *k as u8).collect::<Vec<_>>(), &offsets);
    }
}

/// Offsets of rows of up to `most` elements.
fn short_offsets(rows: usize, most: usize) -> Vec<i64> {
    let lengths = numbers(rows, 8).into_iter().map(|n| n as i64 % (most as i64 + 1));
    let ends = lengths.scan(0, |sum, n| {
        *sum += n;
        Some(*sum)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Keys of every type, with what is special of floats among them.
fn check_all_types(numbers: &[u64], offsets: &[i64]) {
    let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1.5];
    let float = |k: &u64| match special.get((*k % 24) as usize) {
        Some(x) => *x,
        None => (*k as i64 as f64) / 7.0,
    };
    let floats: Vec<f64> = numbers.iter().map(float).collect();
    check(&floats, offsets);
    check(&floats.iter().map(|x| *x as f32).collect::<Vec<_>>(), offsets);
    check(&floats.iter().map(|x| f16::from_f64(*x)).collect::<Vec<_>>(), offsets);
    check(numbers, offsets);
    check(&numbers.iter().map(|k| *k as u32).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as u16).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as u8).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as i64).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as i32).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as i16).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| *k as i8).collect::<Vec<_>>(), offsets);
    check(&numbers.iter().map(|k| k % 2 == 1).collect::<Vec<_>>(), offsets);
}

#[test]
fn keys_of_all_types() {
    for (rows, most) in [(100, 9), (40, 2 * SHORT), (7, 400)] {
        let offsets = short_offsets(rows, most);
        let keys = numbers(offsets[rows] as usize, 64);
        check_all_types(&keys, &offsets);
    }
    let n = GIANT + 100;
    check_all_types(&numbers(n, 64), &[0, n as i64]);
}

#[test]
fn numbers_have_the_order_of_keys() {
    let special =
        [f64::NEG_INFINITY, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, f64::INFINITY, f64::NAN, -f64::NAN];
    for (x, y) in special.iter().flat_map(|x| special.iter().map(move |y| (*x, *y))) {
        assert_eq!(x.is_before(y), x.wide() < y.wide(), "{x} {y}");
        let (x, y) = (x as f32, y as f32);
        assert_eq!(x.is_before(y), x.wide() < y.wide(), "{x} {y}");
        let (x, y) = (f16::from_f32(x), f16::from_f32(y));
        assert_eq!(x.is_before(y), x.wide() < y.wide(), "{x} {y}");
    }
    for (x, y) in [(i64::MIN, -1), (-1, 0), (0, 1), (1, i64::MAX), (3, 3)] {
        assert_eq!(x.is_before(y), x.wide() < y.wide());
        assert_eq!((x as i8).is_before(y as i8), (x as i8).wide() < (y as i8).wide());
    }
}

#[test]
fn short_rows() {
    for most in 1..=SHORT + 1 {
        for rows in [1, BATCH - 1, BATCH, 5 * BATCH + 3] {
            let offsets = short_offsets(rows, most);
            let keys = numbers(offsets[rows] as usize, 2);
            check(&keys, &offsets);
            check(&keys.iter().map(|k| *k as u8).collect::<Vec<_>>(), &offsets);
        }
        let offsets: Vec<i64> = (0..=3 * BATCH as i64).map(|row| row * most as i64).collect();
        let keys: Vec<u32> = numbers(3 * BATCH * most, 32).iter().map(|k| *k as u32).collect();
        check(&keys, &offsets);
    }
}

#[test]
fn buckets_of_very_different_sizes() {
    let n = 4 * GIANT;
    // Most keys agree but in their lowest bits, some in their highest.
    let mut keys: Vec<u64> = numbers(n, 9).iter().map(|k| k | 5 << 40).collect();
    (0..n).step_by(1000).for_each(|i| keys[i] = (i as u64) << 33);
    check(&keys, &[0, n as i64]);
    check(&vec![9u32; n], &[0, n as i64]);
    let one_differs: Vec<u32> = (0..n as u32).map(|i| if i == 77 { 1 << 31 } else { 8 }).collect();
    check(&one_differs, &[0, n as i64]);
}

#[test]
fn without_values() {
    let n = 2 * GIANT;
    let mut keys: Vec<u32> = numbers(n, 32).iter().map(|k| *k as u32).collect();
    let array = Array::from_slice(&keys);
    let bounds = Bounds::Uniform(1, n);
    let mut columns = Columns::new(array, None, &bounds).expect("memory");
    columns.sort(2, &bounds);
    keys.sort();
    assert_eq!(columns.keys.to.slice::<u32>(), keys);
}

#[test]
fn chunks_cover_all_rows() {
    let offsets = [0, 3, 3, 3 + GIANT as i64 + 1, 4 + GIANT as i64 * 2, 9000 + GIANT as i64 * 2];
    let chunks = Bounds::Ragged(&offsets).chunks();
    assert_eq!(chunks, [0..2, 2..3, 3..4, 4..5]);
    assert!(Bounds::Ragged(&[0]).chunks().is_empty());
}

#[test]
fn the_result_is_where_it_is_wanted() {
    for n in [10, 100, 300, GIANT + 5] {
        for to_other in [false, true] {
            let keys: Vec<u32> = numbers(n, 20).iter().map(|k| *k as u32).collect();
            let (mut here, mut there) = (keys.clone(), vec![0; n]);
            let (mut none, mut nothing) = (vec![(); n], vec![(); n]);
            let row = Row { keys: &mut here, values: &mut none };
            let other = Row { keys: &mut there, values: &mut nothing };
            if n > GIANT {
                giant::sort(2, row, other, 32, to_other);
            } else {
                row::sort(row, other, 32, to_other);
            }
            let mut wanted = keys;
            wanted.sort();
            assert_eq!(if to_other { there } else { here }, wanted, "{n}");
        }
    }
}
