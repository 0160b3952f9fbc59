//! The parts of the report as data, for a page that draws them itself: the same rows, headings,
//! units, marks and lines, not yet laid out.

use super::columns::{self, BUSY_COLUMNS, FUNCTION_COLUMNS, FunctionColumn, SPAN_COLUMNS, Wholes};
use super::function_name::RepeatedNames;
use super::hidden::Hidden;
use super::legend::Marks;
use super::options::TableOptions;
use super::qualifiers::RowMark;
use super::quantity::{self, Headed, MarkedQuantity, Quantity};
use super::row::Figures;
use super::{
    activities, call_tree, diagnostics, functions, has_run, header, launch_lines, memory,
    memory_lines, tree_rows, why,
};
use crate::profile::{NodeActivity, Profile};

pub(crate) use super::counters::mark as counter_mark;
pub(crate) use super::header::{device_names, gpu_time};
pub(crate) use super::row::gpu_inclusive;

/// A table with all of its rows.
pub(crate) struct PageTable {
    /// The name of each row, safe to show.
    pub(crate) names: Vec<String>,
    /// What stands before the name: `∅`, `?`, `!` or nothing; empty if no row can have one.
    pub(crate) marks: Vec<&'static str>,
    pub(crate) columns: Vec<PageColumn>,
}

/// A column of which at least one row has a value.
pub(crate) struct PageColumn {
    /// Heading, with the unit.
    pub(crate) heading: String,
    pub(crate) format: FigureFormat,
    /// One per row.
    pub(crate) cells: Vec<Option<PageCell>>,
}

/// How the values of a column become digits.
#[derive(Clone, Copy)]
pub(crate) enum FigureFormat {
    /// Whole numbers with thousands separators.
    Count,
    /// 1 is 100 %.
    Share,
    /// Text that is no number.
    Text,
    /// Divided by the scale, three significant digits, at most so many after the decimal point.
    Decimal { scale: f64, digits: usize },
}

pub(crate) struct PageCell {
    pub(crate) value: PageValue,
    /// Before the digits.
    pub(crate) mark: &'static str,
    /// After the digits.
    pub(crate) suffix: &'static str,
}

pub(crate) enum PageValue {
    /// In the base unit: ns, bytes, per second.
    Number(f64),
    Text(String),
}

/// What a row of the call tree shows.
pub(crate) enum PageTreeRow<'a> {
    /// The node at this position of [`Profile::tree`].
    Node(usize),
    /// What the calls of that node launched.
    Activity(usize, &'a NodeActivity),
    /// What was launched outside of every annotated function.
    Unattributed,
}

/// The call tree in the order of the profile, each node followed by what it launched.
pub(crate) fn tree(profile: &Profile) -> (Vec<PageTreeRow<'_>>, PageTable) {
    let names = RepeatedNames::of(profile);
    let on_one_path = tree_rows::on_one_path(profile);
    let (mut rows, mut table) = (Vec::new(), PageRows::default());
    for (at, node) in profile.tree.iter().enumerate() {
        let (name, mark, figures) = tree_rows::node_parts(node, profile, &names, &on_one_path);
        rows.push(PageTreeRow::Node(at));
        table.push(name, mark, figures);
        for activity in &node.activities {
            rows.push(PageTreeRow::Activity(at, activity));
            // The page has the names of kernels and copies already.
            let figures = Figures::of_activity(activity.calls, activity.total_ns);
            table.push(String::new(), None, figures);
        }
    }
    // Alone it would say nothing that the kernels do not.
    if !rows.is_empty()
        && let Some(outside) = call_tree::unattributed(profile)
    {
        rows.push(PageTreeRow::Unattributed);
        table.push(outside.label.name, None, outside.figures);
    }
    let specs = match profile.cupti {
        Some(_) => BUSY_COLUMNS,
        None => SPAN_COLUMNS,
    };
    (rows, table.into_page(specs, header::wholes(profile)))
}

/// The functions that ran, by their position in [`Profile::functions`].
pub(crate) fn functions(profile: &Profile) -> (Vec<usize>, PageTable) {
    let names = RepeatedNames::of(profile);
    let (mut rows, mut table) = (Vec::new(), PageRows::default());
    let functions = profile.functions.iter().enumerate();
    for (at, function) in functions.filter(|(_, function)| function.has_run()) {
        let mean_ns = function.gpu.as_ref().map(|gpu| gpu.times.mean_ns);
        rows.push(at);
        table.push(
            names.shown(function),
            RowMark::of(function, mean_ns, profile),
            Figures::of_function(function, &profile.devices),
        );
    }
    (rows, table.into_page(FUNCTION_COLUMNS, Wholes::default()))
}

