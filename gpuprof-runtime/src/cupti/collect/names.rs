//! Names of kernels as CUPTI hands them over: C strings of its own, one text kept for each.
//!
//! Must not import collector, span or report.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// Addresses and texts remembered. A program that loads and unloads modules for ever meets ever new ones.
const MOST: usize = 1 << 16;

/// The names met lately.
#[derive(Default)]
pub(crate) struct Names {
    /// What stood there when it was last looked at.
    by_address: FxHashMap<usize, Arc<str>>,
    all: FxHashSet<Arc<str>>,
}

impl Names {
    /// The name at `address`.
    ///
    /// # Safety
    /// `address` is 0 or that of a NUL-terminated string, which stays as it is meanwhile.
    pub(crate) unsafe fn at(&mut self, address: usize) -> Arc<str> {
        if address == 0 {
            return self.keep("(unnamed)");
        }
        // SAFETY: passed on to the caller.
        let text = unsafe { CStr::from_ptr(address as *const c_char) };
        // CUPTI keeps the string that a record points to; that it never puts another one there is promised nowhere.
        if let Some(known) = self.by_address.get(&address)
            && known.as_bytes() == text.to_bytes()
        {
            return Arc::clone(known);
        }
        let name = self.keep(&text.to_string_lossy());
        if self.by_address.len() >= MOST {
            self.forget();
        }
        self.by_address.insert(address, Arc::clone(&name));
        name
    }

    /// Texts in use stay with whoever has them.
    fn forget(&mut self) {
        self.by_address.clear();
        self.all.clear();
    }

    fn keep(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.all.get(name) {
            return Arc::clone(known);
        }
        if self.all.len() >= MOST {
            self.forget();
        }
        let name: Arc<str> = name.into();
        self.all.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Names};
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
    fn names_without_end_are_forgotten() {
        let mut names = Names::default();
        let mut text = b"k00000000\0".to_vec();
        for number in 0..2 * MOST + 7 {
            text[1..9].copy_from_slice(format!("{number:08}").as_bytes());
            assert_eq!(at(&mut names, &text).as_bytes(), &text[..9]);
        }
        assert_eq!(names.all.len(), 7);
        assert_eq!(names.by_address.len(), 1);
    }

    #[test]
    fn a_name_that_is_no_utf_8_is_a_name_all_the_same() {
        assert_eq!(&*at(&mut Names::default(), b"k\xff\0"), "k\u{fffd}");
    }
}
