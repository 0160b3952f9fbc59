//! Parquet files, one for each table, written row by row.

use std::fs::{self, File};
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;

use super::tables::TABLES;

/// The name and version of the tables, in the metadata of each file.
pub(super) const SCHEMA: &str = "gpuprof.fleet/1";

/// The file of a table for a job.
pub(super) const FILE: &str = "part-0.parquet";

/// Of a row group, which is what an engine reads at once and one processor works on.
const MAX_ROW_GROUP_ROWS: usize = 1 << 17;
const MAX_ROW_GROUP_BYTES: usize = 32 << 20;

/// The files of all tables.
pub(super) struct Writers(Vec<ArrowWriter<File>>);

impl Writers {
    /// Makes a file for each table: `TABLE/part-0.parquet` in the folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn create(folder: &Path) -> Result<Self, ParquetError> {
        let writers = TABLES.iter().map(|table| {
            let folder = folder.join(table.name);
            fs::create_dir(&folder)?;
            let file = File::create_new(folder.join(FILE))?;
            // Without it a file says nothing of Arrow, which only Arrow's own readers know.
            let options = ArrowWriterOptions::new()
                .with_properties(properties())
                .with_skip_arrow_metadata(true);
            ArrowWriter::try_new_with_options(file, (table.schema)(), options)
        });
        Ok(Self(writers.collect::<Result<_, _>>()?))
    }

    /// Adds rows to each table, in the order of [`TABLES`].
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn write(&mut self, batches: &[RecordBatch]) -> Result<(), ParquetError> {
        for (writer, batch) in self.0.iter_mut().zip(batches) {
            writer.write(batch)?;
        }
        Ok(())
    }

    /// Writes what is left, and the ends of the files, and waits until they are on the disk: an
    /// earlier export is deleted afterwards.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn close(self) -> Result<(), ParquetError> {
        for writer in self.0 {
            writer.into_inner()?.sync_all()?;
        }
        Ok(())
    }
}

fn properties() -> WriterProperties {
    // Rank and process are the first two columns of every table.
    let sorted_by = [0, 1].map(|column_idx| SortingColumn {
        column_idx,
        descending: false,
        nulls_first: false,
    });
    let facts = [
        ("gpuprof.schema", SCHEMA),
        ("gpuprof.version", env!("CARGO_PKG_VERSION")),
    ]
    .map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(MAX_ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(MAX_ROW_GROUP_BYTES))
        .set_sorting_columns(Some(sorted_by.to_vec()))
        .set_key_value_metadata(Some(facts.to_vec()))
        .build()
}
