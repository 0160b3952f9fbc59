//! The columns of a table: each has its name, its meaning and its value in a row in one place.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use gpuprof_report::columns::{ColumnValue, ValueKind};
use gpuprof_report::profile::{Function, GpuActivity, MetaPair, Profile, SpanStats};

/// One process of the job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process<'a> {
    /// Its position among the files that were given, from 0.
    pub(super) number: usize,
    /// The file that it was read from.
    pub(super) path: &'a str,
    pub(super) profile: &'a Profile,
}

/// A row about a `T` of a process: of one of its functions if `N` is
/// [`Numbered`](super::functions::Numbered), and about one bucket of it if `B` is
/// [`InRange`](super::buckets::InRange).
pub(super) struct Row<'a, T, N = (), B = ()> {
    pub(super) process: Process<'a>,
    pub(super) numbered: N,
    pub(super) of: T,
    pub(super) in_range: B,
}

/// A row for each of `all`.
pub(super) fn rows_of<'a, T>(
    process: Process<'a>,
    all: impl IntoIterator<Item = T>,
) -> Vec<Row<'a, T>> {
    let rows = all.into_iter().map(|of| Row {
        process,
        numbered: (),
        of,
        in_range: (),
    });
    rows.collect()
}

/// One column of a table with rows of the type `R`.
pub(super) struct FleetColumn<R> {
    pub(super) name: Cow<'static, str>,
    /// What docs/fleets/tables.md says about it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares the page with it")
    )]
    pub(super) meaning: &'static str,
    pub(super) cell: Cell<R>,
}

/// The value of a column in a row.
pub(super) enum Cell<R> {
    Text(fn(&R) -> &str),
    OptionalText(fn(&R) -> Option<&str>),
    Number(fn(&R) -> u64),
    OptionalNumber(fn(&R) -> Option<u64>),
    /// A figure of durations; NULL without these.
    OfSpans(fn(&R) -> Option<&SpanStats>, fn(&SpanStats) -> u64),
    OptionalReal(fn(&R) -> Option<f64>),
    /// A figure of a function.
    OfFunction(ValueKind, fn(&R) -> &Function, fn(&Function) -> ColumnValue),
    /// A figure of what CUPTI recorded of a function.
    OfActivity(
        ValueKind,
        fn(&R) -> &GpuActivity,
        fn(&GpuActivity) -> ColumnValue,
    ),
    Flag(fn(&R) -> bool),
    /// Texts by key.
    Pairs(fn(&R) -> &[MetaPair]),
}

/// A column.
pub(super) fn column<R>(
    name: impl Into<Cow<'static, str>>,
    meaning: &'static str,
    cell: Cell<R>,
) -> FleetColumn<R> {
    FleetColumn {
        name: name.into(),
        meaning,
        cell,
    }
}

/// The columns of a table, in their order.
pub(super) fn joined<R, const N: usize>(parts: [Vec<FleetColumn<R>>; N]) -> Vec<FleetColumn<R>> {
    parts.into_iter().flatten().collect()
}

/// The columns with which every table begins.
pub(super) fn process_columns<'a, T, N, B>() -> Vec<FleetColumn<Row<'a, T, N, B>>> {
    vec![
        column(
            "rank",
            "rank of the process in its job; the rows are sorted by it; NULL if it has none",
            Cell::OptionalNumber(|row| row.process.profile.rank.map(u64::from)),
        ),
        column(
            "process",
            "number of the process: the position of its file among those exported, from 0",
            Cell::Number(|row| row.process.number as u64),
        ),
        column(
            "host",
            "name of the machine",
            Cell::Text(|row| &row.process.profile.host),
        ),
    ]
}

