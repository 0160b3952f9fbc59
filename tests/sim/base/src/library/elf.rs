//! Hides a function in the image of a 64-bit ELF library (System V ABI, Object Files).

/// `SHT_DYNSYM`.
const DYNSYM: usize = 11;
const SECTION_HEADER_SIZE: usize = 64;
const SYMBOL_SIZE: usize = 24;

/// Removes `name` from the dynamic symbol table: its symbol gets the empty name at the start of the
/// string table. `None` if there is no such symbol.
pub(super) fn hide(image: &mut [u8], name: &str) -> Option<()> {
    let sections = read(image, 0x28, 8)?;
    let count = read(image, 0x3c, 2)?;
    let header = |index: usize| sections + index * SECTION_HEADER_SIZE;
    let symbols = (0..count)
        .map(header)
        .find(|header| read(image, header + 4, 4) == Some(DYNSYM))?;
    let (start, size) = (read(image, symbols + 24, 8)?, read(image, symbols + 32, 8)?);
    let strings = read(image, header(read(image, symbols + 40, 4)?) + 24, 8)?;
    let mut entries = (start..start + size).step_by(SYMBOL_SIZE);
    let entry = entries.find(|entry| {
        let text = read(image, *entry, 4).and_then(|offset| image.get(strings + offset..));
        text.is_some_and(|text| {
            text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
        })
    })?;
    image.get_mut(entry..entry + 4)?.fill(0);
    Some(())
}

/// The little-endian number of `len` bytes at `offset`.
fn read(image: &[u8], offset: usize, len: usize) -> Option<usize> {
    let bytes = image.get(offset..offset.checked_add(len)?)?;
    bytes.iter().rev().try_fold(0_usize, |value, byte| {
        value.checked_mul(256)?.checked_add(usize::from(*byte))
    })
}
