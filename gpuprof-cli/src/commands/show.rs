//! `gpuprof show`: saved profiles in any format.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, ValueEnum};
use gpuprof_report::html::SourceTexts;
use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::Sort;
use gpuprof_report::{csv, folded, html, json, pprof, table};
use regex_lite::Regex;

use crate::filter::{has_calls, keep_functions};
use crate::input::{read_profile, shown};
use crate::output::{self, Exit, complain};

/// Shows saved profiles as a report, a web page, CSV, JSON, folded stacks or pprof's profile
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowArguments {
    /// JSON profiles, as GPUPROF_REPORT=json=PATH writes them; `-` is standard input. At most
    /// 512 MB each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What to make of the profile
    #[arg(long, value_enum, default_value_t)]
    format: ShowFormat,

    /// The order of the rows [default: gpu]
    #[arg(long, value_name = "ORDER", value_parser = orders())]
    sort: Option<Sort>,

    /// Rows of the call tree, 0 for all; other tables show a third of it [default: 30]
    #[arg(
        long,
        value_name = "ROWS",
        value_parser = output::row_count,
        allow_negative_numbers = true
    )]
    limit: Option<usize>,

    /// Only rows of functions whose name matches this regular expression; findings, kernels, copies
    /// and API calls stay those of the whole program
    #[arg(long, value_name = "REGEX", value_parser = Regex::new)]
    filter: Option<Regex>,

    /// Write into this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Colours of the tables
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    color: ColorChoice,
}

const EXAMPLES: &str = "\
Examples:
  gpuprof show profile.json
  gpuprof show --filter '^model::' --sort cpu profile.json
  gpuprof show --format html -o profile.html profile.json
  gpuprof show --format csv -o profile.csv profile.json
  gpuprof show --format folded profile.json | inferno-flamegraph > gpu.svg";

/// What to make of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    /// The report, as at the end of the program
    #[default]
    Table,
    /// The report with every row, column and line
    Full,
    /// A row for each function, for spreadsheets and data frames
    Csv,
    /// The profile itself
    Json,
    /// The GPU time of each call path, ns, for flame graphs
    Folded,
    /// The CPU time of each call path, ns, for flame graphs
    FoldedCpu,
    /// GPU and CPU time of each call path as a file for `go tool pprof`
    Pprof,
    /// A web page in one file, with the source of sampled kernels as far as it is in this folder
    Html,
}

impl ShowFormat {
    /// Whether a person reads it, so that several files may follow one another.
    fn is_report(self) -> bool {
        matches!(self, Self::Table | Self::Full)
    }
}

fn orders() -> impl TypedValueParser<Value = Sort> {
    PossibleValuesParser::new(Sort::NAMES).try_map(|name| name.parse::<Sort>())
}

/// Runs the command.
pub(crate) fn run(arguments: &ShowArguments) -> Exit {
    if let Some(problem) = contradiction(arguments) {
        complain(problem);
        return Exit::BadInput;
    }
    let mut result = Vec::new();
    let mut code = Exit::Success;
    for file in &arguments.files {
        let shown_so_far = result.len();
        match show(file, arguments, &mut result) {
            Ok(()) => {}
            Err((message, failure)) => {
                complain(message);
                result.truncate(shown_so_far);
                code = code.max(failure);
            }
        }
    }
    if result.is_empty() {
        return code;
    }
    code.max(output::write(&result, arguments.output.as_deref()))
}

/// Adds what is made of a file; or why there is nothing, and what that is as an answer.
fn show(
    file: &Path,
    arguments: &ShowArguments,
    result: &mut Vec<u8>,
) -> Result<(), (String, Exit)> {
    let mut profile = read_profile(file).map_err(|error| (error.to_string(), Exit::BadInput))?;
    let nothing = |why| Err((format!("{}: {why}", shown(file)), Exit::Negative));
    let is_empty = !has_calls(&profile);
    if let Some(filter) = &arguments.filter {
        keep_functions(&mut profile, |name| filter.is_match(name));
        if !is_empty && !has_calls(&profile) {
            return nothing("no function that ran matches the filter");
        }
    }
    if arguments.files.len() > 1 {
        let gap = if result.is_empty() { "" } else { "\n" };
        // Writing into memory cannot fail.
        let _ = writeln!(result, "{gap}==> {} <==", shown(file));
    }
    let before = result.len();
    render(&profile, arguments, result);
    match arguments.format {
        _ if result.len() > before => Ok(()),
        ShowFormat::Folded => nothing("no call path has GPU time"),
        ShowFormat::FoldedCpu => nothing("no call path has CPU time"),
        _ => nothing("no profiled function ran"),
    }
}

/// Why these arguments do not go together.
fn contradiction(arguments: &ShowArguments) -> Option<String> {
    let format = arguments.format.to_possible_value()?;
    let format = format.get_name();
    if arguments.format.is_report() {
        return None;
    }
    if arguments.files.len() > 1 {
        return Some(format!(
            "--format {format} is for one file, and there are {}: several follow one another as \
             --format table or full",
            arguments.files.len()
        ));
    }
    let option = match (arguments.sort, arguments.limit) {
        (Some(_), _) => "--sort",
        (None, Some(_)) => "--limit",
        (None, None) => return None,
    };
    Some(format!(
        "{option} is for --format table and full; --format {format} has every row"
    ))
}

fn render(profile: &Profile, arguments: &ShowArguments, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = match arguments.format {
        ShowFormat::Table | ShowFormat::Full => {
            let into_file = arguments.output.is_some();
            let mut options = output::table_options(arguments.color, into_file);
            options.full = arguments.format == ShowFormat::Full;
            options.sort = arguments.sort.unwrap_or_default();
            options.limit = NonZeroUsize::new(arguments.limit.unwrap_or(output::ROWS));
            table::write(profile, &options, out)
        }
        ShowFormat::Csv => csv::write(profile, out),
        ShowFormat::Json => json::write(profile, out),
        ShowFormat::Folded => folded::write_gpu(profile, out),
        ShowFormat::FoldedCpu => folded::write_cpu(profile, out),
        ShowFormat::Pprof => pprof::write(profile, out),
        ShowFormat::Html => {
            // A profile from elsewhere gets no file outside of the folder that the user is in.
            let texts = SourceTexts::read(profile, Some(Path::new(".")));
            html::write_with_source(profile, &texts, out)
        }
    };
}
