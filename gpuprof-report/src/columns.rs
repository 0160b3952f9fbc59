//! The columns of a table of functions, in CSV and in Parquet, which the declarations of figures
//! give.

/// A struct some of whose figures are columns.
pub trait HasColumns: Sized + 'static {
    /// These, in the order in which they are declared.
    const COLUMNS: &'static [FigureColumn<Self>];

    /// The columns of one group.
    fn columns(group: ColumnGroup) -> impl Iterator<Item = &'static FigureColumn<Self>> {
        let columns = Self::COLUMNS.iter();
        columns.filter(move |column| column.group == group)
    }
}

/// A column, and its value in a row.
#[derive(Debug)]
pub struct FigureColumn<R> {
    /// Where the tables show it.
    pub group: ColumnGroup,
    /// Name of the figure.
    pub name: &'static str,
    /// What docs/fleets/tables.md says about it.
    pub meaning: &'static str,
    /// What its values are.
    pub kind: ValueKind,
    /// The value in a row.
    pub value: fn(&R) -> ColumnValue,
}

/// Columns that stand side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnGroup {
    /// How often a function was called.
    Calls,
    /// GPU time by events.
    Spans,
    /// What CUPTI recorded.
    Records,
    /// Calls without a GPU time.
    Untimed,
    /// Stated work.
    Work,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Whole numbers.
    Whole,
    /// Whole numbers, of which some are unknown.
    OptionalWhole,
    /// Numbers, of which some are unknown.
    OptionalReal,
}

/// The value of a column in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnValue {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
    /// None.
    Unknown,
}

impl ColumnValue {
    /// As a whole number.
    #[must_use]
    pub fn whole(self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(number),
            Self::Real(_) | Self::Unknown => None,
        }
    }

    /// As any number.
    #[must_use]
    pub fn real(self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(number as f64),
            Self::Real(number) => Some(number),
            Self::Unknown => None,
        }
    }
}

/// A type of figures that columns hold.
pub(crate) trait ColumnNumber {
    const KIND: ValueKind;

    fn value(&self) -> ColumnValue;
}

impl ColumnNumber for u32 {
    const KIND: ValueKind = ValueKind::Whole;

    fn value(&self) -> ColumnValue {
        ColumnValue::Whole(u64::from(*self))
    }
}

impl ColumnNumber for u64 {
    const KIND: ValueKind = ValueKind::Whole;

    fn value(&self) -> ColumnValue {
        ColumnValue::Whole(*self)
    }
}

impl ColumnNumber for Option<u64> {
    const KIND: ValueKind = ValueKind::OptionalWhole;

    fn value(&self) -> ColumnValue {
        self.map_or(ColumnValue::Unknown, ColumnValue::Whole)
    }
}

impl ColumnNumber for Option<f64> {
    const KIND: ValueKind = ValueKind::OptionalReal;

    fn value(&self) -> ColumnValue {
        self.map_or(ColumnValue::Unknown, ColumnValue::Real)
    }
}
