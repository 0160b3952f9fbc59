//! Why metrics of the user's list are not sampled, as one line each.

use std::collections::HashSet;

use super::host::{AvailableCounters, Host};
use super::library::SamplingLibrary;
use super::listed::{self, KINDS, ListedMetric, Reason, RefusedMetric};

/// The names that are tried as the nearest one, of all refused ones together, each in 1.4 ms. For
/// a ratio that needs several passes it is often the 40th, and was the 80th at most (GH100, CUDA
/// 13.0).
const TRIES: usize = 100;

/// One line for the report of each. Asks CUPTI for the metrics of the chip.
pub(super) fn lines(
    refused: &[RefusedMetric],
    library: &'static SamplingLibrary,
    chip: &AvailableCounters<'_>,
) -> Vec<String> {
    if refused.is_empty() {
        return Vec::new();
    }
    let mut metrics = ChipMetrics::new(library, chip);
    let lines = refused.iter().map(|metric| {
        let name = &metric.name;
        let reason = match &metric.reason {
            Reason::NoRoom(beside) => {
                let beside = beside.join(", ");
                format!("it needs another pass beside {beside}: list it first")
            }
            Reason::ManyPasses => metrics.many_passes(name),
            Reason::NotAccepted => metrics.not_accepted(name),
        };
        format!("{name} is not sampled (GPUPROF_COUNTERS): {reason}")
    });
    lines.collect()
}

struct ChipMetrics<'a> {
    library: &'static SamplingLibrary,
    chip: &'a AvailableCounters<'a>,
    /// Base metrics, each with the endings that can be sampled of it.
    known: Vec<(String, &'static [&'static str])>,
    /// Names that were tried in vain.
    refused: HashSet<String>,
    /// How many may still be tried.
    tries: usize,
}

impl<'a> ChipMetrics<'a> {
    fn new(library: &'static SamplingLibrary, chip: &'a AvailableCounters<'a>) -> Self {
        let mut known: Vec<(String, &[&str])> = Vec::new();
        for (kind, endings) in (0..).zip(KINDS) {
            let names = Host::base_metrics(library, chip, kind).unwrap_or_default();
            known.extend(names.into_iter().map(|name| (name, endings)));
        }
        Self {
            library,
            chip,
            known,
            refused: HashSet::new(),
            tries: TRIES,
        }
    }

    fn many_passes(&mut self, name: &str) -> String {
        self.with_nearest("it needs several passes, and sampling has one", name)
    }

    fn not_accepted(&mut self, name: &str) -> String {
        // What the user may have meant by the base metric: `a.b__c` of `a.b__c.sum`.
        let is_of = |(base, _): &&(String, &[&str])| {
            name.strip_prefix(base.as_str())
                .is_some_and(|ending| ending.is_empty() || ending.starts_with('.'))
        };
        let Some((base, endings)) = self.known.iter().find(is_of).cloned() else {
            let has_none = format!("{} has no such metric", self.chip.name.to_string_lossy());
            return self.with_nearest(&has_none, name);
        };
        if listed::counts_always(&base) {
            let reason = format!("{base} also counts while no kernel runs");
            return self.with_nearest(&reason, name);
        }
        let mut accepted: Vec<_> = endings.iter().map(|end| format!("{base}{end}")).collect();
        accepted.retain(|name| self.is_accepted(name));
        match accepted.as_slice() {
            [] => self.many_passes(name),
            [one] => format!("accepted of this metric is {one}"),
            several => format!("accepted of this metric are {}", several.join(" and ")),
        }
    }

    fn with_nearest(&mut self, reason: &str, name: &str) -> String {
        match self.nearest(name) {
            Some(nearest) => format!("{reason}; the nearest is {nearest}"),
            None => reason.to_owned(),
        }
    }

    /// The accepted name that is most like this one.
    fn nearest(&mut self, name: &str) -> Option<String> {
        let (meant, ending) = match listed::split(name) {
            Some((base, _)) => (base, name.strip_prefix(base).unwrap_or_default()),
            None => (name, ""),
        };
        let is_candidate = |(base, _): &&(String, &[&str])| !listed::counts_always(base);
        let mut candidates: Vec<_> = self.known.iter().filter(is_candidate).collect();
        candidates.sort_by_cached_key(|(base, _)| strsim::levenshtein(base, meant));
        let names = candidates.into_iter().filter_map(|(base, endings)| {
            let same = endings.iter().find(|other| **other == ending);
            Some(format!("{base}{}", same.or(endings.first())?))
        });
        let untried = names.filter(|name| !self.refused.contains(name));
        let names: Vec<_> = untried.take(self.tries).collect();
        names.into_iter().find(|name| {
            self.tries -= 1;
            self.is_accepted(name)
        })
    }

    fn is_accepted(&mut self, name: &str) -> bool {
        if self.refused.contains(name) {
            return false;
        }
        let metric = ListedMetric::new(name);
        let is_accepted =
            metric.is_some_and(|metric| Host::fits_alone(self.library, self.chip, metric.c_name()));
        if !is_accepted {
            self.refused.insert(name.to_owned());
        }
        is_accepted
    }
}
