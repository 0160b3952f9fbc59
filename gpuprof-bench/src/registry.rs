//! The benchmarks of a program, which `#[gpu_bench]` registers. What the attribute uses of this is
//! not public: it may change in any release.

use std::fmt::Display;

pub use inventory;

use gpuprof_report::profile::Parameter;

use crate::bench::Bench;
use crate::compare::Comparison;
use crate::measurement::Results;

/// A benchmark function.
#[derive(Debug)]
pub struct BenchmarkEntry {
    /// As the attribute or the function names it.
    pub name: &'static str,
    /// The function's module path.
    pub module: &'static str,
    /// The types that it is run with; none for a function that is not generic.
    pub types: &'static [&'static str],
    /// The values of its parameters.
    pub axes: fn() -> Vec<Axis>,
    /// Runs it with the type and the values of these positions.
    pub run: fn(Bench, usize, &[usize]) -> Result<BenchmarkOutcome, String>,
}

inventory::collect!(BenchmarkEntry);

/// A parameter of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<String>,
}

impl Axis {
    /// A parameter and its values, as `Debug` shows them. Texts lose their quotes.
    #[must_use]
    pub fn new(name: &'static str, values: Vec<String>) -> Self {
        let plain = |value: String| value.trim_matches('"').to_owned();
        Self {
            name,
            values: values.into_iter().map(plain).collect(),
        }
    }
}

/// What a benchmark function has found.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few")]
pub enum BenchmarkOutcome {
    /// Times.
    Results(Results),
    /// Times of two implementations.
    Comparison(Comparison),
}

/// What a benchmark function may return.
pub trait Returned {
    /// What it has found, or why it has found nothing.
    ///
    /// # Errors
    /// What the function returned, as text.
    fn into_found(self) -> Result<BenchmarkOutcome, String>;
}

impl Returned for Results {
    fn into_found(self) -> Result<BenchmarkOutcome, String> {
        Ok(BenchmarkOutcome::Results(self))
    }
}

impl Returned for Comparison {
    fn into_found(self) -> Result<BenchmarkOutcome, String> {
        Ok(BenchmarkOutcome::Comparison(self))
    }
}

impl<F: Returned, E: Display> Returned for Result<F, E> {
    fn into_found(self) -> Result<BenchmarkOutcome, String> {
        self.map_err(|error| error.to_string())?.into_found()
    }
}

/// A position for which there is no value.
///
/// # Errors
/// Always.
pub fn no_value() -> Result<BenchmarkOutcome, String> {
    Err("there is no such type or value".to_owned())
}

/// One benchmark with one type and one value for each parameter.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) entry: &'static BenchmarkEntry,
    pub(crate) at_type: usize,
    pub(crate) at: Vec<usize>,
    /// `copy<f32> n=1024`
    pub(crate) name: String,
    /// The type and the values, the type under the name `type`.
    pub(crate) parameters: Vec<Parameter>,
}

impl Case {
    /// All cases of the program that take these values of these parameters, by name; parameters
    /// that are not named take all. `n=1024` is `("n", ["1024"])`.
    pub(crate) fn all(wanted: &[(String, Vec<String>)]) -> Vec<Self> {
        let mut entries: Vec<&BenchmarkEntry> =
            inventory::iter::<BenchmarkEntry>.into_iter().collect();
        entries.sort_by_key(|entry| (entry.module, entry.name));
        entries
            .into_iter()
            .flat_map(|entry| cases_of_entry(entry, wanted))
            .collect()
    }
}

fn cases_of_entry(entry: &'static BenchmarkEntry, wanted: &[(String, Vec<String>)]) -> Vec<Case> {
    let axes = (entry.axes)();
    let mut cases = Vec::new();
    let only = |name: &str, value: &str| {
        let mut of_axis = wanted
            .iter()
            .filter(|(wanted, _)| wanted == name)
            .peekable();
        let is_any = of_axis.peek().is_none();
        is_any || of_axis.any(|(_, values)| values.iter().any(|one| one == value))
    };
    for at_type in 0..entry.types.len().max(1) {
        if entry.types.get(at_type).is_some_and(|ty| !only("type", ty)) {
            continue;
        }
        let (name, parameters) = match entry.types.get(at_type) {
            Some(ty) => (
                format!("{}<{ty}>", entry.name),
                vec![Parameter::new("type", ty)],
            ),
            None => (entry.name.to_owned(), Vec::new()),
        };
        cases.push(Case {
            entry,
            at_type,
            at: Vec::new(),
            name,
            parameters,
        });
    }
    for axis in &axes {
        let values = axis.values.iter().enumerate();
        let values: Vec<(usize, &String)> =
            values.filter(|(_, value)| only(axis.name, value)).collect();
        cases = cases
            .iter()
            .flat_map(|case| {
                let with = |&(position, value): &(usize, &String)| {
                    let mut case = case.clone();
                    case.at.push(position);
                    case.name.push_str(&format!(" {}={value}", axis.name));
                    case.parameters.push(Parameter::new(axis.name, value));
                    case
                };
                values.iter().map(with).collect::<Vec<_>>()
            })
            .collect();
    }
    cases
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::Device;

    use super::{Axis, BenchmarkEntry, BenchmarkOutcome, Case, Results, inventory};

    inventory::submit! {
        BenchmarkEntry {
            name: "copy",
            module: "tests",
            types: &["f32", "f64"],
            axes: || vec![
                Axis::new("n", vec!["1".to_owned(), "2".to_owned()]),
                Axis::new("kernel", vec!["\"naive\"".to_owned()]),
            ],
            run: |_, at_type, at| {
                let name = format!("{at_type} {at:?}");
                Ok(BenchmarkOutcome::Results(Results::new(&name, Device::default())))
            },
        }
    }

    fn names(wanted: &[(&str, &[&str])]) -> Vec<String> {
        let owned = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
        let wanted: Vec<(String, Vec<String>)> = wanted
            .iter()
            .map(|(name, values)| ((*name).to_owned(), owned(values)))
            .collect();
        Case::all(&wanted)
            .into_iter()
            .map(|case| case.name)
            .collect()
    }

    #[test]
    fn a_benchmark_is_run_with_each_type_and_value() {
        let all = [
            "copy<f32> n=1 kernel=naive",
            "copy<f32> n=2 kernel=naive",
            "copy<f64> n=1 kernel=naive",
            "copy<f64> n=2 kernel=naive",
        ];
        assert_eq!(names(&[]), all);
        assert_eq!(names(&[("n", &["2"])]), [all[1], all[3]]);
        assert_eq!(names(&[("n", &["3"])]), [""; 0]);
        assert_eq!(names(&[("n", &["1"]), ("n", &["2"])]), all);
        assert_eq!(names(&[("type", &["f64"])]), all[2..]);
        let last = Case::all(&[]).pop().expect("there are four");
        let results = (last.entry.run)(crate::bench("x"), last.at_type, &last.at);
        assert!(
            matches!(results, Ok(BenchmarkOutcome::Results(results)) if results.name == "1 [1, 0]")
        );
    }
}
