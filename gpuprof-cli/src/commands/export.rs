//! `gpuprof export`: profiles as files for other engines.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[cfg(feature = "parquet")]
use crate::fleet;
#[cfg(feature = "parquet")]
use crate::input_files;
use crate::output::{Exit, complain};

/// Writes the profiles of many ranks as Parquet files, for SQL in DuckDB, Spark and the like
///
/// Makes a folder for each table, with a file for the job, in which rows are sorted by rank. Files
/// that cannot be read are named and skipped; the exit code is then 2. docs/fleets.md has queries
/// for sums, percentiles and the imbalance of ranks, docs/fleets/tables.md the columns.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// JSON profiles, one for each process; folders of them (their *.json files), or patterns such
    /// as 'runs/*.json'
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The format of the files
    #[arg(long, value_enum, default_value_t = ExportFormat::Parquet)]
    format: ExportFormat,

    /// The folder of the tables; other jobs may be there already
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,

    /// Name of the job; otherwise the value of `job` in GPUPROF_META, or `unnamed`
    #[arg(long, value_name = "NAME")]
    job: Option<String>,

    /// Replace an earlier export of this job
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExportFormat {
    Parquet,
}

const EXAMPLES: &str = "\
Examples:
  gpuprof export profiles/ --format parquet -o fleet --job 4711
  duckdb -c \"SELECT rank, host, wall_ns FROM 'fleet/processes/*/*.parquet'\"";

/// Runs the command.
#[cfg(feature = "parquet")]
pub(crate) fn run(arguments: &ExportArguments) -> Exit {
    let ExportFormat::Parquet = arguments.format;
    let files = match input_files::find(&arguments.files, None) {
        Ok(files) => files,
        Err(problem) => {
            complain(problem);
            return Exit::BadInput;
        }
    };
    let destination = fleet::Destination {
        folder: &arguments.output,
        job: arguments.job.as_deref(),
        replace: arguments.force,
    };
    fleet::export(&files, &destination)
}

/// Says how to get a command that can do it.
#[cfg(not(feature = "parquet"))]
pub(crate) fn run(_: &ExportArguments) -> Exit {
    complain(
        "this command is built without the feature parquet; \
         cargo install gpuprof-cli --features parquet",
    );
    Exit::BadInput
}
