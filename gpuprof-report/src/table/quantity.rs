//! The values of a column, and the one unit in which all of them are shown.

use super::grid::Column;
use super::number::{self, Number};
use crate::sorting::sort_by;

/// A value that is not formatted yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    /// A number of things.
    Count(u64),
    /// The duration of one call or run, ns.
    Ns(u64),
    /// A sum of durations, ns.
    TotalNs(u64),
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
    /// Text that is no number, such as `16×16`.
    Text(String),
}

/// A value with what stands around its digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) quantity: Quantity,
    /// Before the digits: how far the value can be trusted.
    pub(super) mark: &'static str,
    /// After the digits, such as the peak that a share is of.
    pub(super) suffix: &'static str,
}

impl From<Quantity> for Value {
    fn from(quantity: Quantity) -> Self {
        Self {
            quantity,
            mark: "",
            suffix: "",
        }
    }
}

impl Value {
    pub(super) fn marked(self, mark: &'static str) -> Self {
        Self { mark, ..self }
    }

    pub(super) fn with_suffix(self, suffix: &'static str) -> Self {
        Self { suffix, ..self }
    }
}

/// A unit, and how many of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    name: &'static str,
    pub(super) scale: f64,
    /// Digits after the decimal point of small values, and of others.
    digits: [usize; 2],
}

/// If a value is below this, the column has two digits after the decimal point.
const SMALL: f64 = 10.0;

impl Unit {
    /// The unit and the digits of a column with this smallest value above 0, in the base unit.
    fn with_digits(self, smallest: f64) -> (Self, usize) {
        let [small, large] = self.digits;
        let is_small = (smallest / self.scale * 10.0).round() < SMALL * 10.0;
        (self, if is_small { small } else { large })
    }
}

const fn unit(name: &'static str, scale: f64) -> Unit {
    Unit {
        name,
        scale,
        digits: [2, 1],
    }
}

const fn whole(name: &'static str) -> Unit {
    Unit {
        name,
        scale: 1.0,
        digits: [0, 0],
    }
}

const DURATIONS: &[Unit] = &[
    whole("ns"),
    unit("µs", 1e3),
    unit("ms", 1e6),
    unit("s", 1e9),
    unit("h", 3.6e12),
];
const SIZES: &[Unit] = &[
    whole("B"),
    unit("kB", 1e3),
    unit("MB", 1e6),
    unit("GB", 1e9),
    unit("TB", 1e12),
];
const BYTES_PER_S: &[Unit] = &[unit("MB/s", 1e6), unit("GB/s", 1e9)];
const FLOPS_PER_S: &[Unit] = &[unit("GFLOP/s", 1e9), unit("TFLOP/s", 1e12)];
const ITEMS_PER_S: &[Unit] = &[
    unit("items/s", 1.0),
    unit("k items/s", 1e3),
    unit("M items/s", 1e6),
    unit("G items/s", 1e9),
];

/// A column has at most so many digits before the point.
const MAX_VALUE: f64 = 1e6;

/// Totals have at most so much before the point.
const MAX_TOTAL: f64 = 1e4;

/// The unit of a column with these values, and the digits after the decimal point. `None` if it
/// needs none. Of totals the largest decides, of other values the one in the middle: half of them
/// are at least 1.
fn unit_of(quantities: &[&Quantity]) -> Option<(Unit, usize)> {
    let units = match quantities.first()? {
        Quantity::Ns(_) | Quantity::TotalNs(_) => DURATIONS,
        Quantity::Bytes(_) | Quantity::TotalBytes(_) => SIZES,
        Quantity::BytesPerS(_) => BYTES_PER_S,
        Quantity::FlopsPerS(_) => FLOPS_PER_S,
        Quantity::ItemsPerS(_) => ITEMS_PER_S,
        Quantity::Count(_) | Quantity::Share(_) | Quantity::Text(_) => return None,
    };
    let values = quantities.iter().copied();
    let mut sorted: Vec<f64> = values.filter_map(base_value).collect();
    sort_by(&mut sorted, f64::total_cmp);
    let largest = sorted.last().copied().unwrap_or(0.0);
    let mut positive = sorted.iter().filter(|value| **value > 0.0);
    let smallest = positive.next().copied().unwrap_or(0.0);
    let is_total = |q: &&Quantity| matches!(q, Quantity::TotalNs(_) | Quantity::TotalBytes(_));
    if quantities.first().is_some_and(is_total) {
        let fits = |unit: &&Unit| (largest / unit.scale * 10.0).round() < MAX_TOTAL * 10.0;
        let unit = units.iter().find(fits).or(units.last()).copied()?;
        return Some(unit.with_digits(smallest));
    }
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    // Held against what is shown: 999.999 µs is 1.00 ms.
    let is_large = |unit: &&Unit| median / unit.scale >= 0.995;
    let chosen = units.iter().rposition(|unit| is_large(&unit)).unwrap_or(0);
    let fitting = units.iter().skip(chosen);
    let mut fitting = fitting.filter(|unit| largest / unit.scale < MAX_VALUE);
    let unit = fitting.next().or(units.last()).copied()?;
    Some(unit.with_digits(smallest))
}

