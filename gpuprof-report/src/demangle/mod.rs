//! Readable kernel names from C++ and Rust symbols, in full and shortened.

mod bounded_text;
mod outline;
mod short;
mod short_names;

use std::fmt::Write as _;

use bounded_text::BoundedText;
use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

pub use short::short;
pub use short_names::short_names;

/// Symbols longer than this, in bytes, are not demangled.
const MAX_SYMBOL_BYTES: usize = 16 << 10;

/// Full names are cut after this many bytes, and end with `…`. Names of CUTLASS kernels take up to
/// 6 KiB. Substitutions can double a name with every few bytes of its symbol.
const MAX_NAME_BYTES: usize = 8 << 10;

/// Limit of the recursion of cpp_demangle: of parsing, and of printing. A template in a namespace
/// takes 9 levels, so 12 of these may enclose each other. With more levels, symbols that are not
/// well-formed take longer: the parser tries nested alternatives again, at worst for seconds.
const MAX_CPP_LEVELS: u32 = 128;

/// Stack that [`full`] needs at most, in bytes. Stack use was measured with cpp_demangle 0.5.1 and
/// rustc-demangle 0.1.28 on symbols of 27 and 8 shapes that nest up to their limit. A level of
/// cpp_demangle takes 560 B in nested templates and 4.1 kB in nested initializers if it is
/// optimized, 5.5 kB and 41 kB (5.3 MB for all levels) without optimization. rustc-demangle stops
/// at 500 levels, which take 160 kB and 640 kB.
pub const STACK_BYTES: usize = 8 << 20;

/// The demangled name in full, or the symbol itself if it is not a mangled name. Call it on a
/// thread that has [`STACK_BYTES`].
#[must_use]
pub fn full(symbol: &str) -> String {
    if symbol.len() > MAX_SYMBOL_BYTES {
        return symbol.to_owned();
    }
    rust_name(symbol)
        .or_else(|| cpp_name(symbol))
        .unwrap_or_else(|| symbol.to_owned())
}

/// Without its hash.
fn rust_name(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let mut text = BoundedText::new(MAX_NAME_BYTES);
    let result = write!(text, "{name:#}");
    text.finish(result)
}