/// The schema of a table.
pub(super) fn schema<R>(columns: &[FleetColumn<R>]) -> SchemaRef {
    let fields = columns.iter().map(|column| {
        Field::new(
            &*column.name,
            column.cell.data_type(),
            column.cell.is_nullable(),
        )
    });
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// The rows as columns of the schema that [`schema`] gives.
pub(super) fn batch<R>(
    columns: &[FleetColumn<R>],
    schema: &SchemaRef,
    rows: &[R],
) -> Result<RecordBatch, ArrowError> {
    let arrays = columns.iter().map(|column| column.cell.array(rows));
    RecordBatch::try_new(schema.clone(), arrays.collect::<Result<_, _>>()?)
}

impl<R> Cell<R> {
    /// The type as SQL names it.
    #[cfg(test)]
    pub(super) fn sql_type(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::OptionalText(_) => "VARCHAR",
            Self::Number(_) | Self::OptionalNumber(_) | Self::OfSpans(..) => "BIGINT",
            Self::OptionalReal(_) => "DOUBLE",
            Self::OfFunction(kind, ..) | Self::OfActivity(kind, ..) => sql_type(*kind),
            Self::Flag(_) => "BOOLEAN",
            Self::Pairs(_) => "MAP of VARCHAR to VARCHAR",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Text(_) | Self::OptionalText(_) => DataType::Utf8,
            // Signed, as Spark has no other integers.
            Self::Number(_) | Self::OptionalNumber(_) | Self::OfSpans(..) => DataType::Int64,
            Self::OptionalReal(_) => DataType::Float64,
            Self::OfFunction(kind, ..) | Self::OfActivity(kind, ..) => data_type(*kind),
            Self::Flag(_) => DataType::Boolean,
            Self::Pairs(_) => {
                let key = Field::new("key", DataType::Utf8, false);
                let value = Field::new("value", DataType::Utf8, true);
                let entries = DataType::Struct(Fields::from(vec![key, value]));
                DataType::Map(Arc::new(Field::new("key_value", entries, false)), false)
            }
        }
    }

    fn is_nullable(&self) -> bool {
        match self {
            Self::OptionalText(_)
            | Self::OptionalNumber(_)
            | Self::OfSpans(..)
            | Self::OptionalReal(_) => true,
            Self::OfFunction(kind, ..) | Self::OfActivity(kind, ..) => *kind != ValueKind::Whole,
            Self::Text(_) | Self::Number(_) | Self::Flag(_) | Self::Pairs(_) => false,
        }
    }

    fn array(&self, rows: &[R]) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Text(get) => text_array(rows.iter().map(|row| Some(get(row))))?,
            Self::OptionalText(get) => text_array(rows.iter().map(get))?,
            Self::Number(get) => number_array(rows.iter().map(|row| Some(get(row)))),
            Self::OptionalNumber(get) => number_array(rows.iter().map(get)),
            Self::OfSpans(of, get) => number_array(rows.iter().map(|row| of(row).map(get))),
            Self::OptionalReal(get) => real_array(rows.iter().map(get)),
            Self::OfFunction(kind, of, get) => {
                figure_array(*kind, rows.iter().map(|row| get(of(row))))
            }
            Self::OfActivity(kind, of, get) => {
                figure_array(*kind, rows.iter().map(|row| get(of(row))))
            }
            Self::Flag(get) => {
                let mut array = BooleanBuilder::with_capacity(rows.len());
                rows.iter().for_each(|row| array.append_value(get(row)));
                Arc::new(array.finish())
            }
            Self::Pairs(get) => pair_array(rows.iter().map(get))?,
        })
    }
}

/// Texts of a column of one profile, bytes: names are repeated in each row. A column of Arrow
/// cannot hold more than 2 GiB.
const MAX_TEXT_BYTES: usize = 256 << 20;

fn text_array<'a>(
    texts: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Result<ArrayRef, ArrowError> {
    let lengths = texts.clone().flatten().map(str::len);
    if lengths.fold(0, usize::saturating_add) > MAX_TEXT_BYTES {
        let limit = MAX_TEXT_BYTES >> 20;
        let problem =
            format!("its names are too long: a column would have over {limit} MiB of them");
        return Err(ArrowError::InvalidArgumentError(problem));
    }
    let mut array = StringBuilder::new();
    array.extend(texts);
    Ok(Arc::new(array.finish()))
}

/// Numbers that pass the largest of SQL's are that one.
fn number_array(numbers: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let mut array = Int64Builder::new();
    array.extend(numbers.map(|number| Some(i64::try_from(number?).unwrap_or(i64::MAX))));
    Arc::new(array.finish())
}

fn real_array(numbers: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    let mut array = Float64Builder::new();
    array.extend(numbers);
    Arc::new(array.finish())
}

#[cfg(test)]
fn sql_type(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Whole | ValueKind::OptionalWhole => "BIGINT",
        ValueKind::OptionalReal => "DOUBLE",
    }
}

fn data_type(kind: ValueKind) -> DataType {
    match kind {
        ValueKind::Whole | ValueKind::OptionalWhole => DataType::Int64,
        ValueKind::OptionalReal => DataType::Float64,
    }
}

fn figure_array(kind: ValueKind, values: impl Iterator<Item = ColumnValue>) -> ArrayRef {
    match kind {
        ValueKind::Whole | ValueKind::OptionalWhole => number_array(values.map(ColumnValue::whole)),
        ValueKind::OptionalReal => real_array(values.map(ColumnValue::real)),
    }
}

fn pair_array<'a>(rows: impl Iterator<Item = &'a [MetaPair]>) -> Result<ArrayRef, ArrowError> {
    let names = MapFieldNames {
        entry: "key_value".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    let mut array = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for pairs in rows {
        for (at, pair) in pairs.iter().enumerate() {
            // An engine may refuse a map with two values of a key; the last counts, as in
            // GPUPROF_META.
            let after = pairs.get(at + 1..).unwrap_or_default();
            if after.iter().all(|later| later.key != pair.key) {
                array.keys().append_value(&pair.key);
                array.values().append_value(&pair.value);
            }
        }
        array.append(true)?;
    }
    Ok(Arc::new(array.finish()))
}
