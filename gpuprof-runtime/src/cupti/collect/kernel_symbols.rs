//! Kernel symbols as CUPTI's records refer to them: by the address of a C string.

use std::ffi::{CStr, c_char};

use rustc_hash::{FxHashMap, FxHashSet};

use super::kernel_symbol::KernelSymbol;

/// A program that keeps loading and unloading modules uses ever new addresses.
const MAX_ADDRESSES: usize = 1 << 16;

/// Copies of the symbols, each of which is demangled once.
#[derive(Default)]
pub(crate) struct KernelSymbols {
    by_address: FxHashMap<usize, KernelSymbol>,
    all: FxHashSet<KernelSymbol>,
}

impl KernelSymbols {
    /// The symbol at `address`.
    ///
    /// # Safety
    /// `address` is 0 or that of a NUL-terminated string that does not change during the call.
    pub(crate) unsafe fn symbol_at(&mut self, address: usize) -> KernelSymbol {
        if address == 0 {
            return self.copy("(unnamed)");
        }
        // SAFETY: the caller upholds the contract.
        let text = unsafe { CStr::from_ptr(address as *const c_char) };
        // CUPTI keeps the string of a record, but does not promise that its address will never
        // hold another one.
        if let Some(known) = self.by_address.get(&address)
            && known.as_str().as_bytes() == text.to_bytes()
        {
            return known.clone();
        }
        let symbol = self.copy(&text.to_string_lossy());
        if self.by_address.len() >= MAX_ADDRESSES {
            self.by_address.clear();
        }
        self.by_address.insert(address, symbol.clone());
        symbol
    }

    /// A module that is loaded again has its symbols at other addresses.
    fn copy(&mut self, symbol: &str) -> KernelSymbol {
        if let Some(known) = self.all.get(symbol) {
            return known.clone();
        }
        let symbol = KernelSymbol::from(symbol);
        if self.all.len() >= MAX_ADDRESSES {
            self.all.clear();
        }
        self.all.insert(symbol.clone());
        symbol
    }
}

#[cfg(test)]
mod tests {
    use super::{KernelSymbol, KernelSymbols, MAX_ADDRESSES};

    fn at(symbols: &mut KernelSymbols, text: &[u8]) -> KernelSymbol {
        assert_eq!(text.last(), Some(&0));
        // SAFETY: the text ends with a NUL, and does not change.
        unsafe { symbols.symbol_at(text.as_ptr() as usize) }
    }

    #[test]
    fn a_symbol_is_copied_and_demangled_once_wherever_it_lies() {
        let mut symbols = KernelSymbols::default();
        let (text, again) = (b"_Z4axpyi\0".to_vec(), b"_Z4axpyi\0".to_vec());
        let first = at(&mut symbols, &text);
        let is_demangled = cfg!(feature = "cupti");
        let name = if is_demangled {
            "axpy(int)"
        } else {
            "_Z4axpyi"
        };
        assert_eq!((first.as_str(), first.full_name()), ("_Z4axpyi", name));
        for text in [&text, &again] {
            assert_eq!(
                at(&mut symbols, text).as_str().as_ptr(),
                first.as_str().as_ptr()
            );
        }
        let unnamed = [(); 2].map(|()| {
            // SAFETY: 0 is no address.
            unsafe { symbols.symbol_at(0) }
        });
        assert_eq!(
            unnamed.each_ref().map(KernelSymbol::as_str),
            ["(unnamed)"; 2]
        );
    }

    #[test]
    fn an_address_may_come_to_hold_another_name() {
        let mut symbols = KernelSymbols::default();
        let mut text = b"axpy\0".to_vec();
        assert_eq!(at(&mut symbols, &text).as_str(), "axpy");
        text[0] = b'b';
        assert_eq!(at(&mut symbols, &text).as_str(), "bxpy");
    }

    #[test]
    fn ever_new_addresses_are_forgotten_in_time() {
        let mut symbols = KernelSymbols::default();
        let texts = b"k\0".repeat(2 * MAX_ADDRESSES + 7);
        for text in texts.chunks_exact(2) {
            assert_eq!(at(&mut symbols, text).as_str(), "k");
            assert!(symbols.by_address.len() <= MAX_ADDRESSES);
        }
        assert_eq!(symbols.by_address.len(), 7);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_converted() {
        let mut symbols = KernelSymbols::default();
        assert_eq!(at(&mut symbols, b"k\xff\0").as_str(), "k\u{fffd}");
    }
}
