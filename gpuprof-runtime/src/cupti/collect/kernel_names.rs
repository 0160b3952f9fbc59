//! Kernel names as CUPTI's records refer to them: by the address of a C string.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A program that keeps loading and unloading modules uses ever new addresses.
const MAX_ADDRESSES: usize = 1 << 16;

/// Copies of the names, by address.
#[derive(Default)]
pub(crate) struct KernelNames {
    by_address: FxHashMap<usize, Arc<str>>,
}

impl KernelNames {
    /// The name at `address`.
    ///
    /// # Safety
    /// `address` is 0 or that of a NUL-terminated string that nobody writes to during the call.
    pub(crate) unsafe fn get(&mut self, address: usize) -> Arc<str> {
        if address == 0 {
            return "(unnamed)".into();
        }
        // SAFETY: the caller upholds the contract.
        let text = unsafe { CStr::from_ptr(address as *const c_char) };
        // CUPTI keeps the string of a record, but does not promise that its address will never
        // hold another one.
        if let Some(known) = self.by_address.get(&address)
            && known.as_bytes() == text.to_bytes()
        {
            return Arc::clone(known);
        }
        let name: Arc<str> = text.to_string_lossy().into();
        if self.by_address.len() >= MAX_ADDRESSES {
            self.by_address.clear();
        }
        self.by_address.insert(address, Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelNames, MAX_ADDRESSES};
    use std::sync::Arc;

    fn get(names: &mut KernelNames, text: &[u8]) -> Arc<str> {
        assert_eq!(text.last(), Some(&0));
        // SAFETY: the text ends with a NUL, and nobody writes to it.
        unsafe { names.get(text.as_ptr() as usize) }
    }

    #[test]
    fn an_address_is_copied_once() {
        let mut names = KernelNames::default();
        let text = b"axpy\0".to_vec();
        assert!(Arc::ptr_eq(
            &get(&mut names, &text),
            &get(&mut names, &text)
        ));
    }

    #[test]
    fn an_address_may_come_to_hold_another_name() {
        let mut names = KernelNames::default();
        let mut text = b"axpy\0".to_vec();
        assert_eq!(&*get(&mut names, &text), "axpy");
        text[0] = b'b';
        assert_eq!(&*get(&mut names, &text), "bxpy");
    }

    #[test]
    fn ever_new_addresses_are_forgotten_in_time() {
        let mut names = KernelNames::default();
        let texts = b"k\0".repeat(2 * MAX_ADDRESSES + 7);
        for text in texts.chunks_exact(2) {
            assert_eq!(&*get(&mut names, text), "k");
            assert!(names.by_address.len() <= MAX_ADDRESSES);
        }
        assert_eq!(names.by_address.len(), 7);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_converted() {
        let mut names = KernelNames::default();
        assert_eq!(&*get(&mut names, b"k\xff\0"), "k\u{fffd}");
    }
}
