//! Kernel symbols by number, so that tables compare numbers instead of texts.

use rustc_hash::FxHashMap;

use super::limits::MAX_KERNEL_ROWS;
use crate::cupti::collect::kernel_symbol::KernelSymbol;
use crate::cupti::collect::record::ActivityRecord;
use gpuprof_report::collectives::Collective;

#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolNumbers {
    numbers: FxHashMap<KernelSymbol, u32>,
    symbols: Vec<KernelSymbol>,
    /// The numbers of collectives that wait for all ranks.
    collectives: Vec<u32>,
}

impl SymbolNumbers {
    /// The number of a kernel's symbol; `None` for a copy, and for symbols that do not fit.
    pub(crate) fn intern(&mut self, activity: &ActivityRecord) -> Option<u32> {
        match activity {
            ActivityRecord::Kernel(kernel) => self.insert(&kernel.symbol),
            ActivityRecord::Copy(_) => None,
        }
    }

    pub(crate) fn symbol(&self, number: u32) -> Option<&KernelSymbol> {
        self.symbols.get(number as usize)
    }

    /// Whether it is a collective that waits for all ranks.
    pub(super) fn waits_for_all(&self, number: u32) -> bool {
        self.collectives.contains(&number)
    }

    fn insert(&mut self, symbol: &KernelSymbol) -> Option<u32> {
        if let Some(&number) = self.numbers.get(symbol) {
            return Some(number);
        }
        if self.symbols.len() >= MAX_KERNEL_ROWS {
            return None;
        }
        let number = self.symbols.len() as u32;
        self.symbols.push(symbol.clone());
        if Collective::of_kernel(symbol.as_str()).is_some_and(|kind| kind.waits_for_all()) {
            self.collectives.push(number);
        }
        self.numbers.insert(symbol.clone(), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_KERNEL_ROWS, SymbolNumbers};

    #[test]
    fn equal_symbols_have_one_number_and_one_text() {
        let mut table = SymbolNumbers::default();
        assert_eq!(table.insert(&"axpy".into()), Some(0));
        assert_eq!(table.insert(&"dot".into()), Some(1));
        assert_eq!(table.insert(&"axpy".into()), Some(0));
        assert_eq!(table.symbols.len(), 2);
        assert_eq!(
            (table.symbol(1), table.symbol(2)),
            (Some(&"dot".into()), None)
        );
    }

    #[test]
    fn the_table_is_bounded() {
        let mut table = SymbolNumbers::default();
        for number in 0..MAX_KERNEL_ROWS as u32 {
            let symbol = format!("k{number}").as_str().into();
            assert_eq!(table.insert(&symbol), Some(number));
        }
        assert_eq!(table.insert(&"one more".into()), None);
        assert_eq!(table.insert(&"k7".into()), Some(7));
    }
}
