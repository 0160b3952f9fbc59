//! The ELF note by which copies of gpuprof in one process find each other. `strip` leaves it.
//!
//! A copy is in the program, in a library that the program loads, or in the library that `gpuprof
//! run` injects. Each has a note of the name `gpuprof` and of type 2. Its description begins with
//! the distance from there to a [`Copy`]; the version follows as a text.

use std::arch::global_asm;
use std::ffi::{CStr, c_int, c_void};
#[cfg(feature = "inject")]
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a copy tells others.
#[repr(C)]
struct Copy {
    /// Not 0 while the copy was injected and measures.
    measures_injected: AtomicU32,
    /// For the injected copy, which does not measure if there is another one: starts what has to be
    /// there before the program loads its modules. Called inside `cuInit`.
    prepare: extern "C" fn(),
}

static OWN_COPY: Copy = Copy {
    measures_injected: AtomicU32::new(0),
    prepare,
};

extern "C" fn prepare() {
    // No panic leaves a C function.
    let _ = std::panic::catch_unwind(super::cupti_start::prepare_in_cu_init);
}

global_asm!(
    ".pushsection .note.gpuprof, \"a\", %note",
    ".balign 4",
    ".long 8",
    ".long 4f - 3f",
    ".long 2",
    ".asciz \"gpuprof\"",
    "3:",
    ".long {copy} - .",
    concat!(".asciz \"", env!("CARGO_PKG_VERSION"), "\""),
    "4:",
    ".balign 4",
    ".popsection",
    copy = sym OWN_COPY,
);

/// `n_type` of the note.
const TYPE: u32 = 2;
/// With the zero that ends it, as in the note.
const NAME: &CStr = c"gpuprof";

/// The other copies of gpuprof that this process has loaded.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherCopies {
    pub(crate) any: bool,
    /// See [`Copy::prepare`]; of the first one.
    #[cfg(feature = "inject")]
    pub(crate) prepare: Option<extern "C" fn()>,
    /// One of them was injected and measures.
    pub(crate) injected: bool,
}

/// From now on copies that are loaded later find that this one was injected and measures.
#[cfg(feature = "inject")]
pub(crate) fn note_injected() {
    OWN_COPY.measures_injected.store(INJECTED, Relaxed);
}

/// Its window is open, if it was noted as injected.
#[cfg(feature = "inject")]
pub(crate) fn note_started() {
    let _ = OWN_COPY
        .measures_injected
        .compare_exchange(INJECTED, STARTED, Release, Relaxed);
}

/// Whether this copy was injected, and its window is open.
#[cfg(feature = "inject")]
pub(crate) fn is_started() -> bool {
    OWN_COPY.measures_injected.load(Acquire) == STARTED
}

/// Whether this copy was injected and measures, or is about to.
#[cfg(feature = "inject")]
pub(crate) fn is_noted_as_injected() -> bool {
    OWN_COPY.measures_injected.load(Relaxed) != 0
}

/// Values of the number.
#[cfg(feature = "inject")]
const INJECTED: u32 = 1;
#[cfg(feature = "inject")]
const STARTED: u32 = 2;

/// Looks through all loaded objects.
pub(crate) fn other_copies() -> OtherCopies {
    let mut found = OtherCopies::default();
    // SAFETY: the callback gets the address of `found`, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

/// # Safety
/// Only `dl_iterate_phdr` may call it, with the address of an [`OtherCopies`].
unsafe extern "C" fn visit(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes a description that is valid for the time of the call.
    let Some(object) = (unsafe { object.as_ref() }) else {
        return 0;
    };
    // SAFETY: as the caller promises; nothing else refers to it meanwhile.
    let Some(found) = (unsafe { found.cast::<OtherCopies>().as_mut() }) else {
        return 0;
    };
    if object.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader keeps the headers of a loaded object.
    let headers =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    for header in headers.iter().filter(|one| is_loaded(one, headers)) {
        // The sum wraps for objects that were linked for a higher address than they have.
        let start = object.dlpi_addr.wrapping_add(header.p_vaddr) as *const u8;
        // SAFETY: the notes are inside a readable segment that the loader has loaded, and nothing
        // is unloaded during the visit.
        let notes = unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) };
        if let Some(other) = copy(notes, header.p_align as usize) {
            found.add(other);
        }
    }
    0
}

