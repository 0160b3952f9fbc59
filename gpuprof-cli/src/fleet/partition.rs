//! The folders of a job: `TABLE/job=JOB` in the folder of the export, as Hive names partitions.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::tables::TABLES;

/// The longest escaped name of a job: a file system takes names of 255 bytes.
const MAX_NAME_BYTES: usize = 200;

/// The values that engines read as NULL, in any case of their letters.
const NO_VALUES: [&str; 2] = ["__HIVE_DEFAULT_PARTITION__", "NULL"];

/// The partition of one job in each table.
#[derive(Debug)]
pub(super) struct Partition {
    folder: PathBuf,
    /// `job=JOB`.
    name: String,
}

impl Partition {
    /// Of the job in the folder of the export.
    ///
    /// # Errors
    /// One line about a name that cannot be one.
    pub(super) fn new(folder: &Path, job: &str) -> Result<Self, String> {
        if job.is_empty() {
            return Err("the name of the job is empty; --job NAME names it".to_owned());
        }
        if NO_VALUES
            .iter()
            .any(|value| job.eq_ignore_ascii_case(value))
        {
            return Err(format!(
                "{job} cannot name a job: engines read it as NULL; --job NAME gives another"
            ));
        }
        let escaped = escaped(job);
        if escaped.len() > MAX_NAME_BYTES {
            return Err(format!(
                "the name of the job takes {} bytes in a path, at most {MAX_NAME_BYTES} are \
                 possible; --job NAME gives a shorter one",
                escaped.len()
            ));
        }
        Ok(Self {
            folder: folder.to_owned(),
            name: format!("job={escaped}"),
        })
    }

    fn table_path(&self, table: &str) -> PathBuf {
        self.folder.join(table).join(&self.name)
    }

    /// The first folder that an earlier export of the job has left.
    pub(super) fn existing(&self) -> Option<PathBuf> {
        let mut folders = TABLES.iter().map(|table| self.table_path(table.name));
        folders.find(|folder| folder.symlink_metadata().is_ok())
    }

    /// Moves the folders of the tables from `staged`, which is in the same file system, to where
    /// they belong. Those of an earlier export are moved to `replaced` before, if that is given. If
    /// it fails, all is as it was, or what could not be moved back is still in `replaced`.
    ///
    /// # Errors
    /// Those of the file system; `AlreadyExists` if there is an earlier export and no `replaced`.
    pub(super) fn publish(&self, staged: &Path, replaced: Option<&Path>) -> io::Result<()> {
        let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
        let mut move_all = || {
            replaced.map_or(Ok(()), fs::create_dir_all)?;
            for table in &TABLES {
                let place = self.table_path(table.name);
                fs::create_dir_all(self.folder.join(table.name))?;
                if place.symlink_metadata().is_ok() {
                    let replaced = replaced.ok_or(io::ErrorKind::AlreadyExists)?;
                    let aside = replaced.join(table.name);
                    fs::rename(&place, &aside)?;
                    moved.push((place.clone(), aside));
                }
                let new = staged.join(table.name);
                fs::rename(&new, &place)?;
                moved.push((new, place));
            }
            Ok(())
        };
        let outcome = move_all();
        if outcome.is_err() {
            for (from, to) in moved.iter().rev() {
                // The first failure is the one to report.
                let _ = fs::rename(to, from);
            }
            for table in &TABLES {
                // Removes the folder of a table that has no other job.
                let _ = fs::remove_dir(self.folder.join(table.name));
            }
        }
        outcome
    }
}

/// The text with each ASCII character but letters, digits, `-`, `_` and `.` as `%XX`, which engines
/// read back. Others remain: Spark takes `%XX` for a character, and DuckDB for a byte of UTF-8.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            escaped.push(c);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{:02X}", u32::from(c));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_one_folder_whatever_its_name() {
        let folder = Path::new("fleet");
        for (job, place) in [
            ("train-7.b_2", "fleet/kernels/job=train-7.b_2"),
            ("../a b/=1", "fleet/kernels/job=..%2Fa%20b%2F%3D1"),
            ("größe\0%", "fleet/kernels/job=größe%00%25"),
        ] {
            let partition = Partition::new(folder, job).unwrap();
            assert_eq!(partition.table_path("kernels"), Path::new(place));
        }
        assert!(Partition::new(folder, &"a".repeat(200)).is_ok());
        for (job, line) in [
            ("", "the name of the job is empty; --job NAME names it"),
            (
                &*"ü ".repeat(41),
                "the name of the job takes 205 bytes in a path, at most 200 are possible; --job \
                 NAME gives a shorter one",
            ),
            (
                "null",
                "null cannot name a job: engines read it as NULL; --job NAME gives another",
            ),
            (
                NO_VALUES[0],
                "__HIVE_DEFAULT_PARTITION__ cannot name a job: engines read it as NULL; --job NAME \
                 gives another",
            ),
        ] {
            assert_eq!(Partition::new(folder, job).unwrap_err(), line);
        }
    }

    /// What `processes/job=a/part-0.parquet` in the folder holds.
    fn content(folder: &Path) -> String {
        fs::read_to_string(folder.join("processes/job=a/part-0.parquet")).unwrap()
    }

    /// A folder with a file for each of the tables.
    fn staged(tables: &[&str]) -> tempfile::TempDir {
        let staged = tempfile::tempdir().unwrap();
        for table in tables {
            fs::create_dir(staged.path().join(table)).unwrap();
            fs::write(staged.path().join(table).join("part-0.parquet"), "new").unwrap();
        }
        staged
    }

    #[test]
    fn a_replacement_that_fails_leaves_the_earlier_export() {
        let names = TABLES.map(|table| table.name);
        let folder = tempfile::tempdir().unwrap();
        let partition = Partition::new(folder.path(), "a").unwrap();
        // Of nothing before, nothing remains.
        let incomplete = staged(&names[..3]);
        let old = incomplete.path().join("old");
        assert!(partition.publish(incomplete.path(), Some(&old)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let first = staged(&names);
        partition.publish(first.path(), None).unwrap();
        // Another job of this name may come meanwhile.
        let other = staged(&names);
        let error = partition.publish(other.path(), None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(content(folder.path()), "new");
        fs::write(folder.path().join("processes/job=a/part-0.parquet"), "old").unwrap();
        let incomplete = staged(&names[..3]);
        let old = incomplete.path().join("old");
        assert!(partition.publish(incomplete.path(), Some(&old)).is_err());
        assert_eq!(content(folder.path()), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), names.len());

        let second = staged(&names);
        partition
            .publish(second.path(), Some(&second.path().join("old")))
            .unwrap();
        assert_eq!(content(folder.path()), "new");
    }
}
