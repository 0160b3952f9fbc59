//! The names of rows in the table and in the call tree.

use crate::profile::{Function, Profile};
use crate::sanitize;

/// The name of the row that sums up what the limit cut.
pub(super) fn others(cut: usize) -> String {
    format!("… {cut} other{}", if cut == 1 { "" } else { "s" })
}

/// The name of a function, with file and line if another function that ran has the same name.
pub(super) fn shown(function: &Function, profile: &Profile) -> String {
    let name = sanitize::name(&function.name);
    let mut same = profile
        .functions
        .iter()
        .filter(|other| other.name == function.name && other.has_run());
    match same.nth(1) {
        Some(_) => format!(
            "{name} ({}:{})",
            sanitize::name(&function.file),
            function.line
        ),
        None => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::profile::{Function, Profile};

    #[test]
    fn functions_of_one_name_are_told_apart_by_their_place() {
        let function = |name: &str, line, calls| Function {
            name: name.into(),
            file: "src/a.rs".into(),
            line,
            calls,
            ..Function::default()
        };
        let profile = Profile {
            functions: vec![
                function("step", 3, 1),
                function("step", 9, 2),
                function("load", 20, 1),
                function("load", 30, 0),
            ],
            ..Profile::default()
        };
        let names: Vec<String> = profile.functions[..3]
            .iter()
            .map(|function| shown(function, &profile))
            .collect();
        assert_eq!(names, ["step (src/a.rs:3)", "step (src/a.rs:9)", "load"]);
    }
}
