//! Text from outside (names, paths, settings, what a driver says) made fit for a terminal, a log and another tool.
//!
//! Every output shows such text through here: it must not move a cursor, colour, hide or turn what stands beside it,
//! begin a line of its own, or bury the report under a megabyte. Must not import anything of this crate.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters of a name that are shown: more than any name has that a person reads, and few enough for a table.
const LONGEST_NAME: usize = 300;

/// Stands for what was cut out.
pub const ELLIPSIS: char = '…';

/// A name as outputs show it: at most 300 characters, its middle cut out, and with nothing in it but what it shows.
pub fn name(text: &str) -> Cow<'_, str> {
    short(text, LONGEST_NAME)
}

/// The same with at most `longest` characters.
pub fn short(text: &str, longest: usize) -> Cow<'_, str> {
    match cut(text, longest) {
        Cow::Borrowed(short) => escape(short),
        Cow::Owned(short) => Cow::Owned(escape(&short).into_owned()),
    }
}

/// What a person wrote, within a message: in quotes, on one line, at most `longest` of its characters.
pub fn quoted(text: &str, longest: usize) -> String {
    let short = cut(text, longest);
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

/// `text` with every character that is not just shown spelled out, as in `\u{1b}`.
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

/// A JSON document with the same content in which every character that is not just shown is written `\uXXXX`. Only
/// strings can hold such characters, but for the newlines between values, which stay.
pub fn escape_json(document: String) -> String {
    let is_unsafe = |c| c != '\n' && is_unsafe(c);
    if !document.chars().any(is_unsafe) {
        return document;
    }
    let mut safe = String::with_capacity(document.len() + 64);
    for c in document.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c)
        }
    }
    safe
}

/// At most `longest` characters of `text`: two fifths of that from its beginning and the rest from its end, which in a
/// path is the function's own name.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    // Bytes are at least as many as characters: most texts are not counted.
    if text.len() <= longest || text.chars().count() <= longest {
        return Cow::Borrowed(text);
    }
    let room = longest.saturating_sub(1);
    let (head, tail) = (room * 2 / 5, room - room * 2 / 5);
    let head_end = text.char_indices().nth(head).map_or(0, |(at, _)| at);
    let from_end = text.char_indices().rev().take(tail);
    let tail_start = from_end.last().map_or(text.len(), |(at, _)| at);
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let (head, tail) = (part(0..head_end), part(tail_start..text.len()));
    Cow::Owned(format!("{head}{ELLIPSIS}{tail}"))
}

/// Control characters, C1 included; line and paragraph separators; what turns the direction of text or leaves no trace:
/// Unicode's Default_Ignorable_Code_Point but for the variation selectors of emoji, and the annotation marks.
fn is_unsafe(c: char) -> bool {
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
        assert_eq!(short.chars().count(), LONGEST_NAME);
        assert!(short.starts_with("begin") && short.ends_with("end"));
        for longest in 1..6 {
            assert_eq!(cut("größer", longest).chars().count(), longest);
        }
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "g…er");
    }

    #[test]
    fn quotes_cannot_be_left() {
        assert_eq!(quoted("a\" b\\\n\u{2066}", 9), r#""a\" b\\\n\u{2066}""#);
        assert_eq!(quoted(&"x".repeat(1 << 20), 5), "\"x…xxx\"");
    }

    #[test]
    fn json_stays_the_same_string() {
        for text in ["\u{9b}31m\u{202e}\u{7f}", "\u{e0041}", "größe"] {
            let json = escape_json(format!("[\n\"{text}\"\n]"));
            assert_eq!(
                serde_json::from_str::<[String; 1]>(&json).expect("JSON"),
                [text]
            );
            assert!(!json.replace('\n', "").chars().any(is_unsafe), "{json}");
        }
    }
}
