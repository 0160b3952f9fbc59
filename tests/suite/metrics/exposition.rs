//! Reads Prometheus's text format, strictly: a series is given once, after its `# TYPE`.

use std::collections::BTreeMap;

/// The samples of a scrape by their text before the value: `name{label="value",…}`.
#[derive(Debug)]
pub(crate) struct Exposition {
    samples: BTreeMap<String, f64>,
    types: BTreeMap<String, String>,
}

impl Exposition {
    /// # Panics
    /// If a line is not of the format.
    pub(crate) fn read(text: &str) -> Self {
        let (mut samples, mut types) = (BTreeMap::new(), BTreeMap::new());
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                if let Some((name, kind)) = comment
                    .strip_prefix("TYPE ")
                    .and_then(|comment| comment.split_once(' '))
                {
                    let known = types.insert(name.to_owned(), kind.to_owned());
                    assert_eq!(known, None, "{line}");
                }
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a sample");
            let value = value.parse().expect("a number");
            let name = series.split('{').next().expect("a name");
            let parts = ["_bucket", "_sum", "_count"];
            let family = parts.iter().find_map(|part| name.strip_suffix(part));
            let family = family.filter(|family| types.contains_key(*family));
            assert!(
                types.contains_key(family.unwrap_or(name)),
                "no TYPE: {line}"
            );
            let known = samples.insert(series.to_owned(), value);
            assert_eq!(known, None, "twice: {line}");
        }
        Self { samples, types }
    }

    /// # Panics
    /// If a counter, or a part of a histogram, is gone or lower than in `before`.
    pub(crate) fn assert_not_below(&self, before: &Self) {
        for (series, old) in &before.samples {
            let name = series.split('{').next().unwrap_or(series);
            let is_counter = ["_total", "_bucket", "_sum", "_count"];
            if is_counter.iter().any(|end| name.ends_with(end)) {
                let new = self.samples.get(series);
                assert!(new >= Some(old), "{series}: {new:?} after {old}");
            }
        }
    }

    pub(crate) fn kind(&self, name: &str) -> Option<&str> {
        self.types.get(name).map(String::as_str)
    }

    /// The samples of `name` with all of `labels`, by their whole text.
    pub(crate) fn of<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = (&'a str, f64)> {
        let has = |series: &str| {
            labels
                .iter()
                .all(|(label, value)| series.contains(&format!("{label}=\"{value}\"")))
        };
        self.samples.iter().filter_map(move |(series, value)| {
            let is_it = series.split('{').next() == Some(name) && has(series);
            is_it.then_some((series.as_str(), *value))
        })
    }

    /// The only sample of `name` with these labels.
    ///
    /// # Panics
    /// If there is none, or more than one.
    pub(crate) fn one(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found: Vec<_> = self.of(name, labels).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?} in {self:#?}");
        found[0].1
    }

    /// A histogram: count, sum in ns, and the counts of its buckets that are not empty, by their
    /// inclusive upper bound in ns (`u64::MAX` for infinity).
    pub(crate) fn histogram(
        &self,
        name: &str,
        labels: &[(&str, &str)],
    ) -> (u64, u64, Vec<(u64, u64)>) {
        let whole = |value: f64| {
            assert_eq!(value.fract(), 0.0);
            value as u64
        };
        let part = |part: &str| self.one(&format!("{name}_{part}"), labels);
        let mut within: Vec<(u64, u64)> = self
            .of(&format!("{name}_bucket"), labels)
            .map(|(series, value)| {
                let le = series.split("le=\"").nth(1).expect("a bound");
                let le: f64 = le
                    .split('"')
                    .next()
                    .unwrap_or(le)
                    .parse()
                    .expect("a number");
                ((le * 1e9).round() as u64, whole(value))
            })
            .collect();
        within.sort_unstable();
        let mut below = 0;
        let mut buckets = Vec::new();
        for (bound, count) in within {
            assert!(count >= below, "buckets are cumulative");
            if count > below {
                buckets.push((bound, count - below));
            }
            below = count;
        }
        let count = whole(part("count"));
        assert_eq!(below, count, "the last bucket has all");
        (count, (part("sum") * 1e9).round() as u64, buckets)
    }
}
