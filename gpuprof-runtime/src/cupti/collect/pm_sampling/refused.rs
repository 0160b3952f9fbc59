//! Why metrics of the user's list are not sampled, as one line each.

use super::host::{AvailableCounters, Host};
use super::library::SamplingLibrary;
use super::listed::{self, KINDS, ListedMetric, Reason, RefusedMetric};

/// The base metrics that are tried as the nearest one.
const NEAREST: usize = 8;

impl RefusedMetric {
    /// One line for the report. Asks CUPTI for the metrics of the chip, which takes milliseconds.
    pub(super) fn line(
        &self,
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
    ) -> String {
        let reason = match &self.reason {
            Reason::ManyPasses => "it needs several passes, and sampling has one".to_owned(),
            Reason::NoRoom(beside) => {
                format!("it needs another pass beside {}", beside.join(", "))
            }
            Reason::NotAccepted => not_accepted(&self.name, library, chip),
        };
        format!("{} is not sampled (GPUPROF_COUNTERS): {reason}", self.name)
    }
}

fn not_accepted(
    name: &str,
    library: &'static SamplingLibrary,
    chip: &AvailableCounters<'_>,
) -> String {
    let mut known: Vec<(String, &[&str])> = Vec::new();
    for (kind, endings) in (0..).zip(KINDS) {
        let names = Host::base_metrics(library, chip, kind).unwrap_or_default();
        known.extend(names.into_iter().map(|name| (name, endings)));
    }
    // What the user may have meant by the base metric: `a.b__c` of `a.b__c.sum`.
    let is_of = |(base, _): &&(String, &[&str])| {
        name.strip_prefix(base.as_str())
            .is_some_and(|ending| ending.is_empty() || ending.starts_with('.'))
    };
    if let Some((base, endings)) = known.iter().find(is_of) {
        if listed::counts_always(base) {
            return format!("{base} also counts while no kernel runs");
        }
        let accepted: Vec<_> = endings
            .iter()
            .map(|ending| format!("{base}{ending}"))
            .collect();
        return format!("accepted of this metric are {}", accepted.join(" and "));
    }
    let (meant, ending) = match listed::split(name) {
        Some((base, _)) => (base, name.strip_prefix(base).unwrap_or_default()),
        None => (name, ""),
    };
    known.sort_by_cached_key(|(base, _)| strsim::levenshtein(base, meant));
    let candidates = known
        .iter()
        .filter(|(base, _)| !listed::counts_always(base));
    let mut names = candidates.take(NEAREST).filter_map(|(base, endings)| {
        let same = endings.iter().find(|other| **other == ending);
        Some(format!("{base}{}", same.or(endings.first())?))
    });
    let nearest = names.find(|name| {
        let metric = ListedMetric::new(name);
        metric.is_some_and(|metric| Host::fits_alone(library, chip, metric.c_name()))
    });
    let has_none = format!("{} has no such metric", chip.name.to_string_lossy());
    match nearest {
        Some(nearest) => format!("{has_none}; the nearest is {nearest}"),
        None => has_none,
    }
}
