//! What the kernels of a profile are called, and which lines launch them.

use rustc_hash::FxHashMap;

use super::symbol_table::SymbolNumbers;
use super::window_tables::WindowTables;
use crate::cupti::launch_lines::line_cache::LineCache;
use crate::cupti::launch_lines::stack_totals::StackTotals;
use gpuprof_report::profile::LaunchLine;
use gpuprof_report::sorting::sort_by;

/// The name of all kernels beyond [`MAX_KERNEL_ROWS`](super::limits::MAX_KERNEL_ROWS).
pub(super) const OTHER_KERNELS: &str = "(other kernels)";

/// The names of a profile's kernels, each of which is the same in all of its rows, and the lines of
/// their launches.
pub(crate) struct KernelNames<'a> {
    symbols: &'a SymbolNumbers,
    lines: &'a LineCache,
    /// By the number of the symbol.
    short: FxHashMap<u32, String>,
}

impl<'a> KernelNames<'a> {
    pub(crate) fn new(
        tables: &WindowTables,
        symbols: &'a SymbolNumbers,
        lines: &'a LineCache,
    ) -> Self {
        let mut numbers: Vec<u32> = tables.kernels.keys().filter_map(|key| key.symbol).collect();
        let symbol = |number: &u32| symbols.symbol(*number).map(|symbol| symbol.as_str());
        // Numbers are given in order of arrival, which is another one in every run.
        numbers.sort_unstable();
        numbers.dedup();
        sort_by(&mut numbers, |a, b| symbol(a).cmp(&symbol(b)));
        let full: Vec<&str> = numbers
            .iter()
            .filter_map(|number| symbols.symbol(*number))
            .map(|symbol| symbol.full_name())
            .collect();
        Self {
            symbols,
            lines,
            short: numbers.into_iter().zip(short_names(&full)).collect(),
        }
    }

    pub(super) fn short(&self, number: Option<u32>) -> &str {
        let short = number.and_then(|number| self.short.get(&number));
        short.map_or(OTHER_KERNELS, String::as_str)
    }

    pub(super) fn full(&self, number: Option<u32>) -> &str {
        full_name(self.symbols, number)
    }

    /// The source lines of a row's launches.
    pub(super) fn launch_lines(&self, stacks: &StackTotals) -> Vec<LaunchLine> {
        self.lines.lines_of_row(stacks)
    }

    pub(super) fn symbol(&self, number: Option<u32>) -> &str {
        let symbol = number.and_then(|number| self.symbols.symbol(number));
        symbol.map_or(OTHER_KERNELS, |symbol| symbol.as_str())
    }
}

/// The full name of the symbol of this number.
pub(crate) fn full_name(symbols: &SymbolNumbers, number: Option<u32>) -> &str {
    let symbol = number.and_then(|number| symbols.symbol(number));
    symbol.map_or(OTHER_KERNELS, |symbol| symbol.full_name())
}

#[cfg(feature = "cupti")]
use gpuprof_report::demangle::short_names;

/// Without the feature `cupti` names are symbols.
#[cfg(not(feature = "cupti"))]
fn short_names(full: &[&str]) -> Vec<String> {
    full.iter().map(|&full| full.to_owned()).collect()
}
