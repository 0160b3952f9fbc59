//! JSON without spaces, that can stand inside a `<script>` element.

use std::fmt::Write as _;

use crate::json_writer::push_string;

/// JSON text so far. Commas are set by the writer.
#[derive(Default)]
pub(super) struct JsonText {
    text: String,
    /// Whether the next value follows another one.
    after_value: bool,
}

impl JsonText {
    /// The document. What could end the element or begin a comment in it is in strings alone, and
    /// is escaped.
    pub(super) fn into_string(self) -> String {
        let text = self.text.replace('<', "\\u003c");
        text.replace('>', "\\u003e").replace('&', "\\u0026")
    }

    /// An object with what `write` adds: pairs of [`key`](Self::key) and a value.
    pub(super) fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.enclosed('{', '}', write);
    }

    /// An array of the values that `write` adds.
    pub(super) fn array(&mut self, write: impl FnOnce(&mut Self)) {
        self.enclosed('[', ']', write);
    }

    fn enclosed(&mut self, open: char, close: char, write: impl FnOnce(&mut Self)) {
        self.separate();
        self.text.push(open);
        self.after_value = false;
        write(self);
        self.text.push(close);
        self.after_value = true;
    }

    /// The key of the next value of an object.
    pub(super) fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.text.push(':');
        self.after_value = false;
        self
    }

    pub(super) fn string(&mut self, text: &str) {
        self.separate();
        push_string(text, &mut self.text);
    }

    pub(super) fn integer(&mut self, number: u64) {
        self.literal(number);
    }

    /// Whole numbers that JavaScript holds exactly are written in full, others with five
    /// significant digits; null if it is not finite.
    pub(super) fn number(&mut self, number: f64) {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !number.is_finite() {
            self.null();
        } else if number.fract() == 0.0 && number.abs() < EXACT {
            self.literal(number);
        } else {
            let rounded: f64 = format!("{number:.4e}").parse().unwrap_or(number);
            self.literal(rounded);
        }
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.literal(value);
    }

    pub(super) fn integer_or_null(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.integer(number),
            None => self.null(),
        }
    }

    pub(super) fn null(&mut self) {
        self.literal("null");
    }

    /// An array of strings.
    pub(super) fn strings<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.array(|json| {
            texts
                .into_iter()
                .for_each(|text| json.string(text.as_ref()))
        });
    }

    fn literal(&mut self, literal: impl std::fmt::Display) {
        self.separate();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{literal}");
    }

    fn separate(&mut self) {
        if self.after_value {
            self.text.push(',');
        }
        self.after_value = true;
    }
}

#[cfg(test)]
mod tests {
    use super::JsonText;

    fn written(write: impl FnOnce(&mut JsonText)) -> String {
        let mut json = JsonText::default();
        write(&mut json);
        json.into_string()
    }

    #[test]
    fn values_are_separated_by_commas_alone() {
        let text = written(|json| {
            json.object(|json| {
                json.key("a").array(|json| {
                    json.integer(1);
                    json.null();
                    json.array(|_| {});
                });
                json.key("b").strings(["x", "y"]);
                json.key("c").object(|_| {});
                json.key("d").boolean(true);
            });
        });
        assert_eq!(text, r#"{"a":[1,null,[]],"b":["x","y"],"c":{},"d":true}"#);
    }

    #[test]
    fn numbers_are_exact_or_have_five_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.824_712_3, "0.82471"),
            (1.234_567e-7, "0.00000012346"),
            (239_211_711.0, "239211711"),
            (861_800_123.5, "861800000"),
            (1e300, "1e300"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ] {
            let written = written(|json| json.number(number));
            if number > 1e299 && number.is_finite() {
                assert_eq!(written.parse::<f64>().ok(), Some(number))
            } else {
                assert_eq!(written, text)
            }
        }
    }

    #[test]
    fn no_string_can_leave_the_script_element() {
        let every: String = (0..=char::MAX.into()).filter_map(char::from_u32).collect();
        for text in ["</script><!-- <script>", "\u{2028}\u{2029}&\"\\\n", &every] {
            let json = written(|json| json.string(text));
            assert!(!json.contains(['<', '>', '&', '\n', '\u{2028}', '\u{2029}']));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