/// Whether it is a segment of notes, and inside a readable segment that is loaded.
fn is_loaded(notes: &libc::Elf64_Phdr, headers: &[libc::Elf64_Phdr]) -> bool {
    let end = |header: &libc::Elf64_Phdr| header.p_vaddr.checked_add(header.p_memsz);
    let contains = |loaded: &libc::Elf64_Phdr| {
        loaded.p_type == libc::PT_LOAD
            && loaded.p_flags & libc::PF_R != 0
            && loaded.p_vaddr <= notes.p_vaddr
            && end(notes).is_some_and(|notes| end(loaded).is_some_and(|end| notes <= end))
    };
    notes.p_type == libc::PT_NOTE && headers.iter().any(contains)
}

impl OtherCopies {
    /// A copy that is described at this address.
    fn add(&mut self, copy: *const Copy) {
        if copy == &raw const OWN_COPY {
            return;
        }
        self.any = true;
        // SAFETY: the note states where it is in the same loaded object, and the loader unloads
        // nothing while it is visited.
        let Some(copy) = (unsafe { copy.as_ref() }) else {
            return;
        };
        self.injected |= copy.measures_injected.load(Relaxed) != 0;
        #[cfg(feature = "inject")]
        self.prepare.get_or_insert(copy.prepare);
    }
}

/// The address of a [`Copy`], if one of the `notes` is gpuprof's.
fn copy(mut notes: &[u8], align: usize) -> Option<*const Copy> {
    // 8 for the notes of x86 properties, and 4, or 0 or 1 for it, otherwise.
    let align = align.max(4);
    loop {
        let name_len = number(notes, 0)? as usize;
        let description_len = number(notes, 4)? as usize;
        let name = notes.get(12..)?.get(..name_len)?;
        let description_at = (12 + name_len).next_multiple_of(align);
        let description = notes.get(description_at..)?;
        if name == NAME.to_bytes_with_nul() && number(notes, 8)? == TYPE {
            let distance = number(description, 0)?.cast_signed();
            return Some(
                description
                    .as_ptr()
                    .wrapping_offset(distance as isize)
                    .cast(),
            );
        }
        notes = description.get(description_len.next_multiple_of(align)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [name.len() as u32, description.len() as u32, kind] {
            note.extend(number.to_ne_bytes());
        }
        for part in [name, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn the_note_is_found_among_others() {
        let others = [note(b"GNU\0", 3, &[7; 20]), note(b"gpuprof\0", 1, &[1; 4])].concat();
        assert_eq!(copy(&others, 4), None);
        let own = note(b"gpuprof\0", TYPE, &(-4_i32).to_ne_bytes());
        let all = [others.as_slice(), &own].concat();
        let expected = all.as_ptr().wrapping_add(others.len() + 20 - 4);
        assert_eq!(copy(&all, 1), Some(expected.cast()));
        // Cut off, or with a length beyond the end.
        for len in 0..own.len() {
            assert_eq!(copy(&own[..len], 4), None, "{len}");
        }
        assert_eq!(copy(&[0xff; 40], 4), None);
    }

    #[test]
    fn only_notes_that_are_loaded_are_read() {
        let header = |kind, flags, address, size| {
            // SAFETY: all fields are integers, for which zero is a value.
            let mut header: libc::Elf64_Phdr = unsafe { std::mem::zeroed() };
            (header.p_type, header.p_flags) = (kind, flags);
            (header.p_vaddr, header.p_memsz) = (address, size);
            header
        };
        let notes = |address, size| header(libc::PT_NOTE, libc::PF_R, address, size);
        let loaded = header(libc::PT_LOAD, libc::PF_R, 0x1000, 0x100);
        let hidden = header(libc::PT_LOAD, 0, 0x2000, 0x100);
        let is_loaded = |notes| super::is_loaded(&notes, &[loaded, hidden, notes]);
        assert!(is_loaded(notes(0x1000, 0x100)) && is_loaded(notes(0x10f0, 0x10)));
        for outside in [notes(0xff0, 0x20), notes(0x10f0, 0x11), notes(0x2000, 8)] {
            assert!(!is_loaded(outside));
        }
        assert!(!is_loaded(notes(u64::MAX, 2)) && !is_loaded(loaded));
    }

    #[test]
    fn this_copy_is_no_other() {
        assert!(!other_copies().any);
        let mut found = OtherCopies::default();
        found.add(&raw const OWN_COPY);
        assert!(!found.any);
        let other = Copy {
            measures_injected: AtomicU32::new(0),
            prepare,
        };
        found.add(&raw const other);
        assert_eq!((found.any, found.injected), (true, false));
        other.measures_injected.store(1, Relaxed);
        found.add(&raw const other);
        assert!(found.injected);
    }
}