fn cpp_name(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let parsing = ParseOptions::default().recursion_limit(MAX_CPP_LEVELS);
    let printing = DemangleOptions::new().recursion_limit(MAX_CPP_LEVELS);
    let name = Symbol::new_with_options(symbol, &parsing).ok()?;
    let mut text = BoundedText::new(MAX_NAME_BYTES);
    let result = name.structured_demangle(&mut text, &printing);
    text.finish(result)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{MAX_CPP_LEVELS, MAX_NAME_BYTES, STACK_BYTES, full, short};

    #[test]
    fn symbols_become_names() {
        for (symbol, name, shown) in [
            ("saxpy", "saxpy", "saxpy"),
            ("", "", ""),
            ("_Z5saxpyiPfS_", "saxpy(int, float*, float*)", "saxpy"),
            (
                "_Z4gemmIfLi128EEvPKT_S2_PS0_i",
                "void gemm<float, 128>(float const*, float const*, float*, int)",
                "gemm<…>",
            ),
            (
                "_ZN7cutlass6KernelI4GemmEEvNT_6ParamsE",
                "void cutlass::Kernel<Gemm>(Gemm::Params)",
                "cutlass::Kernel<…>",
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_4fillEvEUlvE_EEviT0_",
                "void at::native::vectorized_elementwise_kernel<4, \
                 at::native::fill()::{lambda()#1}>(int, at::native::fill()::{lambda()#1})",
                "at::native::vectorized_elementwise_kernel<…>",
            ),
            (
                "_ZN12_GLOBAL__N_13runEv",
                "(anonymous namespace)::run()",
                "(anonymous)::run",
            ),
            ("_ZN1AIiEclEv", "A<int>::operator()()", "A<…>::operator()"),
            (
                "_ZN4demo5saxpy17h0123456789abcdefE",
                "demo::saxpy",
                "demo::saxpy",
            ),
            ("_RNvC4demo5saxpy", "demo::saxpy", "demo::saxpy"),
            ("_Znotmangled", "_Znotmangled", "_Znotmangled"),
            ("naïve<kernel", "naïve<kernel", "naïve<…>"),
        ] {
            assert_eq!(full(symbol), name, "{symbol}");
            assert_eq!(short(name), shown, "{name}");
        }
    }

    #[test]
    fn deep_templates_have_names_within_the_limit() {
        for (depth, has_name) in [(1, true), (10, true), (12, true), (13, false)] {
            let (open, close) = ("N4cute5tupleIJ".repeat(depth), "EEE".repeat(depth));
            let symbol = format!("_Z1fI{open}i{close}Evv");
            let (open, close) = ("cute::tuple<".repeat(depth), "> ".repeat(depth));
            let name = format!("void f<{open}int{close}>()");
            let expected = if has_name { &name } else { &symbol };
            let found = on_stack(STACK_BYTES, || full(&symbol));
            assert_eq!(found, *expected);
        }
    }

    #[test]
    fn no_shape_needs_more_stack_than_is_stated() {
        // Nested as deep as the parser goes, and deeper.
        let levels = MAX_CPP_LEVELS as usize;
        for depth in [levels / 2, levels * 9 / 10, levels - 10, levels] {
            let int = |prefix: &str| prefix.repeat(depth);
            for symbol in [
                format!("_Z1fIXps{}Li1EEEvv", int("ps")),
                format!("_Z1fIX{}Li1E{}EEvv", int("tl1a"), "E".repeat(depth)),
                format!("_Z1fIX{}Li1E{}EEvv", int("qu"), "Li1ELi1E".repeat(depth)),
                format!("_Z1f{}i{}", int("DTcv"), "Li1EE".repeat(depth)),
                format!("_Z1f{}i", int("P")),
                format!("_Z1fI{}i{}Evv", int("J"), "E".repeat(depth)),
                format!(
                    "_RINvC1a1f{}{}E",
                    "F".repeat(depth * 2),
                    "Eu".repeat(depth * 2)
                ),
            ] {
                assert!(!on_stack(STACK_BYTES, || full(&symbol)).is_empty());
            }
        }
    }

    /// Each parameter is a template of two of the previous one.
    fn doubling_cpp_symbol(parameters: usize) -> String {
        let mut symbol = "_Z1f1aIiiE".to_owned();
        // S_ is the template, S0_ the first parameter.
        for previous in 0..parameters - 1 {
            let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let number = digits[previous] as char;
            symbol += &format!("S_IS{number}_S{number}_E");
        }
        symbol
    }

    /// Each argument is a tuple of two of the previous one.
    fn doubling_rust_symbol(arguments: usize) -> String {
        let mut symbol = "_RINvC1a1f".to_owned();
        let mut previous = symbol.len() - "_R".len();
        symbol += "TllE";
        for _ in 0..arguments - 1 {
            let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            // References are in base 62, from `_`, `0_` and `1_` for 0, 1 and 2.
            let number = previous - 1;
            let digit = |number: usize| digits[number] as char;
            let number = match number / 62 {
                0 => digit(number).to_string(),
                high => format!("{}{}", digit(high), digit(number % 62)),
            };
            previous = symbol.len() - "_R".len();
            symbol += &format!("TB{number}_B{number}_E");
        }
        symbol + "E"
    }

    #[test]
    fn a_name_that_doubles_with_every_parameter_is_cut() {
        let two = doubling_cpp_symbol(2);
        assert_eq!(full(&two), "f(a<int, int>, a<a<int, int>, a<int, int> >)");
        let two = doubling_rust_symbol(2);
        assert_eq!(full(&two), "a::f::<(i32, i32), ((i32, i32), (i32, i32))>");
        for (symbol, start) in [
            (
                doubling_cpp_symbol(25),
                "f(a<int, int>, a<a<int, int>, a<int, ",
            ),
            (
                doubling_rust_symbol(25),
                "a::f::<(i32, i32), ((i32, i32), (i32, ",
            ),
        ] {
            assert!(symbol.len() < 300);
            let name = on_stack(STACK_BYTES, || full(&symbol));
            assert_eq!(name.len(), MAX_NAME_BYTES + "…".len());
            assert!(name.starts_with(start) && name.ends_with('…'));
        }
    }

    fn on_stack<T: Send>(bytes: usize, run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(bytes);
            let thread = thread.spawn_scoped(scope, run).expect("a thread");
            thread.join().expect("no panic")
        })
    }

    #[test]
    fn no_symbol_is_too_long_or_too_strange() {
        let long = format!("_Z{}", "N1aI".repeat(20_000));
        assert_eq!(full(&long), long);
        for hostile in [
            "<<<<", ">>>>", "((((", "operator", "void ", " ", "a ->b>c", "_ZN", "_R",
        ] {
            let _ = short(&full(hostile));
        }
        for depth in [10, 100, 1_000, 4_000] {
            let deep = format!("_Z1f{}i{}", "1aI".repeat(depth), "E".repeat(depth));
            assert!(!short(&on_stack(STACK_BYTES, || full(&deep))).is_empty());
        }
    }
}
