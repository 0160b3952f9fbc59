//! What a test of a promise observed.

/// One observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What was examined.
    pub what: String,
    /// What was measured, with its unit.
    pub measured: String,
    /// The accepted values.
    pub wanted: String,
    /// Whether the measured value is accepted.
    pub is_kept: bool,
}

impl Observation {
    pub fn new(
        what: impl Into<String>,
        measured: impl Into<String>,
        wanted: impl Into<String>,
        is_kept: bool,
    ) -> Self {
        Self {
            what: what.into(),
            measured: measured.into(),
            wanted: wanted.into(),
            is_kept,
        }
    }
}

/// What a test of a promise returns. An error means that it could not be made.
pub type Observed = Result<Vec<Observation>, String>;

/// Asserts that there are observations, and that each is as promised.
///
/// # Panics
/// If one is not, with all of these.
#[track_caller]
pub fn assert_kept(observed: Observed) {
    let observed = observed.unwrap_or_else(|error| panic!("{error}"));
    assert!(!observed.is_empty(), "nothing was observed");
    let broken: Vec<_> = observed.iter().filter(|one| !one.is_kept).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A duration in ns, with its unit.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        1e9.. => format!("{:.3} s", ns / 1e9),
        1e6.. => format!("{:.3} ms", ns / 1e6),
        1e4.. => format!("{:.2} µs", ns / 1e3),
        1e3.. => format!("{:.3} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_unit() {
        let shown = [900.0, 1_234.0, 12_345.0, 1.5e6, -2e9].map(time);
        let expected = ["900 ns", "1.234 µs", "12.35 µs", "1.500 ms", "-2.000 s"];
        assert_eq!(shown, expected);
    }
}
