//! The checked-in schema is the one that schemars generates from the structs.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::borrow::Cow;

use crate::profile::{Bucket, Profile};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/profile-1.schema.json");

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

/// Describes the document instead of the Rust types: a number has a range, and `None` is null.
#[derive(Clone, Debug)]
struct AsWritten;

impl Transform for AsWritten {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("default");
        if let Some(Value::Array(names)) = schema.get_mut("required") {
            names.sort_by_key(Value::to_string);
        }
        let format = schema.remove("format");
        if format == Some(json!("uint32")) {
            schema.insert("maximum".into(), json!(u32::MAX));
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ").replace("`None`", "`null`");
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

fn generated() -> String {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(AsWritten);
    let mut schema = settings.into_generator().into_root_schema_for::<Profile>();
    schema.insert("$id".into(), json!("urn:gpuprof:profile:1"));
    schema.insert("title".into(), json!("gpuprof.profile/1"));
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_schema_is_that_of_the_structs() {
    let generated = generated();
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        std::fs::write(FILE, &generated).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap();
    assert!(
        written == generated,
        "{FILE} differs from the structs: run this test with WRITE_SCHEMA=1"
    );
}
