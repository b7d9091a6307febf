//! Errors that all ranks have.

use super::{Dist, lost};
use crate::check::{ErrorKind, RuntimeError, Span};
use std::cmp::Ordering;

/// Position of an error that no position has.
const NOWHERE: i64 = i64::MAX - 1;
/// No error.
const NONE: i64 = i64::MAX;
/// Bytes from which an operation asks for so much memory that one rank may have it and another one not.
const LARGE: usize = 1 << 20;

const KINDS: [ErrorKind; 5] = [
    ErrorKind::Failed,
    ErrorKind::TooDeep,
    ErrorKind::OutOfMemory,
    ErrorKind::Cancelled,
    ErrorKind::Internal,
];

impl Dist {
    /// The result of what every rank does by itself and may fail at on some ranks only, if it asks for so many bytes.
    pub fn settle<T>(&self, bytes: usize, result: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        if bytes < LARGE && !self.is_limited {
            return result;
        }
        match result {
            Ok(x) => self.agree(None).map(|()| x),
            Err(e) => Err(self.agree(Some((NOWHERE, e.clone()))).err().unwrap_or(e)),
        }
    }

    /// Fails on all ranks if it fails on one: with the error at the smallest position.
    pub fn agree(&self, own: Option<(i64, RuntimeError)>) -> Result<(), RuntimeError> {
        let pos = own.as_ref().map_or(NONE, |(pos, _)| (*pos).min(NOWHERE));
        let all = self.ranks.all_gather_number(pos as u64).map_err(lost)?;
        let first = all.iter().enumerate().min_by(|a, b| match (*a.1 as i64).cmp(&(*b.1 as i64)) {
            Ordering::Equal => a.0.cmp(&b.0),
            order => order,
        });
        match first {
            Some((rank, pos)) if *pos as i64 != NONE => Err(self.told(rank, own.map(|(_, e)| e))?),
            _ => Ok(()),
        }
    }

    /// The error of one rank.
    fn told(&self, rank: usize, own: Option<RuntimeError>) -> Result<RuntimeError, RuntimeError> {
        let is_own = rank == self.ranks.rank();
        let mut bytes = match own.filter(|_| is_own) {
            Some(e) => written(&e),
            None => Vec::new(),
        };
        let mut len = (bytes.len() as u64).to_le_bytes();
        self.ranks.broadcast(rank, &mut len).map_err(lost)?;
        bytes.resize(u64::from_le_bytes(len) as usize, 0);
        self.ranks.broadcast(rank, &mut bytes).map_err(lost)?;
        Ok(read(&bytes))
    }
}

fn written(e: &RuntimeError) -> Vec<u8> {
    let kind = KINDS.iter().position(|k| *k == e.kind).unwrap_or(0) as u8;
    let span = e.span.unwrap_or_default();
    let mut bytes = vec![kind, u8::from(e.span.is_some())];
    [span.file, span.start, span.end].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(e.message.as_bytes());
    bytes
}

fn read(bytes: &[u8]) -> RuntimeError {
    let number = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[2 + 4 * i + k]));
    let span = Span { file: number(0), start: number(1), end: number(2) };
    RuntimeError {
        kind: KINDS[usize::from(bytes[0]).min(KINDS.len() - 1)],
        span: (bytes[1] != 0).then_some(span),
        ..RuntimeError::plain(String::from_utf8_lossy(&bytes[14..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_arrive_as_they_were() {
        let span = Some(Span { file: 1, start: 70_000, end: 80_000 });
        for kind in KINDS {
            let e = RuntimeError { kind, span, ..RuntimeError::plain("größer") };
            assert_eq!(read(&written(&e)), e);
        }
        let e = RuntimeError::internal("a mistake");
        assert_eq!(read(&written(&e)), e);
    }
}
