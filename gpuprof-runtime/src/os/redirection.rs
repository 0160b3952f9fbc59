//! Redirects the calls of a library's function to another one, by a jump over its first bytes.
//!
//! Calls reach a function by the loader's tables and by `dlsym`: only its code is on the way of
//! both.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::AtomicU16;
#[cfg(target_arch = "aarch64")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

#[cfg(target_arch = "x86_64")]
const JUMP: &[u8] = &[0xff, 0x25, 0, 0, 0, 0]; // jmp *0(%rip)
#[cfg(target_arch = "x86_64")]
const WAIT: Begin = 0xfeeb; // jmp .
#[cfg(target_arch = "x86_64")]
type Begin = u16;
#[cfg(target_arch = "x86_64")]
type AtomicBegin = AtomicU16;
#[cfg(target_arch = "aarch64")]
const JUMP: &[u8] = &[0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6]; // ldr x16, #8; br x16
#[cfg(target_arch = "aarch64")]
const WAIT: Begin = 0x1400_0000; // b .
#[cfg(target_arch = "aarch64")]
type Begin = u32;
#[cfg(target_arch = "aarch64")]
type AtomicBegin = AtomicU32;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the jump of this processor is unknown");

/// The jump and the address that it goes to.
const BYTES: usize = JUMP.len() + size_of::<usize>();

/// `dladdr1` finds the entry of the symbol table.
const RTLD_DL_SYMENT: c_int = 1;

/// A function whose calls go elsewhere until it is [removed](Self::remove).
#[derive(Debug)]
pub(crate) struct Redirection {
    function: usize,
    original: [u8; BYTES],
}

impl Redirection {
    /// Has the calls of `function` go to `target`.
    ///
    /// # Errors
    /// It is no function of a loaded library, is shorter than a jump, or the system does not let
    /// its code be written to, as SELinux may.
    ///
    /// # Safety
    /// The library stays loaded, `target` has the signature of `function`, and no thread is inside
    /// the first bytes of `function`.
    pub(crate) unsafe fn install(
        function: *const c_void,
        target: *const c_void,
    ) -> io::Result<Self> {
        let is_aligned = (function as usize).is_multiple_of(align_of::<AtomicBegin>());
        if !is_aligned || size_of_function(function).is_none_or(|bytes| bytes < BYTES) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut jump = [0; BYTES];
        let (code, address) = jump.split_at_mut(JUMP.len());
        code.copy_from_slice(JUMP);
        address.copy_from_slice(&(target as usize).to_ne_bytes());
        // SAFETY: the function has as many bytes of code, which can be read.
        let original = unsafe { function.cast::<[u8; BYTES]>().read_unaligned() };
        let function = function as usize;
        // SAFETY: as the caller promises.
        unsafe { write_code(function, jump)? };
        Ok(Self { function, original })
    }

    /// Puts the function back as it was.
    ///
    /// # Errors
    /// The system does not let its code be written to.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // SAFETY: `install` has written as many bytes here. A thread that comes meanwhile waits in
        // the first instruction; one that is stopped inside the jump, which it executes once, could
        // go on in changed bytes.
        unsafe { write_code(self.function, self.original) }
    }
}

/// Bytes of the function that begins at this address. `None` for an address inside a function, or
/// of nothing that a loaded library exports.
fn size_of_function(address: *const c_void) -> Option<usize> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut symbol = std::ptr::null_mut::<libc::Elf64_Sym>();
    // SAFETY: the call accepts any address, and both places are valid for a write.
    let found = unsafe {
        libc::dladdr1(
            address,
            info.as_mut_ptr(),
            (&raw mut symbol).cast(),
            RTLD_DL_SYMENT,
        )
    };
    // SAFETY: all fields are integers and raw pointers, for which zero is a value.
    let info = unsafe { info.assume_init() };
    if found == 0 || !std::ptr::eq(info.dli_saddr, address) {
        return None;
    }
    // SAFETY: null, or an entry of the symbol table of a loaded library.
    let symbol = unsafe { symbol.as_ref() }?;
    usize::try_from(symbol.st_size).ok()
}

/// Writes over the beginning of a function, whose pages can be read and executed before and after.
/// A thread that calls it meanwhile waits in an instruction that jumps to itself.
///
/// # Safety
/// The bytes there are code of a loaded library, and no thread is inside of them.
unsafe fn write_code(address: usize, bytes: [u8; BYTES]) -> io::Result<()> {
    // SAFETY: the call takes nothing but a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).map_err(|_| io::ErrorKind::Unsupported)?;
    let first = address & !(page - 1);
    let length = address + BYTES - first;
    let protect = |rights| {
        // SAFETY: these pages are mapped, and keep the right to execute, which other functions on
        // them need.
        match unsafe { libc::mprotect(first as *mut c_void, length, rights) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    // SAFETY: functions are aligned to more than that, and the pages can be written to now.
    let begin = unsafe { AtomicBegin::from_ptr(address as *mut Begin) };
    begin.store(WAIT, Ordering::SeqCst);
    clear_instruction_cache(address);
    let (first, rest) = bytes.split_at(size_of::<Begin>());
    let place = (address + size_of::<Begin>()) as *mut u8;
    // SAFETY: the pages can be written to now, and the caller promises the rest.
    unsafe { place.copy_from_nonoverlapping(rest.as_ptr(), rest.len()) };
    clear_instruction_cache(address);
    let mut value = [0; size_of::<Begin>()];
    value.copy_from_slice(first);
    begin.store(Begin::from_ne_bytes(value), Ordering::SeqCst);
    clear_instruction_cache(address);
    // The bytes are written: that they can still be changed is no failure.
    let _ = protect(libc::PROT_READ | libc::PROT_EXEC);
    Ok(())
}

/// This processor sees its own writes in code.
#[cfg(target_arch = "x86_64")]
fn clear_instruction_cache(_address: usize) {}

#[cfg(target_arch = "aarch64")]
fn clear_instruction_cache(address: usize) {
    unsafe extern "C" {
        /// Of the compiler's runtime library.
        fn __clear_cache(begin: *mut c_void, end: *mut c_void);
    }
    // SAFETY: these bytes are mapped.
    unsafe { __clear_cache(address as *mut c_void, (address + BYTES) as *mut c_void) };
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};

    use super::{Redirection, size_of_function};

    unsafe extern "C" fn other(value: c_int) -> c_int {
        value + 1000
    }

    #[test]
    fn calls_go_elsewhere_until_the_redirection_is_removed() {
        // Of the C library, and nothing else in this process calls it.
        let function = libc::toupper as *const c_void;
        // SAFETY: the signatures are equal, and no other thread calls it.
        let redirection = unsafe { Redirection::install(function, other as *const c_void) };
        let redirection = redirection.expect("a function of a library");
        // SAFETY: it takes any character.
        let upper = || unsafe { libc::toupper(c_int::from(b'a')) };
        assert_eq!(upper(), 1097);
        redirection.remove().expect("as before");
        assert_eq!(upper(), c_int::from(b'A'));
    }

    #[test]
    fn only_the_beginning_of_an_exported_function_has_a_size() {
        let function = libc::toupper as *const c_void;
        assert!(size_of_function(function).is_some_and(|bytes| bytes >= 14));
        assert_eq!(size_of_function(function.wrapping_byte_add(4)), None);
        let here = Box::new(7);
        let elsewhere: *const c_int = &raw const *here;
        assert_eq!(size_of_function(elsewhere.cast()), None);
        assert_eq!(size_of_function(std::ptr::null()), None);
    }
}
