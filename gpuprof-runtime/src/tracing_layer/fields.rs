//! The fields of a span: the label of its calls, and their arguments on the time line.

use std::fmt::Debug;

use tracing_core::field::{Field, Visit};

use super::options::LayerOptions;
use crate::span::time_line::value_text;

/// What is kept of a span's fields.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) label: Option<String>,
    /// Empty unless calls are on the time line.
    pub(super) arguments: Vec<(&'static str, String)>,
}

/// Adds values to the fields that are kept.
pub(super) struct FieldVisitor<'a> {
    pub(super) fields: &'a mut Fields,
    pub(super) options: &'a LayerOptions,
    /// Whether calls are on the time line.
    pub(super) keeps_arguments: bool,
}

impl FieldVisitor<'_> {
    fn is_label(&self, field: &Field) -> bool {
        self.options.label_field.as_deref() == Some(field.name())
    }
}

impl Visit for FieldVisitor<'_> {
    /// Without the quotes that `Debug` adds.
    fn record_str(&mut self, field: &Field, value: &str) {
        if self.is_label(field) {
            self.fields.label = Some(value.to_owned());
        }
        self.keep(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if self.is_label(field) {
            self.fields.label = Some(value_text(value));
        }
        self.keep(field, value);
    }
}

impl FieldVisitor<'_> {
    fn keep(&mut self, field: &Field, value: &dyn Debug) {
        if !self.keeps_arguments {
            return;
        }
        let arguments = &mut self.fields.arguments;
        match arguments.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, known)) => *known = value_text(value),
            None => arguments.push((field.name(), value_text(value))),
        }
    }
}
