//! What the program's symbols say of its functions. Without the feature `cupti` there are no
//! stacks, and no symbols are read.

#[cfg(feature = "cupti")]
mod table;

/// The symbols of the file that has gpuprof's code, read when they are first needed.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    #[cfg(feature = "cupti")]
    table: std::cell::OnceCell<Option<table::FunctionSymbols>>,
}

#[cfg(feature = "cupti")]
impl Symbols {
    /// The paths of the functions that may have called what returns to `address`.
    pub(super) fn paths(&self, address: usize) -> Vec<String> {
        // A call may be the last instruction of its function.
        let call = address.saturating_sub(1);
        self.table()
            .map_or_else(Vec::new, |table| table.paths(call))
    }

    /// Whether the crate has a function `main`.
    pub(super) fn has_main(&self, krate: &str) -> bool {
        self.table().is_some_and(|table| table.has_main(krate))
    }

    fn table(&self) -> Option<&table::FunctionSymbols> {
        let of_own_code = || table::FunctionSymbols::read(Self::table as *const () as usize);
        self.table.get_or_init(of_own_code).as_ref()
    }
}

#[cfg(not(feature = "cupti"))]
impl Symbols {
    pub(super) fn paths(&self, _: usize) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn has_main(&self, _: &str) -> bool {
        false
    }
}
