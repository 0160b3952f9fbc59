//! The arguments of a benchmark target, with the names that criterion, divan and nvbench give them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

use crate::measurement::CallMode;
use crate::stopping::StoppingRule;

/// Times CUDA code: `cargo bench --bench TARGET -- [OPTIONS] [FILTER]...`
#[derive(Clone, Debug, Parser)]
#[command(about, bin_name = "cargo bench --bench TARGET --")]
pub(crate) struct HarnessOptions {
    /// Run only benchmarks whose name contains one of these texts
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Compare names with the filters as a whole
    #[arg(long)]
    pub(crate) exact: bool,
    /// List the benchmarks and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Run only these values of a parameter
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = axis)]
    pub(crate) axis: Vec<(String, Vec<String>)>,
    /// The device, by its CUDA ordinal
    #[arg(long, default_value_t = 0)]
    pub(crate) device: usize,
    /// How calls are made
    #[arg(
        long,
        value_delimiter = ',',
        default_values_t = [CallMode::Cold, CallMode::Hot],
        value_parser = mode
    )]
    pub(crate) modes: Vec<CallMode>,
    /// End once the median is known to ± this percentage, or to a step of the device's timer
    #[arg(long, value_name = "PERCENT", default_value_t = 0.2)]
    pub(crate) error: f64,
    /// Samples at least; 6 are the least that say how well a median is known
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) min_samples: usize,
    /// Seconds that the samples of one benchmark in one mode take at most, without the warm-up
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    pub(crate) max_time: f64,
    /// Keep the results as a baseline of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) save_baseline: Option<String>,
    /// Compare with this baseline
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// End with status 1 if a benchmark is SLOWER than the baseline
    #[arg(long, requires = "baseline")]
    pub(crate) fail_on_slower: bool,
    /// How the results are printed
    #[arg(long, value_enum, default_value_t = ResultFormat::Table)]
    pub(crate) format: ResultFormat,
    /// Write the results as a gpuprof profile too, for `gpuprof diff` and `gpuprof show`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the results as a web page too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Run each benchmark once, without measuring it (the default unless cargo bench runs it)
    #[arg(long)]
    pub(crate) test: bool,
    /// What cargo bench passes
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
    /// Run none: no benchmark is ignored
    #[arg(long, hide = true)]
    pub(crate) ignored: bool,
    /// Omit benchmarks whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) skip: Vec<String>,
    #[command(flatten)]
    pub(crate) of_test_runners: OfTestRunners,
}

/// What `cargo test` passes on to every target, and means nothing here.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfTestRunners {
    #[arg(long, hide = true)]
    nocapture: bool,
    #[arg(long, hide = true)]
    no_capture: bool,
    #[arg(long, hide = true)]
    include_ignored: bool,
    #[arg(long, hide = true)]
    show_output: bool,
    #[arg(long, short, hide = true)]
    quiet: bool,
    #[arg(long, hide = true)]
    test_threads: Option<usize>,
    #[arg(long, hide = true)]
    color: Option<String>,
    #[arg(short = 'Z', hide = true)]
    unstable: Vec<String>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    Table,
    Markdown,
    Csv,
    /// What test runners ask for: a table.
    #[value(hide = true, alias = "pretty")]
    Terse,
}

impl HarnessOptions {
    /// Whether benchmarks are only tried.
    pub(crate) fn tries(&self) -> bool {
        self.test || !self.bench
    }

    /// When there are enough samples.
    ///
    /// # Errors
    /// A number that cannot be used.
    pub(crate) fn rule(&self) -> Result<StoppingRule, String> {
        if !(self.error > 0.0 && self.error.is_finite()) {
            return Err(format!(
                "--error takes a percentage above 0, such as 0.5, not {}",
                self.error
            ));
        }
        let max_time = Duration::try_from_secs_f64(self.max_time)
            .ok()
            .filter(|time| !time.is_zero());
        let max_time = max_time.ok_or_else(|| {
            format!(
                "--max-time takes seconds above 0, such as 3, not {}",
                self.max_time
            )
        })?;
        Ok(StoppingRule {
            relative_error: self.error / 100.0,
            min_samples: self.min_samples,
            max_time,
            ..StoppingRule::default()
        })
    }
}

fn mode(text: &str) -> Result<CallMode, String> {
    let known = CallMode::ALL.into_iter().find(|mode| mode.name() == text);
    known.ok_or_else(|| format!("there are {}", CallMode::ALL.map(CallMode::name).join(", ")))
}

fn axis(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = text
        .split_once('=')
        .ok_or("write NAME=VALUE or NAME=VALUE,VALUE")?;
    Ok((
        name.to_owned(),
        values.split(',').map(str::to_owned).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::HarnessOptions;
    use crate::measurement::CallMode;

    #[test]
    fn arguments_are_those_of_cargo_bench_and_of_users() {
        HarnessOptions::command().debug_assert();
        let options = HarnessOptions::parse_from(["x", "--bench"]);
        assert!(!options.tries() && options.filters.is_empty());
        assert_eq!(options.modes, [CallMode::Cold, CallMode::Hot]);
        assert!(HarnessOptions::parse_from(["x"]).tries());
        let options = HarnessOptions::parse_from([
            "x",
            "sax",
            "--bench",
            "--axis",
            "n=1,2",
            "--modes",
            "graph,cold",
            "--error",
            "1",
        ]);
        assert_eq!(
            options.axis,
            [("n".to_owned(), vec!["1".to_owned(), "2".to_owned()])]
        );
        assert_eq!(options.modes, [CallMode::Graph, CallMode::Cold]);
        assert_eq!(options.rule().map(|rule| rule.relative_error), Ok(0.01));
    }

    #[test]
    fn wrong_arguments_say_what_is_accepted() {
        let wrong = |arguments: &[&str]| {
            let all = ["x"].iter().chain(arguments);
            HarnessOptions::try_parse_from(all)
                .expect_err("wrong")
                .to_string()
        };
        assert!(wrong(&["--modes", "warm"]).contains("there are cold, hot, graph"));
        assert!(wrong(&["--axis", "n"]).contains("write NAME=VALUE"));
        let rule =
            |arguments: &[&str]| HarnessOptions::parse_from(["x"].iter().chain(arguments)).rule();
        assert!(
            rule(&["--error", "0"])
                .expect_err("0 %")
                .contains("above 0")
        );
        assert!(
            rule(&["--max-time=-1"])
                .expect_err("-1 s")
                .contains("above 0")
        );
    }
}
