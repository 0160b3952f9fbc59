//! What a cubin's sections say. Without the feature `cupti` none is read.

/// What the section of a kernel's code is called, before its symbol.
#[cfg(feature = "cupti")]
const CODE: &str = ".text.";
/// The section with the source line of each instruction.
#[cfg(feature = "cupti")]
const LINES: &str = ".debug_line";

/// Whether the module was compiled with line information.
#[cfg(feature = "cupti")]
pub(super) fn has_lines(cubin: &[u8]) -> bool {
    section(cubin, LINES).is_some_and(|lines| !lines.is_empty())
}

/// The instructions of a kernel.
#[cfg(feature = "cupti")]
pub(super) fn code<'a>(cubin: &'a [u8], symbol: &str) -> Option<&'a [u8]> {
    section(cubin, &format!("{CODE}{symbol}"))
}

#[cfg(feature = "cupti")]
fn section<'a>(cubin: &'a [u8], name: &str) -> Option<&'a [u8]> {
    use object::read::elf::ElfFile64;
    use object::{Endianness, Object as _, ObjectSection as _};

    let file = ElfFile64::<Endianness>::parse(cubin).ok()?;
    file.section_by_name(name)?.data().ok()
}

#[cfg(not(feature = "cupti"))]
pub(super) fn has_lines(_: &[u8]) -> bool {
    false
}

#[cfg(not(feature = "cupti"))]
pub(super) fn code<'a>(_: &'a [u8], _: &str) -> Option<&'a [u8]> {
    None
}
