//! `gpuprof export`: profiles as Parquet files, read back by the crate parquet.

mod activities;
mod names;
mod refusals;
mod rows;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Ended, ended, gpuprof};

/// The tables of an export.
const TABLES: [&str; 14] = [
    "api_calls",
    "copies",
    "devices",
    "function_api_calls",
    "function_buckets",
    "function_copies",
    "function_kernels",
    "function_memory",
    "functions",
    "kernel_buckets",
    "kernels",
    "memory",
    "processes",
    "step_windows",
];

/// A folder with profiles in `ranks` and tables in `fleet`.
struct Job(TempDir);

impl Job {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("ranks")).expect("a folder");
        Self(folder)
    }

    fn ranks(&self) -> PathBuf {
        self.0.path().join("ranks")
    }

    fn tables(&self) -> PathBuf {
        self.0.path().join("fleet")
    }

    fn add(&self, name: &str, profile: &Value) {
        self.add_text(name, &profile.to_string());
    }

    fn add_text(&self, name: &str, text: &str) {
        fs::write(self.ranks().join(name), text).expect("a file");
    }

    /// Runs the command on the folder of the profiles.
    fn export(&self, options: &[&str]) -> Ended {
        let mut command = gpuprof(&["export", "--format", "parquet", "-o"]);
        command.arg(self.tables()).args(options).arg(self.ranks());
        ended(command)
    }

    /// Runs the command, which says nothing but that ranks are missing.
    fn export_all(&self, options: &[&str]) {
        let found = self.export(options);
        assert_eq!((found.code, &*found.stdout), (Some(0), ""));
        let mut lines = found.stderr.lines();
        let is_known = |line: &str| line.contains(" ranks have no profile here: ");
        assert!(lines.all(is_known), "{}", found.stderr);
    }

    /// The file of a table for a job, by its escaped name.
    fn file(&self, table: &str, job: &str) -> PathBuf {
        let folder = self.tables().join(table).join(format!("job={job}"));
        folder.join("part-0.parquet")
    }

    fn reader(&self, table: &str, job: &str) -> SerializedFileReader<File> {
        let file = File::open(self.file(table, job)).expect("the file of a table");
        SerializedFileReader::new(file).expect("Parquet")
    }

    /// The rows of a table.
    fn rows(&self, table: &str, job: &str) -> Vec<BTreeMap<String, Field>> {
        let reader = self.reader(table, job);
        let rows = reader.get_row_iter(None).expect("rows");
        let rows = rows.map(|row| {
            let row = row.expect("a row");
            let cells = row.get_column_iter();
            cells
                .map(|(name, cell)| (name.clone(), cell.clone()))
                .collect()
        });
        rows.collect()
    }

    /// These columns of a table.
    fn cells(&self, table: &str, job: &str, columns: &[&str]) -> Vec<Vec<Field>> {
        let rows = self.rows(table, job).into_iter();
        let cells = rows.map(|row| {
            let cells = columns.iter().map(|column| match row.get(*column) {
                Some(cell) => cell.clone(),
                None => panic!("{table} has no column {column}"),
            });
            cells.collect()
        });
        cells.collect()
    }
}

/// A cell.
trait Cell {
    fn cell(self) -> Field;
}

impl Cell for i64 {
    fn cell(self) -> Field {
        Field::Long(self)
    }
}

impl Cell for &str {
    fn cell(self) -> Field {
        Field::Str(self.to_owned())
    }
}

impl Cell for f64 {
    fn cell(self) -> Field {
        Field::Double(self)
    }
}

impl Cell for bool {
    fn cell(self) -> Field {
        Field::Bool(self)
    }
}

/// NULL.
impl Cell for () {
    fn cell(self) -> Field {
        Field::Null
    }
}

/// A row of cells of several types.
macro_rules! row {
    ($($cell:expr),*) => {
        vec![$($crate::export::Cell::cell($cell)),*]
    };
}
use row;

/// A profile of one function, which ran once.
fn profile(rank: u64) -> Value {
    json!({
        "schema": "gpuprof.profile/1", "program": "train", "host": "node0", "pid": 70 + rank,
        "rank": rank, "wall_ns": 1_000 + rank,
        "functions": [{
            "name": "step", "module": "train", "file": "src/main.rs", "line": 7, "calls": 1,
            "cpu": {"total_ns": 17, "self_ns": 17, "sum_ns": 17, "mean_ns": 17, "min_ns": 17,
                "max_ns": 17, "p50_ns": 17, "p99_ns": 17, "histogram": [[17, 1]]}
        }],
        "diagnostics": {"calls": 1}
    })
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry.expect("an entry")))
        .collect();
    names.sort();
    names
}
