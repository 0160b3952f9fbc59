//! `gpuprof diff`: two versions of a program by their profiles, and a gate for CI.

use std::path::PathBuf;

use clap::{Args, ColorChoice, ValueEnum};
use gpuprof_report::compare::{
    self, ComparisonOptions, GateOutcome, GateRule, ProfileComparison, compare,
};
use gpuprof_report::profile::Profile;
use gpuprof_report::sanitize;
use regex_lite::Regex;

use crate::input::read_profile;
use crate::input_files;
use crate::output::{self, Exit, complain};

/// Compares the runs of two versions: which functions and kernels became faster or slower
///
/// Each file is a run. Two paths without --vs are the old and the new version. Exit code 0: no
/// regression is shown; 1: a regression; 2: bad input; 3, with --strict: the runs do not decide it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArguments {
    /// Runs of the old version: JSON profiles, folders of them, or patterns such as 'old/*.json'
    #[arg(required = true, value_name = "OLD")]
    old: Vec<PathBuf>,

    /// Runs of the new version [default: the second of two paths]
    #[arg(long, num_args = 1.., value_name = "NEW")]
    vs: Vec<PathBuf>,

    /// Fail only on functions and kernels whose name matches, and which take at least PERCENT
    /// longer per call. `all GPU work` and `all CPU work` are names too. [default: any that is
    /// SLOWER]
    #[arg(long, value_name = "REGEX:PERCENT", value_parser = limit)]
    fail_on: Vec<FailLimit>,

    /// Exit with 3 if the runs do not decide whether something is slower
    #[arg(long)]
    strict: bool,

    /// The largest change, in percent, that is still SAME
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "3",
        value_parser = percent,
        allow_negative_numbers = true
    )]
    margin: f64,

    /// How to write the comparison
    #[arg(long, value_enum, default_value_t)]
    format: DiffFormat,

    /// Rows of the table that are SAME; the others are counted
    #[arg(
        long,
        value_name = "ROWS",
        default_value = "30",
        value_parser = output::row_count,
        allow_negative_numbers = true
    )]
    limit: usize,

    /// Write into this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Colours of the table
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    color: ColorChoice,
}

