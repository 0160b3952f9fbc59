//! The JSON Schema that schemars derives from the structs, which holds the writer to them.

#[path = "../../tests/json/documents.rs"]
mod documents;
#[path = "../../tests/profiles/mod.rs"]
mod profiles;
mod tests;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

use crate::profile::{Bucket, Profile};

impl JsonSchema for Bucket {
    fn schema_name() -> Cow<'static, str> {
        "Bucket".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The pair [index, count] of a bucket that is not empty.",
            "type": "array",
            "prefixItems": [
                {"type": "integer", "minimum": 0, "maximum": 639},
                {"type": "integer", "minimum": 1},
            ],
            "minItems": 2,
            "maxItems": 2,
        })
    }
}

/// Describes the document instead of the Rust types: a number has a range.
#[derive(Clone, Debug)]
struct AsWritten;

impl Transform for AsWritten {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("default");
        let format = schema.remove("format");
        if format == Some(json!("uint32")) {
            schema.insert("maximum".into(), json!(u32::MAX));
        }
        // The value of an enum's variant is described with the variant.
        let description = schema.get("description").cloned();
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for field in fields.into_iter().flat_map(|fields| fields.values_mut()) {
            if let (Some(field), Some(description)) = (field.as_object_mut(), &description) {
                let text = field.entry("description");
                text.or_insert_with(|| description.clone());
            }
        }
        transform_subschemas(self, schema);
    }
}

fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(AsWritten);
    settings
        .into_generator()
        .into_root_schema_for::<Profile>()
        .into()
}
