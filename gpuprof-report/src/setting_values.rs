//! Settings as plain types, shared by builds that measure and builds that do not.

mod counters;

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

pub use self::counters::{Counters, MAX_LISTED, WrongCounters};

/// What spans do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Measure, and emit NVTX ranges.
    #[default]
    On,
    /// Emit NVTX ranges only.
    Nvtx,
    /// Nothing.
    Off,
}

/// One thing to write at exit.
///
/// A file is replaced as a whole. `{pid}`, `{rank}` and `{exe}` in its path are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The table, on standard error.
    Table,
    /// The table with every row, column and line, on standard error.
    FullTable,
    /// The [JSON document](crate::json), into a file.
    Json(PathBuf),
    /// The functions as [CSV](crate::csv), into a file.
    Csv(PathBuf),
    /// The GPU time of each call path as [folded stacks](crate::folded), into a file.
    Folded(PathBuf),
    /// The CPU time of each call path as [folded stacks](crate::folded), into a file.
    FoldedCpu(PathBuf),
    /// GPU and CPU time by call path for [pprof](https://github.com/google/pprof), into a file;
    /// needs the feature `pprof`.
    Pprof(PathBuf),
    /// The report as a web page, into a file; needs the feature `html`.
    Html(PathBuf),
    /// The time line, into a file; needs the feature `trace`.
    Trace(PathBuf),
}

impl Output {
    /// Parses one item of `GPUPROF_REPORT`: `table`, `table:full`, or `NAME=PATH` with the name
    /// `json`, `csv`, `folded`, `folded:cpu`, `pprof`, `html` or `trace`; `None` for any other
    /// text. A relative path is made absolute, because the program may change its working
    /// directory later.
    #[must_use]
    pub fn parse(item: &str) -> Option<Self> {
        let new: fn(PathBuf) -> Self = match item.split_once('=') {
            None if item == "table" => return Some(Self::Table),
            None if item == "table:full" => return Some(Self::FullTable),
            None => return None,
            Some(("json", _)) => Self::Json,
            Some(("csv", _)) => Self::Csv,
            Some(("folded", _)) => Self::Folded,
            Some(("folded:cpu", _)) => Self::FoldedCpu,
            Some(("pprof", _)) => Self::Pprof,
            Some(("html", _)) => Self::Html,
            Some(("trace", _)) => Self::Trace,
            Some(_) => return None,
        };
        let (_, path) = item.split_once('=').filter(|(_, path)| !path.is_empty())?;
        let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        Some(new(path))
    }

    /// Its file, with placeholders; `None` of tables.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Table | Self::FullTable => None,
            Self::Json(path)
            | Self::Csv(path)
            | Self::Folded(path)
            | Self::FoldedCpu(path)
            | Self::Pprof(path)
            | Self::Html(path)
            | Self::Trace(path) => Some(path),
        }
    }
}

/// Which calls are timed on the GPU. All calls are counted and timed on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "snake_case")
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Sampling {
    /// Every call.
    #[default]
    EveryCall,
    /// One call in N, chosen at random.
    OneIn(NonZeroU32),
    /// As many calls of each function as the budget pays for, chosen at random, and its first 8
    /// calls.
    Auto {
        /// What gpuprof may cost, in millionths of the program's time: 10,000 is 1 %. Half of it is
        /// for event pairs.
        budget_ppm: NonZeroU32,
    },
}

impl Sampling {
    /// [`Auto`](Self::Auto) with a budget of 1 % of the program's time.
    pub const AUTO: Self = Self::Auto {
        budget_ppm: match NonZeroU32::new(10_000) {
            Some(budget_ppm) => budget_ppm,
            None => NonZeroU32::MIN,
        },
    };

    /// Parses an integer N ≥ 1 (one call in N is timed), `auto`, or `auto:P%` with a budget of P
    /// percent, from 0.0001 to 100; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "auto" {
            return Some(Self::AUTO);
        }
        if let Some(budget) = text.strip_prefix("auto:") {
            let percent: f64 = budget.strip_suffix('%')?.parse().ok()?;
            let ppm = (percent * 1e4).round();
            let budget_ppm = NonZeroU32::new(ppm as u32).filter(|_| ppm <= 1e6)?;
            return Some(Self::Auto { budget_ppm });
        }
        Some(match text.parse::<NonZeroU32>().ok()? {
            NonZeroU32::MIN => Self::EveryCall,
            n => Self::OneIn(n),
        })
    }
}

/// Why a session did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// Another session is open: finish it first.
    Open,
    /// The filter is not a regular expression; holds the parser's error.
    Filter(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("another gpuprof session is open; finish it first"),
            Self::Filter(error) => write!(f, "the filter is not a regular expression: {error}"),
        }
    }
}

