//! Names that a page must show and never interpret.

use gpuprof_report::profile::Profile;
use serde_json::Value;

/// Ends elements, begins scripts and attributes, names a place of the template, and reverses text.
pub(crate) const MARKUP: &str = "</script></title></pre><img src=x onerror=\"window.broken=1\">\
                                 <script>window.broken=1</script>'\"&amp;\u{202e}{{data}}\u{2028}";

/// The profile with [`MARKUP`] before every text in it.
pub(crate) fn with_markup(profile: &Profile) -> Profile {
    fn prefix(value: &mut Value) {
        match value {
            Value::String(text) => *text = format!("{MARKUP}{text}"),
            Value::Array(values) => values.iter_mut().for_each(prefix),
            Value::Object(fields) => fields.values_mut().for_each(prefix),
            _ => {}
        }
    }
    let mut document = serde_json::to_value(profile).unwrap();
    // Not a text but a choice among fixed words.
    let sampling = document["diagnostics"]["sampling"].take();
    prefix(&mut document);
    document["diagnostics"]["sampling"] = sampling;
    serde_json::from_value(document).unwrap()
}
