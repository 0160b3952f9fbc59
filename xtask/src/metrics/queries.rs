//! What Prometheus has, and what gpuprof's own merge of the ranks says.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http;
use super::job::FUNCTIONS;

/// A multiple of the interval of scrapes.
const LIMIT: Duration = Duration::from_secs(30);

/// The percentiles of a report.
const QUANTILES: [(f64, &str); 4] = [
    (0.5, "p50_ns"),
    (0.9, "p90_ns"),
    (0.95, "p95_ns"),
    (0.99, "p99_ns"),
];

pub(super) struct Server {
    port: u16,
}

impl Server {
    pub(super) fn new(port: u16) -> Self {
        Self { port }
    }

    /// The value of a query with one result.
    ///
    /// # Errors
    /// A text for the user.
    pub(super) fn value(&self, query: &str) -> Result<f64, String> {
        self.optional(query)?
            .ok_or_else(|| format!("{query}: no value"))
    }

    /// The same, once `is_enough` of it holds; after a time limit whatever it is.
    ///
    /// # Errors
    /// A text for the user.
    pub(super) fn until(
        &self,
        query: &str,
        is_enough: impl Fn(f64) -> bool,
    ) -> Result<f64, String> {
        let began = Instant::now();
        loop {
            let value = self.optional(query)?;
            if value.is_some_and(&is_enough) || began.elapsed() > LIMIT {
                return value.ok_or_else(|| format!("{query}: no value"));
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn optional(&self, query: &str) -> Result<Option<f64>, String> {
        let target = format!("/api/v1/query?query={}", http::escaped(query));
        let answer = http::request(self.port, "GET", &target, b"")?;
        let document: Value = serde_json::from_str(&answer.body)
            .map_err(|error| format!("{query}: {error} in {:?}", answer.body))?;
        if document["status"] != "success" {
            return Err(format!("{query}: {}", document["error"]));
        }
        let results = document["data"]["result"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        match results {
            [] => Ok(None),
            [only] => {
                let text = only["value"][1].as_str().unwrap_or_default();
                let value = text.parse().map_err(|_| format!("{query}: {text:?}"))?;
                Ok(Some(value))
            }
            _ => Err(format!("{query}: {} results", results.len())),
        }
    }
}

/// Quantiles of the GPU time of a request over both ranks, in seconds.
///
/// # Errors
/// A text for the user.
pub(super) fn quantiles(server: &Server) -> Result<Vec<(f64, f64)>, String> {
    let of = |(quantile, _): (f64, &str)| {
        let query = format!(
            "histogram_quantile({quantile}, sum by (le) \
             (gpuprof_function_gpu_seconds_bucket{{function=\"{}\"}}))",
            FUNCTIONS[0]
        );
        Ok((quantile, server.value(&query)?))
    };
    QUANTILES.into_iter().map(of).collect()
}

/// What the merged report has of a request.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) calls: u64,
    gpu: Value,
}

impl Merged {
    /// # Errors
    /// A text for the user.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let functions = document["functions"].as_array();
        let mut functions = functions.map_or(&[][..], Vec::as_slice).iter();
        let request = functions.find(|function| function["name"] == FUNCTIONS[0]);
        let request = request.ok_or("the merged report has no request")?;
        Ok(Self {
            calls: request["calls"].as_u64().unwrap_or(0),
            gpu: request["gpu"].clone(),
        })
    }

    /// Whether a quantile in seconds lies in the bucket that the report's percentile lies in.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn agrees(&self, quantile: f64, seconds: f64) -> Result<String, String> {
        let field = QUANTILES.into_iter().find(|(known, _)| *known == quantile);
        let ns = field
            .and_then(|(_, field)| self.gpu[field].as_u64())
            .unwrap_or(0);
        let (low, high) = bucket(ns);
        let found = seconds * 1e9;
        let text = format!("{found:.0} ns, the report has {ns} ns, in the bucket to {high} ns");
        // Prometheus interpolates from the bound below.
        if (low as f64..=high as f64).contains(&found.round()) {
            Ok(text)
        } else {
            Err(text)
        }
    }
}

/// The exported bucket of a duration above 1 µs: above the first bound, at most the second.
fn bucket(ns: u64) -> (u64, u64) {
    let high = (ns + 1).next_power_of_two() - 1;
    (high / 2, high)
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn bounds_are_powers_of_two_less_one() {
        assert_eq!(bucket(2_047), (1_023, 2_047));
        assert_eq!(bucket(2_048), (2_047, 4_095));
        assert_eq!(bucket(3_000), (2_047, 4_095));
    }
}
