//! A kernel's name without what makes it long.

use super::outline::{LIST, Outline};

/// A full name without parameters and return type, and with `<…>` for template arguments.
#[must_use]
pub fn short(full: &str) -> String {
    outline(full).text
}

/// The [`short`] name and the template lists that it leaves out.
pub(super) fn outline(full: &str) -> Outline<'_> {
    let Outline { text, mut lists } = without_lists(full);
    // The return type ends at the last blank outside of brackets.
    let words = text.rsplit_once(' ');
    let operator = text.rfind("operator");
    let name = match (words, operator) {
        (_, Some(at)) => {
            let before = text.get(..at).unwrap_or_default();
            let start = before.rfind(' ').map_or(0, |blank| blank + 1);
            text.get(start..).unwrap_or(&text)
        }
        (Some((_, last)), None) if !last.is_empty() => last,
        _ => &text,
    };
    if !name.contains(char::is_alphanumeric) {
        return Outline {
            text: full.to_owned(),
            lists: Vec::new(),
        };
    }
    let kept = name.matches(LIST).count();
    lists.drain(..lists.len().saturating_sub(kept));
    Outline {
        text: name.to_owned(),
        lists,
    }
}

/// Removes the parameter list and all after it, and the content of template brackets.
/// `(anonymous namespace)` loses its blank, so that every blank that is left ends a type.
fn without_lists(full: &str) -> Outline<'_> {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut text = String::with_capacity(full.len().min(128));
    let mut lists = Vec::new();
    let mut depth = 0_u32;
    let mut rest = full;
    // What follows the bracket of the list that is open.
    let mut list: Option<&str> = None;
    while let Some(next) = rest.chars().next() {
        if depth == 0 {
            if let Some(after) = rest.strip_prefix(ANONYMOUS) {
                text.push_str("(anonymous)");
                rest = after;
                continue;
            }
            if let Some((sign, after)) = operator_sign(&text, rest) {
                text.push_str(sign);
                rest = after;
                continue;
            }
        }
        let after = rest.get(next.len_utf8()..).unwrap_or_default();
        match next {
            '(' if depth == 0 && !text.is_empty() => break,
            '<' | '(' | '[' | '{' => {
                if depth == 0 && next == '<' && !text.is_empty() && !text.ends_with([':', ' ']) {
                    text.push_str(LIST);
                    list = Some(after);
                } else if depth == 0 {
                    text.push(next);
                }
                depth += 1;
            }
            '>' | ')' | ']' | '}' if !(next == '>' && is_arrow(full, rest)) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    match list.take() {
                        Some(content) => lists.push(until(content, rest)),
                        None => text.push(next),
                    }
                }
            }
            _ if depth == 0 => text.push(next),
            _ => {}
        }
        rest = after;
    }
    lists.extend(list);
    let length = text.trim_end().len();
    text.truncate(length);
    Outline { text, lists }
}

/// The part of `text` before its end `rest`.
fn until<'a>(text: &'a str, rest: &str) -> &'a str {
    let length = text.len().saturating_sub(rest.len());
    text.get(..length).unwrap_or(text)
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
