//! A text that ends its writer at a limit: names that expand without end cost no more than that.

use std::fmt;

use crate::sanitize::longest_prefix;

#[derive(Debug)]
pub(super) struct BoundedText {
    text: String,
    max_bytes: usize,
    is_cut: bool,
}

impl BoundedText {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            max_bytes,
            is_cut: false,
        }
    }

    /// What was written with `result`: a text beyond the limit is cut and ends with `…`. `None` if
    /// the writer failed for another reason.
    pub(super) fn finish(mut self, result: fmt::Result) -> Option<String> {
        match (result, self.is_cut) {
            (Err(_), false) => None,
            (_, true) => {
                self.text.push('…');
                Some(self.text)
            }
            (Ok(()), false) => Some(self.text),
        }
    }
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.max_bytes - self.text.len();
        if !self.is_cut && part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        if !self.is_cut {
            self.text.push_str(longest_prefix(part, room));
            self.is_cut = true;
        }
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::BoundedText;

    #[test]
    fn a_text_beyond_the_limit_is_cut_between_characters() {
        for (max_bytes, expected) in [(6, "naïve"), (5, "naïv…"), (3, "na…"), (0, "…")] {
            let mut text = BoundedText::new(max_bytes);
            let result = text.write_str("naïv").and_then(|()| text.write_str("e"));
            assert_eq!(result.is_err(), max_bytes < 6);
            assert_eq!(text.finish(result).as_deref(), Some(expected));
        }
    }

    #[test]
    fn another_failure_gives_no_text() {
        let mut text = BoundedText::new(6);
        assert_eq!(text.write_str("naïv"), Ok(()));
        assert_eq!(text.finish(Err(std::fmt::Error)), None);
    }
}
