//! Which hardware counters are sampled.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::sanitize;

/// Metrics that can be listed.
pub const MAX_LISTED: usize = 8;

/// Which hardware counters are sampled: none, gpuprof's own choice, or first the metrics of a list.
///
/// Made from a `bool`, or by [`parse`](str::parse) from the text that `GPUPROF_COUNTERS` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(Option<Vec<String>>);

impl Counters {
    /// Whether any are.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// CUPTI's names of the listed metrics, at most [`MAX_LISTED`].
    #[must_use]
    pub fn listed(&self) -> &[String] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl From<bool> for Counters {
    fn from(is_on: bool) -> Self {
        Self(is_on.then(Vec::new))
    }
}

/// Error: the text is not what [`Counters`] are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongCounters {
    /// More than [`MAX_LISTED`] metrics are listed; holds their number.
    TooMany(usize),
    /// This item of a list is no name that CUPTI could have.
    NotAMetric(String),
}

impl fmt::Display for WrongCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(metrics) => write!(f, "{metrics} metrics are listed"),
            Self::NotAMetric(item) => {
                let item = sanitize::quoted(item, MAX_ITEM_CHARS);
                write!(f, "{item} is not the name of a metric")
            }
        }
    }
}

impl Error for WrongCounters {}

/// How much of an item an error repeats.
const MAX_ITEM_CHARS: usize = 60;

impl FromStr for Counters {
    type Err = WrongCounters;

    /// Reads `off`, `on`, or names of metrics that are separated by commas.
    ///
    /// # Errors
    /// [`WrongCounters`], whose text says what is wrong.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" | "0" => return Ok(false.into()),
            "on" | "1" => return Ok(true.into()),
            _ => {}
        }
        let mut listed: Vec<String> = Vec::new();
        for name in text.split(',').map(str::trim) {
            if !is_name(name) {
                return Err(WrongCounters::NotAMetric(name.to_owned()));
            }
            if !listed.iter().any(|known| known == name) {
                listed.push(name.to_owned());
            }
        }
        if listed.len() > MAX_LISTED {
            return Err(WrongCounters::TooMany(listed.len()));
        }
        Ok(Self(Some(listed)))
    }
}

/// Whether CUPTI could have a metric of this name: `UNIT__COUNTER`, with what is computed of it
/// after dots.
fn is_name(text: &str) -> bool {
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.contains("__") && text.chars().all(is_of_names)
}

#[cfg(test)]
mod tests {
    use super::{Counters, MAX_LISTED, WrongCounters};

    #[test]
    fn counters_are_off_on_or_a_list_of_eight_names() {
        for (text, is_on) in [("off", false), ("0", false), ("on", true), ("1", true)] {
            let counters: Counters = text.parse().unwrap();
            assert_eq!((counters.is_on(), counters.listed()), (is_on, &[][..]));
        }
        let list = "lts__t_sectors.sum, sm__warps_active.sum,lts__t_sectors.sum";
        let counters: Counters = list.parse().unwrap();
        let listed = ["lts__t_sectors.sum", "sm__warps_active.sum"];
        assert_eq!(
            (counters.is_on(), counters.listed()),
            (true, &listed.map(String::from)[..])
        );
        let names = |count: usize| {
            let names: Vec<_> = (0..count).map(|n| format!("lts__{n}.sum")).collect();
            names.join(",").parse::<Counters>()
        };
        assert_eq!(names(MAX_LISTED).unwrap().listed().len(), MAX_LISTED);
        assert_eq!(names(9), Err(WrongCounters::TooMany(9)));
        for (text, item) in [("yes", "yes"), ("", ""), ("lts__a.sum,b c__d", "b c__d")] {
            let error = WrongCounters::NotAMetric(item.to_owned());
            assert_eq!(text.parse::<Counters>(), Err(error), "{text}");
        }
    }
}
