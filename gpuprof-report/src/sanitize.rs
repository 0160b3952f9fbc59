//! Makes text from outside (names, paths, settings, driver messages) safe for terminals, logs and
//! other tools.
//!
//! Every output passes such text through this module, so that it cannot move the cursor, change
//! colours, hide or reorder the text around it, start a line, or fill the report with a megabyte.

use std::borrow::Cow;

/// Characters of a name that are shown.
const MAX_NAME_CHARS: usize = 300;

/// Characters of the name of a source file that are shown.
const MAX_FILE_CHARS: usize = 60;

/// Replaces the characters that are cut out.
pub const ELLIPSIS: char = '…';

/// A name as outputs show it: at most 300 characters with the middle cut out, and with unsafe
/// characters escaped.
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    short(text, MAX_NAME_CHARS)
}

/// A text with at most `max_chars` characters and with unsafe characters escaped.
#[must_use]
pub fn short(text: &str, max_chars: usize) -> Cow<'_, str> {
    match cut(text, max_chars) {
        Cow::Borrowed(short) => escape(short),
        Cow::Owned(short) => Cow::Owned(escape(&short).into_owned()),
    }
}

/// `file:line` without the folders of the file, as outputs show a place in the source.
#[must_use]
pub fn place(file: &str, line: u32) -> String {
    format!("{}:{line}", self::file(file))
}

/// The name of a source file without its folders, as outputs show it.
#[must_use]
pub fn file(file: &str) -> Cow<'_, str> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    short(name, MAX_FILE_CHARS)
}

/// The longest beginning of `text` of at most `max_bytes` bytes.
#[must_use]
pub fn longest_prefix(text: &str, max_bytes: usize) -> &str {
    // std's `floor_char_boundary` is of Rust 1.91.
    let mut ends = (0..=max_bytes.min(text.len())).rev();
    let end = ends.find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// A text for use in a message: in quotes, on one line, at most `max_chars` of its characters.
#[must_use]
pub fn quoted(text: &str, max_chars: usize) -> String {
    let short = cut(text, max_chars);
    let mut quoted = String::from("\"");
    for c in short.chars() {
        match c {
            '"' | '\\' => quoted.extend(c.escape_default()),
            _ if is_unsafe(c) => quoted.extend(c.escape_default()),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Escapes unsafe characters, as in `\u{1b}`.
fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            safe.extend(c.escape_default())
        } else {
            safe.push(c)
        }
    }
    Cow::Owned(safe)
}

/// At most `max_chars` characters of `text`: two fifths from its beginning and the rest from its
/// end, which in a path is the name of the function.
fn cut(text: &str, max_chars: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes, so most texts need no counting.
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return Cow::Borrowed(text);
    }
    let room = max_chars.saturating_sub(1);
    let (head, tail) = (room * 2 / 5, room - room * 2 / 5);
    let head_end = text.char_indices().nth(head).map_or(0, |(at, _)| at);
    let from_end = text.char_indices().rev().take(tail);
    let tail_start = from_end.last().map_or(text.len(), |(at, _)| at);
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let (head, tail) = (part(0..head_end), part(tail_start..text.len()));
    Cow::Owned(format!("{head}{ELLIPSIS}{tail}"))
}

/// Control characters including C1, line and paragraph separators, direction and annotation marks,
/// and invisible characters: Unicode's Default_Ignorable_Code_Point except the variation selectors
/// of emoji.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_just_shown_is_spelled_out() {
        assert_eq!(
            name("a\x1b[31m\nb\u{202e}c\u{9b}\u{e0041}"),
            "a\\u{1b}[31m\\nb\\u{202e}c\\u{9b}\\u{e0041}"
        );
        for readable in ["größe::畳み込み", "a\"b\\c<T>", "❤\u{fe0f}", "e\u{301}"] {
            assert!(matches!(name(readable), Cow::Borrowed(_)), "{readable}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_more_of_its_end() {
        let long = format!("begin{}end", "\u{301}".repeat(1 << 20));
        let short = name(&long);
        assert_eq!(short.chars().count(), MAX_NAME_CHARS);
        assert!(short.starts_with("begin") && short.ends_with("end"));
        for longest in 1..6 {
            assert_eq!(cut("größer", longest).chars().count(), longest);
        }
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "g…er");
    }

    #[test]
    fn a_place_has_no_folders_and_is_safe() {
        assert_eq!(place("/home/me/app/kernels/sum.cu", 12), "sum.cu:12");
        assert_eq!(place("C:\\app\\sum.cu", 12), "sum.cu:12");
        assert_eq!(place("default_program", 7), "default_program:7");
        assert_eq!(place("a/\u{1b}.cu", 1), "\\u{1b}.cu:1");
        let long = place(&"x".repeat(1 << 20), u32::MAX);
        assert_eq!(long.chars().count(), MAX_FILE_CHARS + 11);
    }

    #[test]
    fn quotes_cannot_be_left() {
        assert_eq!(quoted("a\" b\\\n\u{2066}", 9), r#""a\" b\\\n\u{2066}""#);
        assert_eq!(quoted(&"x".repeat(1 << 20), 5), "\"x…xxx\"");
    }
}
