//! JSON text: values, objects, indentation and escapes.

use std::fmt::Write as _;

use crate::sanitize;

/// A value that JSON can hold.
pub(crate) trait JsonValue {
    fn write(&self, writer: &mut JsonWriter);

    /// Whether an array of such values takes one line.
    fn is_one_line(&self) -> bool {
        true
    }
}

/// A struct that is written as an object.
pub(crate) trait JsonObject {
    /// Writes the fields in the order of the struct. Those of a flattened struct stand in the place
    /// of the field that holds it.
    fn write_fields(&self, fields: &mut Fields<'_>);
}

/// `object` as an indented document without a newline at its end.
pub(crate) fn document(object: &dyn JsonObject) -> String {
    let mut writer = JsonWriter::default();
    writer.object(object);
    writer.text
}

/// The text so far.
#[derive(Default)]
pub(crate) struct JsonWriter {
    text: String,
    /// Number of objects and arrays that are open.
    depth: usize,
}

impl JsonWriter {
    /// A number, or a word such as `null`.
    pub(crate) fn literal(&mut self, literal: impl std::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{literal}");
    }

    pub(crate) fn string(&mut self, text: &str) {
        push_string(text, &mut self.text);
    }

    pub(crate) fn array<'a>(&mut self, values: impl Iterator<Item = &'a dyn JsonValue>) {
        let mut values = values.peekable();
        if values.peek().is_none_or(|value| value.is_one_line()) {
            self.text.push('[');
            for (index, value) in values.enumerate() {
                if index > 0 {
                    self.text.push_str(", ");
                }
                value.write(self);
            }
            self.text.push(']');
            return;
        }
        self.open('[');
        for (index, value) in values.enumerate() {
            self.line(index == 0);
            value.write(self);
        }
        self.close(']', false);
    }

    pub(crate) fn object(&mut self, object: &dyn JsonObject) {
        self.open('{');
        let mut fields = Fields {
            writer: self,
            is_empty: true,
        };
        object.write_fields(&mut fields);
        let is_empty = fields.is_empty;
        self.close('}', is_empty);
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.depth += 1;
    }

    fn close(&mut self, bracket: char, is_empty: bool) {
        self.depth -= 1;
        if !is_empty {
            self.new_line();
        }
        self.text.push(bracket);
    }

    /// Begins the line of an element.
    fn line(&mut self, is_first: bool) {
        if !is_first {
            self.text.push(',');
        }
        self.new_line();
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
    }
}

/// Adds `text` as a JSON string. Characters that a terminal would interpret are escaped.
pub(crate) fn push_string(text: &str, json: &mut String) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\t"),
            _ if sanitize::is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
            _ => json.push(c),
        }
    }
    json.push('"');
}

/// The fields of an open object.
pub(crate) struct Fields<'a> {
    writer: &'a mut JsonWriter,
    is_empty: bool,
}

impl Fields<'_> {
    pub(crate) fn field(&mut self, name: &str, value: &dyn JsonValue) {
        self.writer.line(self.is_empty);
        self.is_empty = false;
        self.writer.string(name);
        self.writer.text.push_str(": ");
        value.write(self.writer);
    }
}

impl<T: JsonObject> JsonObject for Box<T> {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        (**self).write_fields(fields);
    }
}

impl<T: JsonObject> JsonValue for T {
    fn write(&self, writer: &mut JsonWriter) {
        writer.object(self);
    }

    fn is_one_line(&self) -> bool {
        false
    }
}

impl JsonValue for bool {
    fn write(&self, writer: &mut JsonWriter) {
        writer.literal(self);
    }
}

impl JsonValue for u32 {
    fn write(&self, writer: &mut JsonWriter) {
        writer.literal(self);
    }
}

impl JsonValue for u64 {
    fn write(&self, writer: &mut JsonWriter) {
        writer.literal(self);
    }
}

impl JsonValue for f64 {
    /// The shortest text that reads back as the same number; null if it is not finite, for which
    /// JSON has no number.
    fn write(&self, writer: &mut JsonWriter) {
        if self.is_finite() {
            writer.literal(format_args!("{self:?}"));
        } else {
            writer.literal("null");
        }
    }
}

impl JsonValue for String {
    fn write(&self, writer: &mut JsonWriter) {
        writer.string(self);
    }

    /// Texts in arrays are long.
    fn is_one_line(&self) -> bool {
        false
    }
}

impl<T: JsonValue> JsonValue for Option<T> {
    fn write(&self, writer: &mut JsonWriter) {
        match self {
            Some(value) => value.write(writer),
            None => writer.literal("null"),
        }
    }
}

impl<T: JsonValue> JsonValue for [T] {
    fn write(&self, writer: &mut JsonWriter) {
        writer.array(self.iter().map(|value| value as &dyn JsonValue));
    }
}

impl<T: JsonValue> JsonValue for Vec<T> {
    fn write(&self, writer: &mut JsonWriter) {
        self.as_slice().write(writer);
    }
}

impl<T: JsonValue, const N: usize> JsonValue for [T; N] {
    fn write(&self, writer: &mut JsonWriter) {
        self.as_slice().write(writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &dyn JsonValue) -> String {
        let mut writer = JsonWriter::default();
        value.write(&mut writer);
        writer.text
    }

    struct Pair(f64, Option<Vec<Empty>>);

    impl JsonObject for Pair {
        fn write_fields(&self, fields: &mut Fields<'_>) {
            fields.field("a", &self.0);
            fields.field("b", &self.1);
        }
    }

    struct Empty;

    impl JsonObject for Empty {
        fn write_fields(&self, _: &mut Fields<'_>) {}
    }

    #[test]
    fn objects_take_a_line_per_field_and_arrays_of_numbers_one_line() {
        assert_eq!(written(&Empty), "{}");
        assert_eq!(written(&vec![1_u32, 2, 3]), "[1, 2, 3]");
        assert_eq!(written(&vec![[1_u32, 2], [3, 4]]), "[[1, 2], [3, 4]]");
        assert_eq!(
            written(&Pair(1.0, None)),
            "{\n  \"a\": 1.0,\n  \"b\": null\n}"
        );
        assert_eq!(
            written(&Pair(-1e300, Some(vec![Empty, Empty]))),
            "{\n  \"a\": -1e300,\n  \"b\": [\n    {},\n    {}\n  ]\n}"
        );
        assert_eq!(written(&Some(Vec::<Empty>::new())), "[]");
    }

    #[test]
    fn numbers_read_back_as_the_same_number() {
        for number in [
            0.0,
            -0.0,
            0.1,
            1.0 / 3.0,
            1e16,
            5e-324,
            f64::MAX,
            f64::MIN_POSITIVE,
        ] {
            let read: f64 = serde_json::from_str(&written(&number)).unwrap();
            assert_eq!(read.to_bits(), number.to_bits(), "{number}");
        }
        assert_eq!(written(&u64::MAX), "18446744073709551615");
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(written(&number), "null");
        }
    }

    #[test]
    fn any_character_reads_back_and_none_can_reach_a_terminal() {
        let all: String = (0..=char::MAX.into()).filter_map(char::from_u32).collect();
        let json = written(&all);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), all);
        assert!(!json.chars().any(sanitize::is_unsafe));
        assert_eq!(
            written(&"a\"\\\n\t\u{1b}".to_owned()),
            r#""a\"\\\n\t\u001b""#
        );
    }
}
