//! The functions of the program by its symbol table, which has their crates where line tables alone
//! have not.

use std::fs::File;
use std::ops::Range;

use backtrace::SymbolName;
use object::elf::STT_FUNC;
use object::read::elf::{ElfFile64, Sym};
use object::read::{Object, ObjectSection, ObjectSegment, ReadCache};
use object::{Endianness, ReadRef};

use crate::os::modules::{self, LoadedCode};

/// The functions of the file that has gpuprof's code.
#[derive(Debug)]
pub(super) struct FunctionSymbols {
    /// The code in memory.
    code: Range<usize>,
    /// The table's address of what is at `code.start`.
    start: u64,
    /// By where they begin.
    functions: Vec<SymbolRange>,
    /// All names, each with a zero after it.
    names: Vec<u8>,
    /// The crates with a function `main`: the program's, unless it was renamed.
    crates_with_main: Vec<String>,
}

#[derive(Debug)]
struct SymbolRange {
    addresses: Range<u64>,
    /// Where it begins in `names`.
    name: usize,
}

impl FunctionSymbols {
    /// Reads the table of the file whose code is at `address`. `None` if it has none.
    pub(super) fn read(address: usize) -> Option<Self> {
        let code = modules::code_at(address)?;
        let cache = ReadCache::new(File::open(&code.file).ok()?);
        let mut table = Self::of_file(&cache, code, address)?;
        table.crates_with_main = table.find_crates_with_main();
        Some(table)
    }

    fn of_file<'a>(file: impl ReadRef<'a>, code: LoadedCode, address: usize) -> Option<Self> {
        let file = ElfFile64::<Endianness, _>::parse(file).ok()?;
        // A segment begins anywhere in a page, and what is mapped with the page.
        let inside = address.checked_sub(code.addresses.start)? as u64;
        let start = file
            .segments()
            .find_map(|segment| {
                let (offset, size) = segment.file_range();
                let of_segment = code.offset.checked_add(inside)?.checked_sub(offset)?;
                (of_segment < size).then(|| segment.address().wrapping_add(of_segment))
            })?
            .checked_sub(inside)?;
        let symbols = file.elf_symbol_table();
        let names = file.section_by_index(symbols.string_section()).ok()?;
        let endian = file.endian();
        let mut functions: Vec<_> = symbols
            .iter()
            .filter(|symbol| symbol.st_type() == STT_FUNC)
            .filter_map(|symbol| {
                let start = symbol.st_value(endian);
                Some(SymbolRange {
                    addresses: start..start.checked_add(symbol.st_size(endian))?,
                    name: symbol.st_name(endian) as usize,
                })
            })
            .collect();
        functions.sort_unstable_by_key(|function| function.addresses.start);
        Some(Self {
            code: code.addresses,
            start,
            functions,
            names: names.data().ok()?.to_vec(),
            crates_with_main: Vec::new(),
        })
    }

    /// The paths of the functions whose code is at an address; several may share it.
    pub(super) fn paths(&self, address: usize) -> Vec<String> {
        if !self.code.contains(&address) {
            return Vec::new();
        }
        let inside = address.saturating_sub(self.code.start) as u64;
        let address = self.start.wrapping_add(inside);
        let starts_before = |function: &SymbolRange| function.addresses.start <= address;
        let end = self.functions.partition_point(starts_before);
        let before = self.functions.get(..end).unwrap_or_default();
        let start = before.last().map(|function| function.addresses.start);
        let nearest = before.iter().rev();
        nearest
            .take_while(|function| Some(function.addresses.start) == start)
            .filter(|function| function.addresses.contains(&address))
            .filter_map(|function| self.path(function))
            .collect()
    }

    /// Whether the crate has a function `main`.
    pub(super) fn has_main(&self, krate: &str) -> bool {
        self.crates_with_main.iter().any(|of_main| of_main == krate)
    }

    fn find_crates_with_main(&self) -> Vec<String> {
        // As both forms of mangled names have it.
        let may_be_main = |name: &[u8]| name.windows(5).any(|part| part == b"4main");
        let functions = self.functions.iter();
        let may_be = functions.filter(|function| self.name(function).is_some_and(may_be_main));
        let crates = may_be.filter_map(|function| {
            let path = self.path(function)?;
            let krate = path.strip_suffix("::main")?;
            (!krate.contains("::")).then(|| krate.to_owned())
        });
        crates.collect()
    }

    fn name(&self, function: &SymbolRange) -> Option<&[u8]> {
        let rest = self.names.get(function.name..)?;
        rest.split(|byte| *byte == 0).next()
    }

    /// Without the hash.
    fn path(&self, function: &SymbolRange) -> Option<String> {
        let name = self.name(function)?;
        Some(format!("{:#}", SymbolName::new(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::FunctionSymbols;

    #[inline(never)]
    fn here() -> usize {
        here as *const () as usize
    }

    #[test]
    fn functions_have_the_paths_of_their_crates() {
        let table = FunctionSymbols::read(here()).expect("a symbol table");
        let paths = table.paths(here());
        let path = concat!(module_path!(), "::here").to_owned();
        assert!(paths.contains(&path), "{paths:?}");
        assert!(table.paths(1).is_empty() && table.paths(usize::MAX).is_empty());
        // The test harness has a `main` in the crate that it tests.
        assert!(table.has_main("gpuprof_runtime") && !table.has_main("cudarc"));
    }

    #[test]
    fn what_is_from_no_file_has_no_table() {
        assert!(FunctionSymbols::read(1).is_none());
    }
}
