//! Names of kernels as CUPTI hands them over: C strings of its own, one text kept for each.
//!
//! Must not import collector, span or report.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// Addresses remembered. A program that loads and unloads modules for ever meets ever new ones.
const MOST_ADDRESSES: usize = 1 << 16;

/// Every name met so far.
#[derive(Default)]
pub(super) struct Names {
    /// What stood there when it was last looked at.
    by_address: FxHashMap<usize, Arc<str>>,
    all: FxHashSet<Arc<str>>,
}

impl Names {
    /// The name at `address`.
    ///
    /// # Safety
    /// `address` is 0 or that of a NUL-terminated string, which stays as it is meanwhile.
    pub(super) unsafe fn at(&mut self, address: usize) -> Arc<str> {
        if address == 0 {
            return self.keep("(unnamed)");
        }
        // SAFETY: passed on to the caller.
        let text = unsafe { CStr::from_ptr(address as *const c_char) };
        // An address can come to hold another name when its module is gone.
        if let Some(known) = self.by_address.get(&address)
            && known.as_bytes() == text.to_bytes()
        {
            return Arc::clone(known);
        }
        let name = self.keep(&text.to_string_lossy());
        if self.by_address.len() >= MOST_ADDRESSES {
            self.by_address.clear();
        }
        self.by_address.insert(address, Arc::clone(&name));
        name
    }

    fn keep(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.all.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.all.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use std::sync::Arc;

    fn at(names: &mut Names, text: &[u8]) -> Arc<str> {
        assert_eq!(text.last(), Some(&0));
        // SAFETY: the text ends with a NUL, and nobody writes to it.
        unsafe { names.at(text.as_ptr() as usize) }
    }

    #[test]
    fn one_text_is_kept_for_a_name_wherever_it_stands() {
        let mut names = Names::default();
        let (one, other) = (b"axpy\0".to_vec(), b"axpy\0".to_vec());
        assert!(Arc::ptr_eq(&at(&mut names, &one), &at(&mut names, &other)));
    }

    #[test]
    fn an_address_may_come_to_hold_another_name() {
        let mut names = Names::default();
        let mut text = b"axpy\0".to_vec();
        assert_eq!(&*at(&mut names, &text), "axpy");
        text[0] = b'b';
        assert_eq!(&*at(&mut names, &text), "bxpy");
    }

    #[test]
    fn a_name_that_is_no_utf_8_is_a_name_all_the_same() {
        assert_eq!(&*at(&mut Names::default(), b"k\xff\0"), "k\u{fffd}");
    }
}
