//! Names of C++ functions in stacks.

/// The path of a function of C++, without its parameters; `None` of other functions, or if the
/// symbol cannot be read.
#[cfg(feature = "cupti")]
pub(super) fn path(symbol: &str) -> Option<String> {
    use std::sync::{Arc, OnceLock};

    use gpuprof_report::demangle::{self, STACK_BYTES};

    use crate::os::thread_signals;

    if !symbol.starts_with("_Z") {
        return None;
    }
    let name = Arc::new(OnceLock::new());
    let (of_symbol, result) = (symbol.to_owned(), Arc::clone(&name));
    let demangle = move || {
        // Only this thread sets it.
        let _ = result.set(demangle::short(&demangle::full(&of_symbol)));
    };
    // The thread that asks for a report may have less stack.
    let thread = thread_signals::spawn_with_stack("gpuprof-names", STACK_BYTES, demangle);
    thread.ok()?.join().ok()?;
    name.get().filter(|name| *name != symbol).cloned()
}

/// Without the feature `cupti` there are no stacks.
#[cfg(not(feature = "cupti"))]
pub(super) fn path(_: &str) -> Option<String> {
    None
}

#[cfg(all(test, feature = "cupti"))]
mod tests {
    use super::path;

    #[test]
    fn symbols_of_cpp_are_paths_and_other_names_stay() {
        let symbol = "_ZN2at6native10gpu_kernelIfEEvRNS_18TensorIteratorBaseE";
        assert_eq!(path(symbol).as_deref(), Some("at::native::gpu_kernel<…>"));
        for name in ["app::run", "main", "_Zwrong", ""] {
            assert_eq!(path(name), None);
        }
    }
}
