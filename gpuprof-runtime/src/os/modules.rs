//! The program and the libraries that it has loaded.

use std::ffi::{CStr, OsStr, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where the library or program begins that has something at `address`. `None` if none has.
pub(crate) fn base_of(address: usize) -> Option<usize> {
    Some(description(address)?.dli_fbase as usize)
}

/// The path of the library that has something at `address`, as it was loaded; what the program was
/// called by if that has it. `None` if none has.
pub(crate) fn file_of(address: usize) -> Option<PathBuf> {
    let name = description(address)?.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: it is the name of a library, which is not unloaded meanwhile: its code is used.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}

fn description(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all fields are integers and raw pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the call accepts any address, and `info` is valid for a write.
    let found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) } != 0;
    found.then_some(info)
}

/// The addresses of code whose file was deleted or replaced since it was loaded. A file of which
/// only the content was changed is not noticed.
pub(crate) fn replaced_code() -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps");
    deleted_code(&maps.unwrap_or_default())
}

/// Code that was loaded from a file.
#[cfg(feature = "cupti")]
#[derive(Debug)]
pub(crate) struct LoadedCode {
    pub(crate) addresses: Range<usize>,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    pub(crate) file: PathBuf,
}

/// The code around an address. `None` if it is from no file.
#[cfg(feature = "cupti")]
pub(crate) fn code_at(address: usize) -> Option<LoadedCode> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut code = maps.lines().filter_map(loaded_file);
    code.find(|code| code.addresses.contains(&address))
}

/// From the first to the last code of the program or library that has something at an address, of
/// which there may be several parts; none if no file has.
#[cfg(feature = "cupti")]
pub(crate) fn code_span(address: usize) -> Range<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let code = maps.lines().filter(|mapping| is_code(mapping));
    let code: Vec<LoadedCode> = code.filter_map(loaded_file).collect();
    let here = code.iter().find(|code| code.addresses.contains(&address));
    here.map_or(0..0, |here| {
        let parts = code.iter().filter(|part| part.file == here.file);
        parts.fold(here.addresses.clone(), |span, part| {
            span.start.min(part.addresses.start)..span.end.max(part.addresses.end)
        })
    })
}

/// What a line of the mappings has of a file.
#[cfg(feature = "cupti")]
fn loaded_file(mapping: &str) -> Option<LoadedCode> {
    // Range, rights, offset, device, inode, path.
    let mut fields = mapping.splitn(6, ' ');
    let addresses = range(fields.next()?)?;
    let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
    let file = fields.nth(2)?.trim_start();
    file.starts_with('/').then(|| LoadedCode {
        addresses,
        offset,
        file: PathBuf::from(file),
    })
}

/// Whether a mapping may be executed.
fn is_code(mapping: &str) -> bool {
    let rights = mapping.split_once(' ').and_then(|(_, rest)| rest.get(..4));
    rights.is_some_and(|rights| rights.contains('x'))
}

/// Without the feature `cupti` there are no stacks.
#[cfg(not(feature = "cupti"))]
pub(crate) fn code_span(_: usize) -> Range<usize> {
    0..0
}

/// The addresses of a mapping.
fn range(text: &str) -> Option<Range<usize>> {
    let (start, end) = text.split_once('-')?;
    let parse = |address| usize::from_str_radix(address, 16).ok();
    Some(parse(start)?..parse(end)?)
}

/// By the mark that the kernel adds to the path of a file that is not in its folder any more. To
/// compare device and inode instead would find differences on file systems in layers, which report
/// others to `stat` than in the list of mappings.
fn deleted_code(maps: &str) -> Vec<Range<usize>> {
    let ranges = maps.lines().filter_map(|mapping| {
        let (addresses, rest) = mapping.split_once(' ')?;
        // Files in memory, such as compiled code, never are in a folder.
        let is_deleted = rest.ends_with(" (deleted)") && !rest.contains(" /memfd:");
        let addresses = range(addresses)?;
        (is_code(mapping) && is_deleted).then_some(addresses)
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::{base_of, deleted_code, replaced_code};

    #[test]
    fn code_of_deleted_files_is_found_by_the_mark_of_the_kernel() {
        let maps = "\
1000-2000 r--p 00000000 fe:00 7                     /tmp/app (deleted)
2000-5000 r-xp 00002000 fe:00 7                     /tmp/app (deleted)
7f00-7f80 r-xp 00000000 fe:00 8                     /usr/lib/one.so
8000-8800 r-xp 00000000 00:01 9                     /memfd:jit (deleted)
9000-9800 r-xp 00000000 00:00 0
";
        let code = deleted_code(maps);
        assert!(code.iter().eq([&(0x2000..0x5000)]), "{code:x?}");
        assert!(replaced_code().is_empty());
    }

    #[cfg(feature = "cupti")]
    #[test]
    fn code_is_from_the_file_of_the_program() {
        use super::{code_at, code_span};

        let here = other as *const () as usize;
        let code = code_at(here).expect("code");
        assert!(code.addresses.contains(&here));
        assert_eq!(Some(code.file), std::env::current_exe().ok());
        assert!(code_at(Box::new(7).as_ref() as *const i32 as usize).is_none());
        assert!(code_at(1).is_none());
        let span = code_span(here);
        assert!(span.start <= code.addresses.start && code.addresses.end <= span.end);
        assert!(!span.contains(&(libc::getpid as *const () as usize)));
        assert!(code_span(1).is_empty());
    }

    fn other() {}

    #[test]
    fn functions_of_one_library_have_one_base_and_data_on_the_heap_has_none() {
        let here = base_of(base_of as *const () as usize);
        assert!(here.is_some());
        assert_eq!(here, base_of(other as *const () as usize));
        assert_ne!(here, base_of(libc::getpid as *const () as usize));
        assert_eq!(base_of(Box::new(7).as_ref() as *const i32 as usize), None);
    }
}
