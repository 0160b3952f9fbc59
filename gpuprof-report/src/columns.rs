//! The columns of a table of functions, in CSV and in Parquet, which the declarations of figures
//! give.

/// A struct some of whose figures are columns.
pub trait Columns: Sized + 'static {
    /// These, in the order in which they are declared.
    const COLUMNS: &'static [Column<Self>];

    /// The columns of one group.
    fn columns(group: Group) -> impl Iterator<Item = &'static Column<Self>> {
        let columns = Self::COLUMNS.iter();
        columns.filter(move |column| column.group == group)
    }
}

/// A column, and its value in a row.
#[derive(Debug)]
pub struct Column<R> {
    /// Where the tables show it.
    pub group: Group,
    /// Name of the figure.
    pub name: &'static str,
    /// What docs/fleets.md says about it.
    pub meaning: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// The value in a row.
    pub value: fn(&R) -> Value,
}

/// Columns that stand side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
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
pub enum Kind {
    /// Whole numbers.
    Whole,
    /// Whole numbers, of which some are unknown.
    OptionalWhole,
    /// Numbers, of which some are unknown.
    OptionalReal,
}

/// The value of a column in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
    /// None.
    Unknown,
}

impl Value {
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
pub(crate) trait Number {
    const KIND: Kind;

    fn value(&self) -> Value;
}

impl Number for u32 {
    const KIND: Kind = Kind::Whole;

    fn value(&self) -> Value {
        Value::Whole(u64::from(*self))
    }
}

impl Number for u64 {
    const KIND: Kind = Kind::Whole;

    fn value(&self) -> Value {
        Value::Whole(*self)
    }
}

impl Number for Option<u64> {
    const KIND: Kind = Kind::OptionalWhole;

    fn value(&self) -> Value {
        self.map_or(Value::Unknown, Value::Whole)
    }
}

impl Number for Option<f64> {
    const KIND: Kind = Kind::OptionalReal;

    fn value(&self) -> Value {
        self.map_or(Value::Unknown, Value::Real)
    }
}
