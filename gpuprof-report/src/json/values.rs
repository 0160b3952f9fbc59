//! The pairs and settings of a document; [`figures!`](crate::figures) has its structs.

use crate::json_writer::{Fields, JsonObject, JsonValue, JsonWriter};
use crate::profile::Bucket;
use crate::setting_values::Sampling;

impl JsonValue for Bucket {
    fn write(&self, writer: &mut JsonWriter) {
        let Self { index, count } = self;
        writer.array([index as &dyn JsonValue, count].into_iter());
    }
}

impl JsonValue for Sampling {
    fn write(&self, writer: &mut JsonWriter) {
        match self {
            Self::EveryCall => writer.string("every_call"),
            Self::OneIn(calls) => writer.object(&Only("one_in", calls)),
            Self::Auto { budget_ppm } => {
                writer.object(&Only("auto", &Only("budget_ppm", budget_ppm)));
            }
        }
    }
}

/// An object of one field.
struct Only<'a>(&'static str, &'a dyn JsonValue);

impl JsonObject for Only<'_> {
    fn write_fields(&self, fields: &mut Fields<'_>) {
        let Self(name, value) = self;
        fields.field(name, *value);
    }
}

impl JsonValue for std::num::NonZeroU32 {
    fn write(&self, writer: &mut JsonWriter) {
        self.get().write(writer);
    }
}
