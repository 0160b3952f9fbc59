//! The text of one event: an object on one line.

use std::fmt::Display;
use std::fmt::Write as _;

use crate::json::push_string;

/// JSON objects in one line, to be used again for the next.
#[derive(Default)]
pub(super) struct Text {
    text: String,
    /// Whether the innermost open object or array has an element already.
    has_element: bool,
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Begins an object as a whole text.
    pub(super) fn begin(&mut self) -> &mut Self {
        self.text.clear();
        self.open()
    }

    /// Begins an object as an element of an array, or at the top.
    pub(super) fn open(&mut self) -> &mut Self {
        self.separate();
        self.text.push('{');
        self.has_element = false;
        self
    }

    /// Begins an object as a field.
    pub(super) fn object(&mut self, key: &str) -> &mut Self {
        self.key(key).text.push('{');
        self.has_element = false;
        self
    }

    /// Ends the innermost object.
    pub(super) fn close(&mut self) -> &mut Self {
        self.text.push('}');
        self.has_element = true;
        self
    }

    pub(super) fn string(&mut self, key: &str, value: &str) -> &mut Self {
        push_string(value, &mut self.key(key).text);
        self
    }

    /// A number, or a word such as `null`.
    pub(super) fn literal(&mut self, key: &str, value: impl Display) -> &mut Self {
        // Writing to a String cannot fail.
        let _ = write!(self.key(key).text, "{value}");
        self
    }

    /// The field if there is a value.
    pub(super) fn optional(&mut self, key: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.literal(key, value),
            None => self,
        }
    }

    /// ns in thousands: µs with three decimals.
    pub(super) fn thousandths(&mut self, key: &str, value: u64) -> &mut Self {
        let (whole, rest) = (value / 1000, value % 1000);
        self.literal(key, format_args!("{whole}.{rest:03}"))
    }

    pub(super) fn triple(&mut self, key: &str, [x, y, z]: [u32; 3]) -> &mut Self {
        self.literal(key, format_args!("[{x}, {y}, {z}]"))
    }

    fn key(&mut self, key: &str) -> &mut Self {
        self.separate();
        push_string(key, &mut self.text);
        self.text.push_str(": ");
        self.has_element = true;
        self
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.has_element, true) && !self.text.is_empty() {
            self.text.push_str(", ");
        }
    }
}
