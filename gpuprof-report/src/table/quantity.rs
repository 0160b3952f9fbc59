//! The values of a column, and the one unit in which all of them are shown.

use std::borrow::Cow;

use super::grid::GridColumn;
use super::number::{self, AlignedNumber};

/// A value that is not formatted yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    /// A number of things.
    Count(u64),
    /// A duration, ns.
    Ns(u64),
    /// A share, 1 being the whole.
    Share(f64),
    /// A size, bytes.
    Bytes(u64),
    /// A sum of sizes, bytes. All of a table have one unit, so that they can be subtracted.
    TotalBytes(u64),
    /// A rate, bytes per second.
    BytesPerS(f64),
    /// A rate, floating-point operations per second.
    FlopsPerS(f64),
    /// A rate, items per second.
    ItemsPerS(f64),
    /// A rate of anything else, per second.
    PerS(f64),
    /// A number that has no unit.
    Ratio(f64),
    /// Text that is no number, such as `16×16`.
    Text(String),
}

/// A value with what stands around its digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkedQuantity {
    pub(super) quantity: Quantity,
    /// Before the digits: how far the value can be trusted.
    pub(super) mark: &'static str,
    /// After the digits, such as the peak that a share is of.
    pub(super) suffix: &'static str,
}

impl From<Quantity> for MarkedQuantity {
    fn from(quantity: Quantity) -> Self {
        Self {
            quantity,
            mark: "",
            suffix: "",
        }
    }
}

impl MarkedQuantity {
    pub(super) fn marked(self, mark: &'static str) -> Self {
        Self { mark, ..self }
    }

    pub(super) fn with_suffix(self, suffix: &'static str) -> Self {
        Self { suffix, ..self }
    }
}

/// A unit, and how many of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DisplayUnit {
    name: &'static str,
    pub(super) scale: f64,
    /// Most digits after the decimal point: those down to the base unit, or to a byte per second.
    pub(super) digits: usize,
}

const fn unit(name: &'static str, scale: f64, digits: usize) -> DisplayUnit {
    DisplayUnit {
        name,
        scale,
        digits,
    }
}

const DURATIONS: &[DisplayUnit] = &[
    unit("ns", 1.0, 0),
    unit("µs", 1e3, 3),
    unit("ms", 1e6, 6),
    unit("s", 1e9, 9),
    unit("h", 3.6e12, 12),
];
const SIZES: &[DisplayUnit] = &[
    unit("B", 1.0, 0),
    unit("kB", 1e3, 3),
    unit("MB", 1e6, 6),
    unit("GB", 1e9, 9),
    unit("TB", 1e12, 12),
];
const BYTES_PER_S: &[DisplayUnit] = &[unit("MB/s", 1e6, 6), unit("GB/s", 1e9, 9)];
const FLOPS_PER_S: &[DisplayUnit] = &[unit("GFLOP/s", 1e9, 9), unit("TFLOP/s", 1e12, 12)];
const ITEMS_PER_S: &[DisplayUnit] = &[
    unit("items/s", 1.0, 3),
    unit("k items/s", 1e3, 6),
    unit("M items/s", 1e6, 9),
    unit("G items/s", 1e9, 12),
];
const PER_S: &[DisplayUnit] = &[
    unit("/s", 1.0, 3),
    unit("k/s", 1e3, 6),
    unit("M/s", 1e6, 9),
    unit("G/s", 1e9, 12),
];
const RATIOS: &[DisplayUnit] = &[unit("", 1.0, 6)];

/// The unit of a column with these values: the largest in which the largest value is at least 1.
/// `None` if it needs none.
fn unit_of(quantities: &[&Quantity]) -> Option<DisplayUnit> {
    let units = match quantities.first()? {
        Quantity::Ns(_) => DURATIONS,
        Quantity::Bytes(_) | Quantity::TotalBytes(_) => SIZES,
        Quantity::BytesPerS(_) => BYTES_PER_S,
        Quantity::FlopsPerS(_) => FLOPS_PER_S,
        Quantity::ItemsPerS(_) => ITEMS_PER_S,
        Quantity::PerS(_) => PER_S,
        Quantity::Ratio(_) => RATIOS,
        Quantity::Count(_) | Quantity::Share(_) | Quantity::Text(_) => return None,
    };
    let values = quantities.iter().copied().filter_map(base_value);
    let largest = values.fold(0.0, f64::max);
    // Held against what is shown: 999.95 µs is 1.00 ms.
    let is_large = |unit: &&DisplayUnit| largest / unit.scale >= 0.9995;
    let chosen = units.iter().rev().find(is_large);
    chosen.or(units.first()).copied()
}