/// The value in the base unit of its kind.
pub(super) fn base_value(quantity: &Quantity) -> Option<f64> {
    match quantity {
        Quantity::Ns(n)
        | Quantity::TotalNs(n)
        | Quantity::Bytes(n)
        | Quantity::TotalBytes(n)
        | Quantity::Count(n) => Some(*n as f64),
        Quantity::BytesPerS(x)
        | Quantity::FlopsPerS(x)
        | Quantity::ItemsPerS(x)
        | Quantity::Share(x) => Some(*x).filter(|x| x.is_finite() && *x >= 0.0),
        Quantity::Text(_) => None,
    }
}

/// A column with its heading and unit, whose values are not digits yet.
pub(super) struct Headed {
    pub(super) heading: String,
    rank: u8,
    pub(super) unit: Option<(Unit, usize)>,
    pub(super) values: Vec<Option<Value>>,
}

/// The columns of a table from their headings, ranks and values. Durations of single calls have one
/// unit in all of them, so that averages, medians and extremes can be compared.
pub(super) fn headed<'a>(
    specs: impl IntoIterator<Item = (&'a str, u8, Vec<Option<Value>>)>,
) -> Vec<Headed> {
    let specs: Vec<_> = specs.into_iter().collect();
    let unit_of_all = |is_one: fn(&Quantity) -> bool| {
        let all = specs.iter().flat_map(|(_, _, values)| quantities(values));
        unit_of(&all.filter(|q| is_one(q)).collect::<Vec<_>>())
    };
    let of_calls = unit_of_all(|q| matches!(q, Quantity::Ns(_)));
    let of_totals = unit_of_all(|q| matches!(q, Quantity::TotalBytes(_)));
    let columns = specs.into_iter().map(|(heading, rank, values)| {
        let own: Vec<&Quantity> = quantities(&values).collect();
        let unit = match own.first() {
            Some(Quantity::Ns(_)) => of_calls,
            Some(Quantity::TotalBytes(_)) => of_totals,
            _ => unit_of(&own),
        };
        let is_share = own.iter().any(|q| matches!(q, Quantity::Share(_)));
        let heading = match unit {
            // Rates are headed by their unit alone.
            Some((unit, _)) if heading.is_empty() => unit.name.to_owned(),
            Some((unit, _)) => format!("{heading}({})", unit.name),
            None if is_share => format!("{heading}(%)"),
            None => heading.to_owned(),
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
pub(super) fn columns<'a>(
    specs: impl IntoIterator<Item = (&'a str, u8, Vec<Option<Value>>)>,
) -> Vec<Column> {
    let columns = headed(specs).into_iter().map(|column| Column {
        cells: (column.values.iter())
            .map(|value| cell(value.as_ref()?, column.unit))
            .collect(),
        heading: column.heading,
        rank: column.rank,
    });
    columns.collect()
}

fn quantities(values: &[Option<Value>]) -> impl Iterator<Item = &Quantity> {
    values.iter().flatten().map(|value| &value.quantity)
}

fn cell(value: &Value, unit: Option<(Unit, usize)>) -> Option<Number> {
    let number = match (&value.quantity, unit) {
        (Quantity::Count(n), _) => number::count(*n),
        (Quantity::Share(share), _) => number::percent(*share)?,
        (Quantity::Text(text), _) => Number::text_of(text),
        (quantity, Some((unit, digits))) => {
            number::decimal(base_value(quantity)? / unit.scale, digits)
        }
        (_, None) => return None,
    };
    Some(number.marked(value.mark).with_unit(value.suffix))
}

#[cfg(test)]
mod tests {
    use super::{Quantity, Value, columns};

    fn texts(heading: &str, quantities: &[Quantity]) -> (String, Vec<String>) {
        let values: Vec<Option<Value>> = quantities
            .iter()
            .map(|quantity| Some(quantity.clone().into()))
            .collect();
        let column = columns([(heading, 0, values)]).remove(0);
        let cells = column.cells.into_iter();
        let cells = cells.map(|cell| cell.map_or_else(String::new, |number| number.text()));
        (column.heading, cells.collect())
    }

    fn durations(ns: &[u64]) -> (String, Vec<String>) {
        let quantities: Vec<Quantity> = ns.iter().map(|ns| Quantity::Ns(*ns)).collect();
        texts("Avg", &quantities)
    }

    #[test]
    fn all_durations_of_a_column_have_one_unit_and_as_many_digits() {
        for (ns, heading, cells) in [
            (&[0, 800][..], "Avg(ns)", &["0", "800"][..]),
            (&[1_000, 999], "Avg(µs)", &["1.00", "1.00"]),
            (
                &[1_813_300, 39_700, 1_000],
                "Avg(µs)",
                &["1813.30", "39.70", "1.00"],
            ),
            (
                &[27_200_000, 10_000, 1],
                "Avg(µs)",
                &["27200.00", "10.00", "<0.01"],
            ),
            (
                &[27_200_000, 8_880_000, 9_600],
                "Avg(ms)",
                &["27.20", "8.88", "0.01"],
            ),
            (
                &[2_000_000_000_000, 1_000, 1_000],
                "Avg(s)",
                &["2000.00", "<0.01", "<0.01"],
            ),
            (&[999_999], "Avg(ms)", &["1.00"]),
            (&[12_000_000_000], "Avg(s)", &["12.0"]),
            (&[u64::MAX], "Avg(h)", &["5124095.6"]),
            (&[40_000_000_000_000], "Avg(h)", &["11.1"]),
        ] {
            let expected: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
            assert_eq!(durations(ns), (heading.to_owned(), expected), "{ns:?}");
        }
    }

    #[test]
    fn averages_and_extremes_of_a_table_have_one_unit() {
        let value = |ns| Some(Quantity::Ns(ns).into());
        let specs = [
            ("Avg", 0, vec![value(2_000), value(9_000)]),
            ("Max", 0, vec![value(5_000_000), None]),
        ];
        let headings = columns(specs).into_iter().map(|column| column.heading);
        assert_eq!(headings.collect::<Vec<_>>(), ["Avg(µs)", "Max(µs)"]);
    }

    #[test]
    fn the_largest_total_decides() {
        let total = |ns| texts("Busy", &[Quantity::TotalNs(ns), Quantity::TotalNs(9_600)]);
        let shown = |heading: &str, cells: [&str; 2]| {
            (heading.to_owned(), cells.map(str::to_owned).to_vec())
        };
        assert_eq!(total(27_200_000), shown("Busy(ms)", ["27.20", "0.01"]));
        assert_eq!(total(2_720_000), shown("Busy(µs)", ["2720.00", "9.60"]));
        assert_eq!(total(618_000_000), shown("Busy(ms)", ["618.00", "0.01"]));
        assert_eq!(total(9_999_990_000), shown("Busy(s)", ["10.00", "<0.01"]));
    }

    #[test]
    fn rates_are_headed_by_their_unit_and_shares_by_percent() {
        let (heading, cells) = texts(
            "",
            &[Quantity::BytesPerS(3.21e12), Quantity::BytesPerS(2e9)],
        );
        assert_eq!(
            (heading.as_str(), cells),
            ("GB/s", vec!["3210.00".into(), "2.00".into()])
        );
        let (heading, cells) = texts("", &[Quantity::FlopsPerS(2.5e10)]);
        assert_eq!((heading.as_str(), cells), ("GFLOP/s", vec!["25.0".into()]));
        let (heading, cells) = texts("", &[Quantity::ItemsPerS(819_000.0)]);
        assert_eq!(
            (heading.as_str(), cells),
            ("k items/s", vec!["819.0".into()])
        );
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
