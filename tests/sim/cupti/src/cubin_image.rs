//! The code of a kernel, and the image of a module: an ELF file for CUDA with one section of code
//! for each kernel.

use crate::abi::Text;

/// An instruction of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Its 16 bytes, the lower ones first.
    pub word: [u64; 2],
    /// The path of the source file with its folder, and the line; `None` without line information.
    pub line: Option<(&'a str, u32)>,
}

/// The same as a C type. The path is null without line information.
#[repr(C)]
pub(crate) struct GivenInstruction {
    pub(crate) word: [u64; 2],
    pub(crate) path: Text,
    pub(crate) line: u32,
}

/// The same in the library.
#[derive(Clone, Debug)]
pub(crate) struct StoredInstruction {
    pub(crate) word: [u64; 2],
    pub(crate) line: Option<(String, u32)>,
}

impl From<&GivenInstruction> for StoredInstruction {
    fn from(given: &GivenInstruction) -> StoredInstruction {
        let path = given.path.get();
        StoredInstruction {
            word: given.word,
            line: path.map(|path| (path.to_owned(), given.line)),
        }
    }
}

/// Bytes of an instruction.
pub(crate) const INSTRUCTION_BYTES: u64 = 16;

/// A kernel and its code.
pub(crate) struct KernelCode {
    pub(crate) name: String,
    pub(crate) code: Vec<StoredInstruction>,
    /// The index of its symbol in the image.
    pub(crate) symbol: u32,
}

/// The code of kernels without code of their own: instructions that do nothing, without lines.
pub(crate) fn default_code() -> Vec<StoredInstruction> {
    let nothing = StoredInstruction {
        word: [0x7918, 0x000f_c000_0000_0000],
        line: None,
    };
    vec![nothing; 4]
}

const HEADER_BYTES: usize = 64;
const SECTION_BYTES: usize = 64;
const EM_CUDA: u16 = 190;
/// Of sm_90.
const FLAGS: u32 = 0x005a_055a;

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const ALLOCATED_CODE: u64 = 6;

struct Section {
    name: String,
    kind: u32,
    flags: u64,
    content: Vec<u8>,
    /// `sh_link` and `sh_info`.
    link: [u32; 2],
    /// `sh_entsize`.
    entry_bytes: u64,
}

impl Section {
    fn new(name: &str, kind: u32, content: Vec<u8>) -> Section {
        Section {
            name: name.to_owned(),
            kind,
            flags: 0,
            content,
            link: [0; 2],
            entry_bytes: 0,
        }
    }
}

/// The image of a module with these kernels.
pub(crate) fn build(kernels: &[KernelCode]) -> Vec<u8> {
    let mut names = vec![0];
    // Symbol 0 is none.
    let mut symbols = vec![0; 24];
    let mut sections = vec![Section::new("", 0, Vec::new())];
    for (index, kernel) in kernels.iter().enumerate() {
        let code: Vec<u8> = kernel
            .code
            .iter()
            .flat_map(|instruction| instruction.word)
            .flat_map(u64::to_le_bytes)
            .collect();
        // Name, a global function (0x12), its section, offset and size.
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend([0x12, 0x10]);
        symbols.extend((index as u16 + 1).to_le_bytes());
        symbols.extend(0_u64.to_le_bytes());
        symbols.extend((code.len() as u64).to_le_bytes());
        names.extend(kernel.name.bytes().chain([0]));
        let mut section = Section::new(&format!(".text.{}", kernel.name), PROGBITS, code);
        section.flags = ALLOCATED_CODE;
        sections.push(section);
    }
    let lines = lines(kernels);
    if !lines.is_empty() {
        sections.push(Section::new(".debug_line", PROGBITS, lines.clone()));
        sections.push(Section::new(".nv_debug_line_sass", PROGBITS, lines));
    }
    let strings = sections.len() as u32;
    sections.push(Section::new(".strtab", STRTAB, names));
    let mut section = Section::new(".symtab", SYMTAB, symbols);
    // Symbol 1 is the first that is not local.
    section.link = [strings, 1];
    section.entry_bytes = 24;
    sections.push(section);
    sections.push(Section::new(".shstrtab", STRTAB, Vec::new()));
    write(&mut sections)
}

/// The lines of all instructions that have one. The content is the simulator's own.
fn lines(kernels: &[KernelCode]) -> Vec<u8> {
    let mut text = String::new();
    for kernel in kernels {
        for (index, instruction) in kernel.code.iter().enumerate() {
            if let Some((path, line)) = &instruction.line {
                text += &format!("{} {index} {path}:{line}\n", kernel.name);
            }
        }
    }
    text.into_bytes()
}

/// Writes the header, the sections' content and their table. The last section gets the sections'
/// names.
fn write(sections: &mut [Section]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut name_offsets = Vec::new();
    for section in sections.iter() {
        name_offsets.push(names.len() as u32);
        names.extend(section.name.bytes().chain([0]));
    }
    if let Some(last) = sections.last_mut() {
        last.content = names;
    }
    let mut image = vec![0; HEADER_BYTES];
    let mut table = Vec::with_capacity(sections.len() * SECTION_BYTES);
    for (section, name) in sections.iter().zip(name_offsets) {
        image.resize(image.len().next_multiple_of(16), 0);
        table.extend(name.to_le_bytes());
        table.extend(section.kind.to_le_bytes());
        let (offset, bytes) = (image.len() as u64, section.content.len() as u64);
        for field in [section.flags, 0, offset, bytes] {
            table.extend(field.to_le_bytes());
        }
        table.extend(section.link.into_iter().flat_map(u32::to_le_bytes));
        table.extend(16_u64.to_le_bytes());
        table.extend(section.entry_bytes.to_le_bytes());
        image.extend(&section.content);
    }
    image.resize(image.len().next_multiple_of(16), 0);
    let header = header(image.len() as u64, sections.len() as u16);
    image[..HEADER_BYTES].copy_from_slice(&header);
    image.extend(table);
    image
}

/// The header of a 64-bit little-endian executable; its sections' names are in the last section.
fn header(table: u64, sections: u16) -> Vec<u8> {
    // The class, the byte order, the version, and CUDA's ABI with its version.
    let mut header = b"\x7fELF\x02\x01\x01\x33\x07".to_vec();
    header.resize(16, 0);
    header.extend([2_u16, EM_CUDA].map(u16::to_le_bytes).concat());
    header.extend(1_u32.to_le_bytes());
    header.extend([0_u64, 0, table].map(u64::to_le_bytes).concat());
    header.extend(FLAGS.to_le_bytes());
    let sizes = [HEADER_BYTES as u16, 0, 0, SECTION_BYTES as u16];
    header.extend(sizes.map(u16::to_le_bytes).concat());
    header.extend([sections, sections - 1].map(u16::to_le_bytes).concat());
    header
}
