//! Text on a terminal: how wide it is, where it may be cut and wrapped.
//!
//! What comes from the user's program or from a driver has passed through `sanitize` before it gets
//! here.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::number;

/// Figures and plain words.
pub(super) const PLAIN: Style = Style::new();
/// Headings and the program's name.
pub(super) const BOLD: Style = Style::new().bold();
/// Units, rules, secondary rows.
pub(super) const DIM: Style = Style::new().dimmed();
/// Marks, and what needs the reader's attention.
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
/// The words "simulated device".
pub(super) const LOUD: Style = AnsiColor::Yellow.on_default().bold();

/// Stands for what was cut out.
pub(super) const ELLIPSIS: &str = "…";

/// How many names a line lists.
pub(super) const NAMES: usize = 6;

/// One line with its beginning in `style`.
pub(super) fn labelled(style: Style, label: &str, text: &str) -> Paragraph {
    let mut words = Paragraph::new(style, label);
    words.add(PLAIN, text);
    words
}

/// A line of the first of `names`, with what they are and what to do about them; `None` without a
/// name.
pub(super) fn line_of_names(
    style: Style,
    label: &str,
    names: Vec<Cow<'_, str>>,
    advice: &str,
) -> Option<Paragraph> {
    let mut words = Paragraph::new(style, label);
    (!names.is_empty()).then(|| {
        words.add_list(names, NAMES).then(".").add(DIM, advice);
        words
    })
}

/// A line of what was lost, how often and how; `None` if all counts are 0.
pub(super) fn losses<'a>(
    label: &str,
    counts: impl IntoIterator<Item = (u64, Cow<'a, str>)>,
) -> Option<Paragraph> {
    let mut words = Paragraph::default();
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        if words.is_empty() {
            words.add(WARN, label);
        } else {
            words.then(",");
        }
        let count = number::count(count).text();
        words.add_one(WARN, count).add(PLAIN, &what);
    }
    (!words.is_empty()).then_some(words)
}

/// Appends `text` in `style` where colour is on and plain where it is off.
pub(super) fn paint(out: &mut String, color: bool, style: Style, text: &str) {
    use std::fmt::Write as _;
    if color && !text.trim().is_empty() && style != PLAIN {
        // Writing to a String cannot fail.
        let _ = write!(out, "{style}{text}{style:#}");
    } else {
        out.push_str(text);
    }
}

/// Terminal columns that `text` takes.
pub(super) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Appends the spaces that bring what is `used` columns wide to `width`.
pub(super) fn pad(out: &mut String, width: usize, used: usize) {
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
}

/// `text` in at most `max` columns, cut in the middle.
///
/// The end is kept longer than the beginning: in a path it is the function's own name.
pub(super) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    if width(text) <= max {
        return Cow::Borrowed(text);
    }
    if max == 0 {
        return Cow::Borrowed("");
    }
    let room = max - width(ELLIPSIS);
    let head = prefix(text, room * 2 / 5);
    let tail = suffix(text, room.saturating_sub(width(head)));
    Cow::Owned(format!("{head}{ELLIPSIS}{tail}"))
}

/// The longest beginning of `text` that fits into `max` columns.
fn prefix(text: &str, max: usize) -> &str {
    // Widths of characters do not add up (emoji take a selector after them), so whole beginnings
    // are measured.
    let beginnings = text
        .char_indices()
        .map(|(at, c)| text.get(..at + c.len_utf8()).unwrap_or(""));
    beginnings
        .take_while(|beginning| width(beginning) <= max)
        .last()
        .unwrap_or("")
}

/// The longest end of `text` that fits into `max` columns and does not begin with a combining
/// character.
pub(super) fn suffix(text: &str, max: usize) -> &str {
    let ends = text
        .char_indices()
        .rev()
        .map(|(at, c)| (c, text.get(at..).unwrap_or("")));
    let fitting = ends.take_while(|(_, end)| width(end) <= max);
    fitting
        .filter(|(c, _)| width(c.encode_utf8(&mut [0; 4])) > 0)
        .last()
        .map_or("", |(_, end)| end)
}

/// A paragraph of words that are never broken.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    words: Vec<(Style, String)>,
}

impl Paragraph {
    /// Of each word of `text`.
    pub(super) fn new(style: Style, text: &str) -> Self {
        let mut words = Self::default();
        words.add(style, text);
        words
    }