/// The value in the base unit of its kind.
pub(super) fn base_value(quantity: &Quantity) -> Option<f64> {
    match quantity {
        Quantity::Ns(n) | Quantity::Bytes(n) | Quantity::TotalBytes(n) | Quantity::Count(n) => {
            Some(*n as f64)
        }
        Quantity::BytesPerS(x)
        | Quantity::FlopsPerS(x)
        | Quantity::ItemsPerS(x)
        | Quantity::PerS(x)
        | Quantity::Ratio(x)
        | Quantity::Share(x) => Some(*x).filter(|x| x.is_finite() && *x >= 0.0),
        Quantity::Text(_) => None,
    }
}

/// A column with its heading and unit, whose values are not digits yet.
pub(super) struct Headed {
    pub(super) heading: String,
    rank: u8,
    pub(super) unit: Option<DisplayUnit>,
    pub(super) values: Vec<Option<MarkedQuantity>>,
}

/// Heading without the unit, rank and values.
pub(super) type ColumnSpec = (Cow<'static, str>, u8, Vec<Option<MarkedQuantity>>);

/// Heading, rank (the smallest is dropped first) and the cell made of a row.
pub(super) type Column<R> = (&'static str, u8, fn(&R) -> Option<MarkedQuantity>);

/// The heading, rank and values of each column.
pub(super) fn values<'r, R>(
    rows: impl IntoIterator<Item = &'r R> + Clone,
    columns: &'static [Column<R>],
) -> impl Iterator<Item = ColumnSpec> {
    columns.iter().map(move |(heading, rank, cell)| {
        let values = rows.clone().into_iter().map(cell);
        (Cow::Borrowed(*heading), *rank, values.collect())
    })
}

/// The columns of a table from their headings, ranks and values.
pub(super) fn headed(specs: impl IntoIterator<Item = ColumnSpec>) -> Vec<Headed> {
    let specs: Vec<_> = specs.into_iter().collect();
    let all = specs.iter().flat_map(|(_, _, values)| quantities(values));
    let of_totals = all.filter(|q| matches!(q, Quantity::TotalBytes(_)));
    let of_totals = unit_of(&of_totals.collect::<Vec<_>>());
    let columns = specs.into_iter().map(|(heading, rank, values)| {
        let own: Vec<&Quantity> = quantities(&values).collect();
        let unit = match own.first() {
            Some(Quantity::TotalBytes(_)) => of_totals,
            _ => unit_of(&own),
        };
        let is_share = own.iter().any(|q| matches!(q, Quantity::Share(_)));
        let heading = match unit {
            // Rates are headed by their unit alone.
            Some(unit) if heading.is_empty() => unit.name.to_owned(),
            Some(unit) if !unit.name.is_empty() => format!("{heading}({})", unit.name),
            None if is_share => format!("{heading}(%)"),
            _ => heading.into_owned(),
        };
        Headed {
            heading,
            rank,
            unit,
            values,
        }
    });
    columns.collect()
}

/// The same columns with their values as digits.
pub(super) fn columns(specs: impl IntoIterator<Item = ColumnSpec>) -> Vec<GridColumn> {
    let columns = headed(specs).into_iter().map(|column| GridColumn {
        cells: (column.values.iter())
            .map(|value| cell(value.as_ref()?, column.unit))
            .collect(),
        heading: column.heading,
        rank: column.rank,
    });
    columns.collect()
}

fn quantities(values: &[Option<MarkedQuantity>]) -> impl Iterator<Item = &Quantity> {
    values.iter().flatten().map(|value| &value.quantity)
}

fn cell(value: &MarkedQuantity, unit: Option<DisplayUnit>) -> Option<AlignedNumber> {
    let number = match (&value.quantity, unit) {
        (Quantity::Count(n), _) => number::count(*n),
        (Quantity::Share(share), _) => number::percent(*share)?,
        (Quantity::Text(text), _) => AlignedNumber::text_of(text),
        (quantity, Some(unit)) => {
            number::three_digits(base_value(quantity)? / unit.scale, unit.digits)
        }
        (_, None) => return None,
    };
    Some(number.marked(value.mark).with_unit(value.suffix))
}

#[cfg(test)]
mod tests {
    use super::{ColumnSpec, MarkedQuantity, Quantity, columns};

    fn texts(heading: &'static str, quantities: &[Quantity]) -> (String, Vec<String>) {
        let values: Vec<Option<MarkedQuantity>> = quantities
            .iter()
            .map(|quantity| Some(quantity.clone().into()))
            .collect();
        let column = columns([(heading.into(), 0, values)]).remove(0);
        let cells = column
            .cells
            .into_iter()
            .map(|cell| cell.map_or_else(String::new, |number| number.text()));
        (column.heading, cells.collect())
    }

    fn durations(ns: &[u64]) -> (String, Vec<String>) {
        let quantities: Vec<Quantity> = ns.iter().map(|ns| Quantity::Ns(*ns)).collect();
        texts("Avg", &quantities)
    }

    #[test]
    fn a_column_has_the_unit_of_its_largest_row_and_cells_three_digits() {
        for (ns, heading, cells) in [
            (&[0, 800][..], "Avg(ns)", &["0", "800"][..]),
            (&[1_000, 999], "Avg(µs)", &["1.00", "0.999"]),
            (
                &[1_813_300, 39_700, 1_000],
                "Avg(ms)",
                &["1.81", "0.0397", "0.00100"],
            ),
            (
                &[535_800_000, 9_996_000, 18_700, 1],
                "Avg(ms)",
                &["536", "10.0", "0.0187", "0.000001"],
            ),
            (
                &[2_000_000_000_000, 1_360],
                "Avg(s)",
                &["2,000", "0.00000136"],
            ),
            (&[999_499], "Avg(µs)", &["999"]),
            (&[999_500], "Avg(ms)", &["1.00"]),
            (&[12_000_000_000], "Avg(s)", &["12.0"]),
            (&[u64::MAX], "Avg(h)", &["5,124,096"]),
            (&[40_000_000_000_000], "Avg(h)", &["11.1"]),
        ] {
            let expected: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
            assert_eq!(durations(ns), (heading.to_owned(), expected), "{ns:?}");
        }
    }

    #[test]
    fn each_column_has_a_unit_of_its_own_but_sizes_that_are_subtracted() {
        let headings = |specs: [ColumnSpec; 2]| -> Vec<String> {
            let columns = columns(specs).into_iter();
            columns.map(|column| column.heading).collect()
        };
        let ns = |ns| Some(Quantity::Ns(ns).into());
        let specs = [
            ("Avg".into(), 0, vec![ns(2_000), ns(9_000)]),
            ("Max".into(), 0, vec![ns(5_000_000), None]),
        ];
        assert_eq!(headings(specs), ["Avg(µs)", "Max(ms)"]);
        let bytes = |bytes| Some(Quantity::TotalBytes(bytes).into());
        let specs = [
            ("Allocated".into(), 0, vec![bytes(5_000_000)]),
            ("Freed".into(), 0, vec![bytes(2_000)]),
        ];
        assert_eq!(headings(specs), ["Allocated(MB)", "Freed(MB)"]);
    }

    #[test]
    fn rates_are_headed_by_their_unit_and_shares_by_percent() {
        let (heading, cells) = texts(
            "",
            &[Quantity::BytesPerS(3.21e12), Quantity::BytesPerS(2e9)],
        );
        assert_eq!(
            (heading.as_str(), cells),
            ("GB/s", vec!["3,210".into(), "2.00".into()])
        );
        let (heading, cells) = texts("", &[Quantity::FlopsPerS(2.5e10)]);
        assert_eq!((heading.as_str(), cells), ("GFLOP/s", vec!["25.0".into()]));
        let (heading, cells) = texts("", &[Quantity::ItemsPerS(819_000.0)]);
        assert_eq!((heading.as_str(), cells), ("k items/s", vec!["819".into()]));
        let (heading, cells) = texts("Busy", &[Quantity::Share(0.996), Quantity::Share(0.0001)]);
        assert_eq!(
            (heading.as_str(), cells),
            ("Busy(%)", vec!["99.6".into(), "<0.1".into()])
        );
    }

    #[test]
    fn what_is_no_number_has_no_cell() {
        let (_, cells) = texts(
            "",
            &[Quantity::BytesPerS(f64::NAN), Quantity::BytesPerS(1e9)],
        );
        assert_eq!(cells, ["", "1.00"]);
    }
}
