//! Places in a text: bytes in Par, UTF-16 code units in JavaScript.

/// The byte at a code unit; behind the last one the end of the text.
pub fn byte(text: &str, unit: usize) -> u32 {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        if units >= unit {
            return at as u32;
        }
        units += c.len_utf16();
    }
    text.len() as u32
}

/// The code unit at a byte.
pub fn unit(text: &str, byte: u32) -> usize {
    let end = text.floor_char_boundary((byte as usize).min(text.len()));
    text[..end].chars().map(char::len_utf16).sum()
}