/// The tables without marks, each with its key in the page: kernels and then copies, and CUDA API
/// calls, in the order of the profile; the source lines of launches, each with its kernel; what
/// each function allocated and freed.
pub(crate) fn plain_tables(profile: &Profile) -> [(&'static str, PageTable); 4] {
    let tables = [
        ("activities", activities::kernels_and_copies(profile)),
        ("api", activities::api_calls(profile)),
        ("launch_lines", launch_lines::launch_line_sections(profile)),
        ("memory", memory::memory_sections(profile)),
    ];
    tables.map(|(key, (names, columns))| (key, page(names, Vec::new(), columns)))
}

/// The lines above the tables: program, devices and busy time; then kinds of work, idle time and
/// the steps, as far as there are any.
pub(crate) fn header(profile: &Profile) -> Vec<String> {
    let mut text = String::new();
    header::write(profile, &TableOptions::default(), &mut text);
    lines(&text)
}

/// The lines below the tables: coverage, what the drawn marks mean, what is missing, and what
/// shares are of; none for a profile without a call.
pub(crate) fn remarks(profile: &Profile) -> Vec<String> {
    if !has_run(profile) {
        return Vec::new();
    }
    let options = TableOptions {
        full: true,
        ..TableOptions::default()
    };
    let mut unused = String::new();
    let mut marks = Marks::default();
    let mut hidden = Hidden::default();
    if !profile.tree.is_empty() {
        marks = call_tree::write(profile, &options, &mut hidden, &mut unused);
    }
    marks = marks.and(functions::write(
        profile,
        &options,
        &mut hidden,
        &mut unused,
    ));
    let mut text = String::new();
    let launches = profile.stacks.iter().flat_map(launch_lines::remarks);
    let paragraphs = why::waits(profile).into_iter().chain(launches);
    for words in paragraphs.chain(memory_lines::remarks(profile)) {
        words.write(&mut text, false, None, 0);
    }
    diagnostics::write(profile, marks, &options, &mut text);
    // A page hides nothing.
    Hidden::default().write(profile, &options, &mut text);
    lines(&text)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[derive(Default)]
struct PageRows {
    names: Vec<String>,
    marks: Vec<&'static str>,
    figures: Vec<Figures>,
}

impl PageRows {
    fn push(&mut self, name: String, mark: Option<RowMark>, figures: Figures) {
        self.names.push(name);
        self.marks.push(mark.map_or("", RowMark::text));
        self.figures.push(figures);
    }

    fn into_page(self, specs: &'static [FunctionColumn], wholes: Wholes) -> PageTable {
        let columns = quantity::headed(columns::values(&self.figures, specs, wholes));
        page(self.names, self.marks, columns)
    }
}

fn page(names: Vec<String>, marks: Vec<&'static str>, columns: Vec<Headed>) -> PageTable {
    let has_value = |column: &Headed| column.values.iter().any(Option::is_some);
    PageTable {
        names,
        marks,
        columns: (columns.into_iter().filter(has_value))
            .map(page_column)
            .collect(),
    }
}

fn page_column(column: Headed) -> PageColumn {
    let first = column.values.iter().flatten().next();
    let format = match (first.map(|value| &value.quantity), column.unit) {
        (Some(Quantity::Share(_)), _) => FigureFormat::Share,
        (Some(Quantity::Text(_)), _) => FigureFormat::Text,
        (_, Some(unit)) => FigureFormat::Decimal {
            scale: unit.scale,
            digits: unit.digits,
        },
        _ => FigureFormat::Count,
    };
    PageColumn {
        heading: column.heading,
        format,
        cells: (column.values.into_iter())
            .map(|value| page_cell(value?))
            .collect(),
    }
}

fn page_cell(value: MarkedQuantity) -> Option<PageCell> {
    Some(PageCell {
        mark: value.mark,
        suffix: value.suffix,
        value: match value.quantity {
            Quantity::Text(text) => PageValue::Text(text),
            quantity => PageValue::Number(quantity::base_value(&quantity)?),
        },
    })
}
