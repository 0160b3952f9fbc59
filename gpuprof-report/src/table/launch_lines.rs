//! From which source lines each kernel was launched, and what launches outside any profiled
//! function.

use super::activities::ActivityNames;
use super::columns;
use super::function_name::{UNATTRIBUTED, others_label};
use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::number::{self, total};
use super::options::TableOptions;
#[cfg(feature = "html")]
use super::quantity::Headed;
use super::quantity::{self, Column, Quantity};
use super::words::{BOLD, DIM, PLAIN, Paragraph};
use crate::profile::{LaunchLine, LaunchStacks, Profile};
use crate::sanitize;

/// Lines of one kernel that are shown unless the report is in full.
const MAX_LINES: usize = 4;

/// Characters of a line with its function and its caller.
const LONGEST_LINE: usize = 400;

/// Functions that are named as worth an annotation.
const MAX_ADVISED: usize = 3;

/// A kernel, one of its lines, or the caller of a line, which has no figures.
struct LaunchLineRow {
    label: RowLabel,
    /// Of a kernel.
    calls: Option<u64>,
    sampled: Option<u64>,
    total_ns: Option<u64>,
}

impl LaunchLineRow {
    fn new(label: RowLabel, calls: Option<u64>, lines: &[LaunchLine]) -> Self {
        Self {
            label,
            calls,
            sampled: Some(total(lines.iter().map(|line| line.calls))),
            total_ns: Some(total(lines.iter().map(|line| line.total_ns))),
        }
    }

    /// A line, and its caller.
    fn of_line(line: &LaunchLine) -> Vec<Self> {
        let place = line.place().unwrap_or_default();
        let label = RowLabel {
            place: short(&place),
            ..RowLabel::secondary("  ", short(&line.function))
        };
        let mut rows = vec![Self::new(label, None, std::slice::from_ref(line))];
        rows.extend(line.caller.as_ref().map(|caller| {
            let (name, place) = caller.rsplit_once(" at ").unwrap_or((caller, ""));
            let label = RowLabel {
                place: short(place),
                continues: true,
                ..RowLabel::secondary("    ← ", short(name))
            };
            Self {
                label,
                calls: None,
                sampled: None,
                total_ns: None,
            }
        }));
        rows
    }

    /// A kernel, and its first lines.
    fn of_kernel(name: String, calls: u64, lines: &[LaunchLine], most: usize) -> Vec<Self> {
        let label = RowLabel::named(name);
        let (shown, cut) = lines.split_at(most.min(lines.len()));
        let mut rows = vec![Self::new(label, Some(calls), lines)];
        rows.extend(shown.iter().flat_map(Self::of_line));
        if !cut.is_empty() {
            let label = RowLabel::secondary("  ", others_label(cut.len()));
            rows.push(Self::new(label, None, cut));
        }
        rows
    }
}

fn short(text: &str) -> String {
    sanitize::short(text, LONGEST_LINE).into_owned()
}

/// The kernels with lines and what is outside any profiled function: names, calls and lines.
fn groups<'a>(
    profile: &'a Profile,
    options: &TableOptions,
) -> Vec<(String, u64, &'a [LaunchLine])> {
    let Some(stacks) = &profile.stacks else {
        return Vec::new();
    };
    let names = ActivityNames::new(profile, options);
    let kernels = profile.kernels.iter().map(|kernel| {
        let name = names.kernel(kernel);
        (name, kernel.times.calls, &kernel.launch_lines[..])
    });
    let calls = profile.cupti.as_ref().map_or(0, |cupti| cupti.unattributed);
    let unattributed = (UNATTRIBUTED.to_owned(), calls, &stacks.unattributed[..]);
    let groups = kernels.chain([unattributed]);
    groups.filter(|(_, _, lines)| !lines.is_empty()).collect()
}

const COLUMNS: &[Column<LaunchLineRow>] = &[
    ("Calls", 80, |row| Some(Quantity::Count(row.calls?).into())),
    ("Sampled", 100, |row| {
        Some(Quantity::Count(row.sampled?).into())
    }),
    ("Sampled time", 90, |row| columns::ns(row.total_ns)),
];