impl Error for SessionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Open => None,
            Self::Filter(error) => Some(error.as_ref()),
        }
    }
}

/// What is recorded through CUPTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CuptiMode {
    /// Nothing.
    #[default]
    Off,
    /// Kernels, copies and memsets, and the CUDA calls that cause them, that wait for the GPU, or
    /// that load modules.
    On,
    /// Also allocations, frees and look-ups of kernels, for the table of API calls. Each of these
    /// calls then takes longer.
    Full,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sort {
    /// GPU self time, the largest first; ties by the GPU time of nested spans, then CPU self time,
    /// then name.
    #[default]
    Gpu,
    /// CPU self time, the largest first.
    Cpu,
    /// Calls, the most first.
    Calls,
    /// The longest single call on the GPU first (on the CPU if no call was timed).
    Max,
    /// Name, alphabetically.
    Name,
}

impl Sort {
    /// The accepted names, the default first.
    pub const NAMES: [&'static str; 5] = ["gpu", "cpu", "calls", "max", "name"];
}

/// Error: the text is not the name of a [`Sort`] order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownSort;

impl fmt::Display for UnknownSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepted are {}", Sort::NAMES.join(", "))
    }
}

impl Error for UnknownSort {}

impl FromStr for Sort {
    type Err = UnknownSort;

    /// Reads one of [`Sort::NAMES`].
    ///
    /// # Errors
    /// [`UnknownSort`], whose text lists the accepted names.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "gpu" => Ok(Self::Gpu),
            "cpu" => Ok(Self::Cpu),
            "calls" => Ok(Self::Calls),
            "max" => Ok(Self::Max),
            "name" => Ok(Self::Name),
            _ => Err(UnknownSort),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_order_is_accepted_and_the_first_is_the_default() {
        for name in Sort::NAMES {
            assert!(name.parse::<Sort>().is_ok(), "{name}");
        }
        assert_eq!(Sort::NAMES[0].parse(), Ok(Sort::default()));
    }

    #[test]
    fn an_output_is_a_table_or_a_file_with_an_absolute_path() {
        let here = std::env::current_dir().unwrap();
        for (item, output) in [
            ("table", Some(Output::Table)),
            ("table:full", Some(Output::FullTable)),
            (
                "json=/a/{pid}.json",
                Some(Output::Json("/a/{pid}.json".into())),
            ),
            ("csv=a=b.csv", Some(Output::Csv(here.join("a=b.csv")))),
            ("folded=/f", Some(Output::Folded("/f".into()))),
            ("folded:cpu=/f", Some(Output::FoldedCpu("/f".into()))),
            ("pprof=/p", Some(Output::Pprof("/p".into()))),
            ("html=/h", Some(Output::Html("/h".into()))),
            ("trace=/t", Some(Output::Trace("/t".into()))),
            ("csv=", None),
            ("csv", None),
            ("folded:gpu=/f", None),
            ("table=/t", None),
            ("", None),
        ] {
            assert_eq!(Output::parse(item), output, "{item}");
        }
    }

    #[test]
    fn sampling_is_auto_or_one_in_a_whole_number() {
        let ten = NonZeroU32::new(10).unwrap();
        let auto = |ppm| Sampling::Auto {
            budget_ppm: NonZeroU32::new(ppm).unwrap(),
        };
        for (text, sampling) in [
            ("1", Some(Sampling::EveryCall)),
            ("10", Some(Sampling::OneIn(ten))),
            ("auto", Some(Sampling::AUTO)),
            ("auto:1%", Some(Sampling::AUTO)),
            ("auto:0.05%", Some(auto(500))),
            ("auto:100%", Some(auto(1_000_000))),
            ("auto:101%", None),
            ("auto:0%", None),
            ("auto:-1%", None),
            ("auto:NaN%", None),
            ("auto:1", None),
            ("auto:", None),
            ("0", None),
            ("-1", None),
            ("all", None),
        ] {
            assert_eq!(Sampling::parse(text), sampling, "{text}");
        }
    }

    #[test]
    fn a_refused_filter_keeps_its_source() {
        let error = SessionError::Filter("unclosed group".into());
        assert_eq!(
            error.to_string(),
            "the filter is not a regular expression: unclosed group"
        );
        assert_eq!(error.source().unwrap().to_string(), "unclosed group");
    }

    #[test]
    fn an_unknown_order_lists_the_accepted_ones() {
        let error = "gpus".parse::<Sort>().unwrap_err();
        assert_eq!(error.to_string(), "accepted are gpu, cpu, calls, max, name");
    }
}
