//! The fields of a span: the label of its calls, and their arguments on the time line.

use std::fmt::Debug;

use tracing_core::field::{Field, Visit};

use super::options::LayerOptions;
use crate::span::time_line::value_text;

/// What is kept of a span's fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) label: Option<FieldLabel>,
    pub(super) arguments: Vec<(&'static str, String)>,
}

/// The value of the label field.
#[derive(Clone, Debug)]
pub(super) enum FieldLabel {
    Signed(i64),
    Unsigned(u64),
    Text(String),
}

impl Fields {
    /// Adds values that came later.
    pub(super) fn merge(&mut self, later: Self) {
        if later.label.is_some() {
            self.label = later.label;
        }
        for (name, value) in later.arguments {
            let mut known = self.arguments.iter_mut();
            match known.find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => self.arguments.push((name, value)),
            }
        }
    }
}

/// Adds values to the fields that are kept.
pub(super) struct FieldVisitor<'a> {
    pub(super) fields: &'a mut Fields,
    pub(super) options: &'a LayerOptions,
    /// Whether calls are or may come on the time line.
    pub(super) keeps_arguments: bool,
}

impl FieldVisitor<'_> {
    fn take_label(&mut self, field: &Field, label: impl FnOnce() -> FieldLabel) {
        if self.options.label_field.as_deref() == Some(field.name()) {
            self.fields.label = Some(label());
        }
    }

    fn take_argument(&mut self, field: &Field, value: &dyn Debug) {
        if self.keeps_arguments {
            let argument = (field.name(), value_text(value));
            self.fields.arguments.push(argument);
        }
    }
}

impl Visit for FieldVisitor<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take_label(field, || FieldLabel::Signed(value));
        self.take_argument(field, &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take_label(field, || FieldLabel::Unsigned(value));
        self.take_argument(field, &value);
    }

    /// Without the quotes that `Debug` adds.
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take_label(field, || FieldLabel::Text(value.to_owned()));
        self.take_argument(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take_label(field, || FieldLabel::Text(value_text(value)));
        self.take_argument(field, value);
    }
}
