//! The names of rows in the table and in the call tree.

use std::collections::{HashMap, HashSet};

use crate::profile::{Function, Profile};
use crate::sanitize;

/// What happened outside of any profiled function.
pub(super) const UNATTRIBUTED: &str = "(unattributed)";

/// The names that several functions have which ran.
#[derive(Default)]
pub(super) struct RepeatedNames<'a>(HashSet<&'a str>);

impl<'a> RepeatedNames<'a> {
    pub(super) fn of(profile: &'a Profile) -> Self {
        let mut counts: HashMap<&str, u32> = HashMap::with_capacity(profile.functions.len());
        for function in profile
            .functions
            .iter()
            .filter(|function| function.has_run())
        {
            *counts.entry(&function.name).or_default() += 1;
        }
        let repeated = counts.into_iter().filter(|(_, count)| *count > 1);
        Self(repeated.map(|(name, _)| name).collect())
    }

    /// The name of a function, with file and line if another function has the same name.
    pub(super) fn shown(&self, function: &Function) -> String {
        let name = sanitize::name(&function.name);
        if !self.0.contains(function.name.as_str()) {
            return name.into_owned();
        }
        format!(
            "{name} ({}:{})",
            sanitize::name(&function.file),
            function.line
        )
    }
}

/// The name of the row that sums up what the limit cut.
pub(super) fn others_label(cut: usize) -> String {
    format!("… {cut} other{}", if cut == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::RepeatedNames;
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
        let repeated = RepeatedNames::of(&profile);
        let names: Vec<String> = profile.functions[..3]
            .iter()
            .map(|function| repeated.shown(function))
            .collect();
        assert_eq!(names, ["step (src/a.rs:3)", "step (src/a.rs:9)", "load"]);
    }
}