const EXAMPLES: &str = "\
Examples:
  gpuprof diff old.json new.json
  gpuprof diff old/ --vs new/
  gpuprof diff old/*.json --vs new/*.json --fail-on '^model:::5' --strict
  gpuprof diff old/ --vs new/ --format markdown -o comment.md

Make at least five runs of each version, alternating: old, new, old, new.";

/// How to write a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Aligned text
    #[default]
    Table,
    /// For a comment on a pull request
    Markdown,
    /// A document of the schema gpuprof.comparison/1
    Json,
}

/// A value of --fail-on.
#[derive(Clone, Debug)]
struct FailLimit {
    regex: Regex,
    change: f64,
}

/// Reads `REGEX:PERCENT`.
fn limit(text: &str) -> Result<FailLimit, String> {
    let (regex, limit) = text.rsplit_once(':').ok_or(
        "it takes REGEX:PERCENT, such as '^model:::5' for functions of model that are 5 % slower",
    )?;
    let regex = Regex::new(regex).map_err(|error| error.to_string())?;
    let change = percent(limit)?;
    Ok(FailLimit { regex, change })
}

/// Reads a percentage as a share.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent: Option<f64> = number.parse().ok();
    let percent = percent
        .filter(|percent| (0.0..=1e6).contains(percent))
        .ok_or_else(|| {
            let text = sanitize::quoted(text, 30);
            format!("{text} is not a percentage from 0, such as 5")
        })?;
    Ok(percent / 100.0)
}

/// Runs the command.
pub(crate) fn run(arguments: &DiffArguments) -> Exit {
    let Some((old, new)) = sides(arguments) else {
        complain("name the runs of the new version after --vs: only two paths do without it");
        return Exit::BadInput;
    };
    let (Some(old), Some(new)) = (read(old), read(new)) else {
        return Exit::BadInput;
    };
    let mut options = ComparisonOptions::default();
    options.margin = arguments.margin;
    let comparison = compare(&old, &new, &options);
    let rules: Vec<GateRule> = arguments.fail_on.iter().map(rule).collect();
    let gate = GateOutcome::new(&comparison, &rules);
    let result = match arguments.format {
        DiffFormat::Table => {
            let into_file = arguments.output.is_some();
            let color = output::table_options(arguments.color, into_file).color;
            compare::to_text(&comparison, arguments.limit, color)
        }
        DiffFormat::Markdown => compare::to_markdown(&comparison),
        DiffFormat::Json => compare::to_json(&comparison),
    };
    match output::write(result.as_bytes(), arguments.output.as_deref()) {
        Exit::Success => answer(arguments, &comparison, &gate),
        failed => failed,
    }
}

/// The runs of the old and of the new version; `None` if nothing says which are which.
fn sides(arguments: &DiffArguments) -> Option<(&[PathBuf], &[PathBuf])> {
    match (arguments.old.as_slice(), arguments.vs.as_slice()) {
        (paths @ [_, _], []) => Some(paths.split_at(1)),
        (_, []) => None,
        sides => Some(sides),
    }
}

/// The profiles of a side; `None` if one cannot be read, because a comparison without it would be
/// another one.
fn read(arguments: &[PathBuf]) -> Option<Vec<Profile>> {
    let files = input_files::find(arguments, None).map_err(complain).ok()?;
    let profiles: Vec<Option<Profile>> = (files.iter())
        .map(|file| read_profile(file).map_err(complain).ok())
        .collect();
    profiles.into_iter().collect()
}

fn rule(limit: &FailLimit) -> GateRule {
    let regex = limit.regex.clone();
    GateRule {
        pattern: limit.regex.as_str().to_owned(),
        change: limit.change,
        matches: Box::new(move |name| regex.is_match(name)),
    }
}

/// Failures that are listed.
const MAX_LINES: usize = 10;

/// The exit code, and a line for each reason.
fn answer(arguments: &DiffArguments, comparison: &ProfileComparison, gate: &GateOutcome) -> Exit {
    if comparison.items.is_empty() {
        complain("no function ran in any of the runs: there is nothing to compare");
        return Exit::BadInput;
    }
    for place in &gate.idle_rules {
        let pattern = arguments
            .fail_on
            .get(*place)
            .map_or("", |limit| limit.regex.as_str());
        complain(format_args!(
            "--fail-on {}: no function or kernel has such a name, so that nothing is checked",
            sanitize::quoted(pattern, 100)
        ));
    }
    if !gate.idle_rules.is_empty() {
        return Exit::BadInput;
    }
    for (name, place) in gate.failures.iter().take(MAX_LINES) {
        let limit = place.and_then(|place| arguments.fail_on.get(place));
        let limit = limit.map_or_else(String::new, |limit| {
            format!(" by at least {} %", limit.change * 100.0)
        });
        complain(format_args!("{} is slower{limit}", sanitize::name(name)));
    }
    if let more @ 1.. = gate.failures.len().saturating_sub(MAX_LINES) {
        complain(format_args!("{more} more are slower"));
    }
    if !gate.failures.is_empty() {
        return Exit::Negative;
    }
    if arguments.strict && !gate.unsure.is_empty() {
        let names: Vec<_> = gate
            .unsure
            .iter()
            .take(MAX_LINES)
            .map(|name| sanitize::name(name))
            .collect();
        complain(format_args!(
            "{} UNSURE, which --strict does not accept: {}{}; make more runs",
            gate.unsure.len(),
            names.join(", "),
            if gate.unsure.len() > MAX_LINES {
                ", …"
            } else {
                ""
            }
        ));
        return Exit::Undecided;
    }
    Exit::Success
}

#[cfg(test)]
mod tests {
    use super::{limit, percent};

    #[test]
    fn a_limit_is_a_pattern_and_a_percentage() {
        let found = limit("^model::step:2.5%").unwrap();
        assert_eq!(
            (found.regex.as_str(), found.change),
            ("^model::step", 0.025)
        );
        assert!(limit("step").unwrap_err().contains("REGEX:PERCENT"));
        assert!(limit("(:5").is_err());
        for wrong in ["", "-1", "five", "NaN", "inf"] {
            assert!(
                percent(wrong).unwrap_err().ends_with("such as 5"),
                "{wrong}"
            );
        }
    }
}