/// Writes the table and the lines below it; nothing unless stacks were sampled.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let Some(stacks) = &profile.stacks else {
        return;
    };
    let most = if options.full { usize::MAX } else { MAX_LINES };
    let groups = groups(profile, options).into_iter();
    let mut rows: Vec<Vec<LaunchLineRow>> = groups
        .map(|(name, calls, lines)| LaunchLineRow::of_kernel(name, calls, lines, most))
        .collect();
    let remarks = remarks(stacks);
    if rows.is_empty() && remarks.is_empty() {
        return;
    }
    if !rows.is_empty() {
        // Unattributed work is shown in any case.
        let is_kept = usize::from(!stacks.unattributed.is_empty());
        let limit = options.activity_limit();
        let kernels = rows.len() - is_kept;
        let cut = rows.drain(limit.min(kernels)..kernels);
        hidden.rows += cut.map(|rows| rows.len()).sum::<usize>();
        let rows: Vec<LaunchLineRow> = rows.into_iter().flatten().collect();
        let grid = Grid {
            title: "Launched from".to_owned(),
            columns: quantity::columns(quantity::values(&rows, COLUMNS)),
            labels: rows.iter().map(|row| row.label.clone()).collect(),
        };
        hidden.columns += grid.draw(options, out).dropped;
    }
    for line in remarks {
        line.write(out, options.color, options.width, 2);
    }
    out.push('\n');
}

/// The names of all lines, each with its kernel, and their columns.
#[cfg(feature = "html")]
pub(super) fn launch_line_sections(profile: &Profile) -> (Vec<String>, Vec<Headed>) {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    for (kernel, _, lines) in groups(profile, &TableOptions::default()) {
        for line in lines {
            names.push(format!("{} · {kernel}", short(&line.to_string())));
            rows.push(LaunchLineRow::new(
                RowLabel::default(),
                None,
                std::slice::from_ref(line),
            ));
        }
    }
    let columns = quantity::headed(quantity::values(&rows, COLUMNS));
    (names, columns)
}

/// How many launches were sampled, if there were any, and what to annotate.
pub(super) fn remarks(stacks: &LaunchStacks) -> Vec<Paragraph> {
    let sampled = (stacks.calls > 0).then(|| sampled_launches(stacks));
    sampled.into_iter().chain(to_annotate(stacks)).collect()
}

fn sampled_launches(stacks: &LaunchStacks) -> Paragraph {
    let [sampled, all] = [stacks.sampled_calls, stacks.calls].map(|of| number::count(of).text());
    Paragraph::new(
        DIM,
        &format!(
            "Launched from: the innermost line of the program in the stack of a launch; \
             {sampled} of {all} kernels were sampled."
        ),
    )
}

fn to_annotate(stacks: &LaunchStacks) -> Option<Paragraph> {
    let lines = stacks.unattributed.iter();
    let sampled = number::count(total(lines.clone().map(|line| line.calls))).text();
    let mut lines = lines.filter(|line| line.is_of_program()).peekable();
    lines.peek()?;
    let label = "annotate what launches outside any profiled function:";
    let mut words = Paragraph::new(BOLD, label);
    for (number, line) in lines.by_ref().take(MAX_ADVISED).enumerate() {
        if number > 0 {
            words.then(";");
        }
        let calls = number::count(line.calls).text();
        let time = number::duration(line.total_ns).text();
        // In words, since a line and its caller may be longer than the terminal is wide.
        words.add(PLAIN, &short(&line.to_string()));
        let of_sampled = match number {
            0 => format!("{calls} of {sampled} that were sampled"),
            _ => format!("{calls} sampled"),
        };
        words.add_one(PLAIN, format!("({of_sampled}, {time})"));
    }
    match lines.count() {
        0 => words.then("."),
        more => words.then(";").add(PLAIN, &others_label(more)),
    };
    Some(words)
}
