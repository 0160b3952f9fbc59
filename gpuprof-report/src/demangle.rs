//! Readable kernel names from C++ and Rust symbols, in full and shortened.

/// Symbols longer than this, in bytes, are not demangled.
const MAX_SYMBOL_BYTES: usize = 16 << 10;

/// The demangled name in full, or the symbol itself if it is not a mangled name.
#[must_use]
pub fn full(symbol: &str) -> String {
    if symbol.len() > MAX_SYMBOL_BYTES {
        return symbol.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        // Without its hash.
        return format!("{rust:#}");
    }
    if symbol.starts_with("_Z")
        && let Ok(parsed) = cpp_demangle::Symbol::new(symbol)
        && let Ok(name) = parsed.demangle()
    {
        return name;
    }
    symbol.to_owned()
}

/// A full name without parameters and return type, and with `<…>` for template arguments.
#[must_use]
pub fn short(full: &str) -> String {
    let name = without_lists(full);
    // The return type ends at the last blank outside of brackets.
    let words = name.rsplit_once(' ');
    let operator = name.rfind("operator");
    let name = match (words, operator) {
        (_, Some(at)) => {
            let before = name.get(..at).unwrap_or_default();
            let start = before.rfind(' ').map_or(0, |blank| blank + 1);
            name.get(start..).unwrap_or(&name)
        }
        (Some((_, last)), None) if !last.is_empty() => last,
        _ => &name,
    };
    if name.is_empty() {
        full.to_owned()
    } else {
        name.to_owned()
    }
}

/// Removes the parameter list and all after it, and the content of template brackets.
/// `(anonymous namespace)` loses its blank, so that every blank that is left ends a type.
fn without_lists(full: &str) -> String {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut shown = String::with_capacity(full.len());
    let mut depth = 0_u32;
    let mut rest = full;
    while let Some(next) = rest.chars().next() {
        if depth == 0 {
            if let Some(after) = rest.strip_prefix(ANONYMOUS) {
                shown.push_str("(anonymous)");
                rest = after;
                continue;
            }
            if let Some((sign, after)) = operator_sign(&shown, rest) {
                shown.push_str(sign);
                rest = after;
                continue;
            }
        }
        match next {
            '(' if depth == 0 && !shown.is_empty() => break,
            '<' | '(' | '[' | '{' => {
                if depth == 0 && next == '<' && !shown.is_empty() && !shown.ends_with([':', ' ']) {
                    shown.push_str("<…>");
                } else if depth == 0 {
                    shown.push(next);
                }
                depth += 1;
            }
            '>' | ')' | ']' | '}' if !(next == '>' && is_arrow(full, rest)) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && !(next == '>' && shown.ends_with("<…>")) {
                    shown.push(next);
                }
            }
            _ if depth == 0 => shown.push(next),
            _ => {}
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    shown.trim_end().to_owned()
}

/// Whether the `>` at the start of `rest` is part of `->`, which closes no bracket.
fn is_arrow(full: &str, rest: &str) -> bool {
    let before = full.len().checked_sub(rest.len() + 1);
    before.is_some_and(|at| full.as_bytes().get(at) == Some(&b'-'))
}

/// The sign after `operator`, whose characters are not brackets, and the rest.
fn operator_sign<'a>(shown: &str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    const SIGNS: [&str; 11] = [
        "()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->", "<", ">",
    ];
    if !shown.ends_with("operator") {
        return None;
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
    rest.split_at_checked(sign.len())
}

#[cfg(test)]
mod tests {
    use super::{full, short};

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
            assert!(!short(&full(&deep)).is_empty());
        }
    }
}
