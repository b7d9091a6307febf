//! Copies of bytes.

/// Bytes of a part: fewer than those from which glibc's `memcpy` takes `rep movsb`.
const PART: usize = 31 * 64;
/// Bytes up to which vectors are as fast as anything.
const MOST: usize = 1 << 18;

/// Copies bytes. Those that fit into the second cache are copied in parts: `rep movsb`, which some versions of glibc take for them, is 4 times as slow on processors of AMD where
/// source and destination are not equally far from the beginnings of their pages.
///
/// # Safety
///
/// As `std::ptr::copy_nonoverlapping`.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    let part = if bytes > MOST { bytes } else { PART };
    let mut at = 0;
    while at < bytes {
        let count = part.min(bytes - at);
        // SAFETY: a part of what the caller gives.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), count) };
        at += count;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_bytes_are_copied() {
        for n in [0, 1, super::PART - 1, super::PART, super::PART + 1, 5 * super::PART + 7, super::MOST + 3] {
            let from: Vec<u8> = (0..n).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut to = vec![0; n + 2];
            // SAFETY: both have as many bytes.
            unsafe { super::copy(from.as_ptr(), to.as_mut_ptr().add(1), n) };
            assert_eq!((to[0], &to[1..=n], to[n + 1]), (0, &from[..], 0), "{n} bytes");
        }
    }
}
