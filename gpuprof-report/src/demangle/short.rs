//! A kernel's name without what makes it long.

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
