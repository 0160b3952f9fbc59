//! The fields of a JSON object in their order, each value as the text it is.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::push_string;

/// An object of which only the fields that are to change are read.
pub(super) struct EventFields<'a>(Vec<(String, Cow<'a, str>)>);

impl<'a> EventFields<'a> {
    /// The text of a field's value.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let field = self.0.iter().find(|(name, _)| name == key);
        field.map(|(_, value)| value.as_ref())
    }

    /// Replaces the text of a field's value if there is such a field.
    pub(super) fn replace(&mut self, key: &str, change: impl FnOnce(&str) -> String) {
        if let Some((_, value)) = self.0.iter_mut().find(|(name, _)| name == key) {
            *value = Cow::Owned(change(value));
        }
    }

    /// The object on one line.
    pub(super) fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                json.push_str(", ");
            }
            push_string(key, &mut json);
            json.push_str(": ");
            json.push_str(value);
        }
        json.push('}');
        json
    }
}

impl<'de> Deserialize<'de> for EventFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = EventFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event, which is an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventFields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            fields.push((key, Cow::Borrowed(value.get())));
        }
        Ok(EventFields(fields))
    }
}