    /// Adds each word of `text`.
    pub(super) fn add(&mut self, style: Style, text: &str) -> &mut Self {
        self.words.extend(
            text.split(' ')
                .filter(|word| !word.is_empty())
                .map(|word| (style, word.to_owned())),
        );
        self
    }

    /// Adds one word that may hold spaces, such as `1.41 µs`.
    pub(super) fn add_one(&mut self, style: Style, word: impl Into<String>) -> &mut Self {
        self.words.push((style, word.into()));
        self
    }

    /// Appends `suffix` (punctuation) to the last word.
    pub(super) fn then(&mut self, suffix: &str) -> &mut Self {
        if let Some((_, word)) = self.words.last_mut() {
            word.push_str(suffix);
        }
        self
    }

    /// Adds the first `most` of `names`, with commas, and how many more there are.
    pub(super) fn add_list<'a>(
        &mut self,
        names: impl IntoIterator<Item = Cow<'a, str>>,
        most: usize,
    ) -> &mut Self {
        let names: Vec<_> = names.into_iter().collect();
        for (i, name) in names.iter().take(most).enumerate() {
            if i > 0 {
                self.then(",");
            }
            self.add_one(PLAIN, name.as_ref());
        }
        if names.len() > most {
            self.add_one(PLAIN, format!("+ {} more", names.len() - most));
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Terminal columns that they take in one line.
    pub(super) fn width(&self) -> usize {
        let words = self.words.iter().map(|(_, word)| width(word));
        words.sum::<usize>() + self.words.len().saturating_sub(1)
    }

    /// Writes the paragraph in lines of at most `max` columns, all but the first indented by
    /// `hang`.
    pub(super) fn write(&self, out: &mut String, color: bool, max: Option<usize>, hang: usize) {
        let max = max.unwrap_or(usize::MAX).max(1);
        let hang = hang.min(max / 2);
        let mut used = 0;
        let mut open: Option<Style> = None;
        let mut run = String::new();
        for (style, word) in &self.words {
            let limit = if used == 0 { max } else { max - hang };
            let word = shorten(word, limit);
            if used > 0 && used + 1 + width(&word) > max {
                flush(out, color, open, &mut run);
                out.push('\n');
                pad(out, hang, 0);
                used = hang;
            } else if used > 0 {
                if open != Some(*style) {
                    flush(out, color, open, &mut run);
                    out.push(' ');
                } else {
                    run.push(' ');
                }
                used += 1;
            }
            if open != Some(*style) {
                flush(out, color, open, &mut run);
                open = Some(*style);
            }
            used += width(&word);
            run.push_str(&word);
        }
        flush(out, color, open, &mut run);
        out.push('\n');
    }
}

/// Paints what was gathered in one style and empties it.
fn flush(out: &mut String, color: bool, style: Option<Style>, run: &mut String) {
    paint(out, color, style.unwrap_or(PLAIN), run);
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle_and_fit() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("model::layer::forward", 12), "mode…forward");
        for max in 0..30 {
            for name in [
                "model::attention::forward",
                "畳み込み::畳み込み::前向き",
                "☎\u{fe0f}a❤\u{fe0f}b☎\u{fe0f}c",
                "e\u{301}e\u{301}e\u{301}e\u{301}",
            ] {
                assert!(width(&shorten(name, max)) <= max, "{name} in {max}");
            }
        }
    }

    #[test]
    fn a_cut_end_does_not_begin_with_a_combining_character() {
        assert_eq!(suffix("ae\u{301}", 1), "e\u{301}");
        assert_eq!(suffix("xe\u{301}y", 1), "y");
    }

    #[test]
    fn paragraphs_wrap_by_words_and_never_pass_the_width() {
        let mut words = Paragraph::default();
        words
            .add(WARN, "not timed:")
            .add_one(PLAIN, "1.41 µs")
            .then(",")
            .add(PLAIN, "a_name_that_is_far_too_long for it");
        for max in 1..40 {
            let mut out = String::new();
            words.write(&mut out, false, Some(max), 2);
            assert!(out.lines().all(|line| width(line) <= max), "{max}: {out}");
        }
        let mut out = String::new();
        words.write(&mut out, false, Some(20), 2);
        assert_eq!(out, "not timed: 1.41 µs,\n  a_name…ar_too_long\n  for it\n");
    }
}
