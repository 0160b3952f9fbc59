//! The screen: a line about the program, a table, what runs now, and the keys.

use gpuprof_report::live::ThreadRow;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row};

use super::numbers::duration;
use super::tables::{self, TopTable, Width};
use super::top_model::{TopModel, TopSort};

/// From this width on there are more columns.
const WIDE: u16 = 120;

/// Lines of what runs now, on a screen of up to 30 lines and on a higher one.
const RUNNING_LINES: usize = 4;
const MANY_RUNNING_LINES: usize = 12;
const HIGH: u16 = 30;

/// Columns between two columns.
const SPACING: u16 = 1;

/// The least that a name is cut to.
const MIN_TEXT: usize = 8;

const KEYS: &str = "sort: t GPU u CPU c calls r rate n name   view: f p d   space pause   q quit";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Functions,
    Threads,
    Devices,
}

/// What the user has chosen.
#[derive(Clone, Debug)]
pub(super) struct ScreenState {
    pub(super) view: View,
    pub(super) sort: TopSort,
    /// Rows above the first one that is shown.
    pub(super) offset: usize,
    pub(super) is_paused: bool,
}

/// Draws it, and ends the user's scrolling at the last row. `ended` says why nothing comes any
/// more.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    model: &TopModel,
    choice: &mut ScreenState,
    ended: Option<&str>,
) {
    let area = frame.area();
    let running = match choice.view {
        View::Threads => Vec::new(),
        _ => running(model, area),
    };
    let [status, table, now, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(u16::try_from(running.len()).unwrap_or(0)),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(status_line(model, choice, ended), status);
    draw_table(frame, table, model, choice);
    frame.render_widget(Paragraph::new(running), now);
    frame.render_widget(Line::from(KEYS).dim(), keys);
}

fn status_line(model: &TopModel, choice: &ScreenState, ended: Option<&str>) -> Line<'static> {
    let state = match ended {
        Some(reason) => format!("[{reason}] "),
        None if choice.is_paused => "[paused] ".to_owned(),
        None => String::new(),
    };
    Line::from(format!("{state}{}", tables::status(model))).bold()
}

/// A heading and the threads in whose functions the program is.
fn running(model: &TopModel, area: Rect) -> Vec<Line<'static>> {
    let most = if area.height > HIGH {
        MANY_RUNNING_LINES
    } else {
        RUNNING_LINES
    };
    let all = model.running();
    let heading = match all.len() {
        0 => "Running now: no call on a thread".to_owned(),
        shown if shown <= most => "Running now".to_owned(),
        more => format!("Running now: {most} of {more} threads, the longest calls"),
    };
    let line = |(ns, thread): &(u64, &ThreadRow)| {
        let (time, tid) = (duration(*ns), thread.tid);
        let function = thread.running.as_deref().unwrap_or_default();
        let who = tables::name(&thread.name);
        let left = format!("{time:>8}  {tid:>7} {who:<16} ");
        let room = usize::from(area.width).saturating_sub(left.chars().count());
        Line::from(format!("{left}{}", cut(&tables::name(function), room)))
    };
    let lines = all.iter().take(most).map(line);
    let mut shown = vec![Line::from(heading).bold()];
    shown.extend(lines);
    shown
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, model: &TopModel, choice: &mut ScreenState) {
    let width = if area.width >= WIDE {
        Width::Wide
    } else {
        Width::Narrow
    };
    let table = match choice.view {
        View::Functions => tables::functions(model, choice.sort, width),
        View::Threads => tables::threads(model, width),
        View::Devices => tables::devices(model, width),
    };
    let widths = fitted(&table, area.width);
    let height = usize::from(area.height.saturating_sub(1));
    let last = table.rows.len().saturating_sub(height);
    choice.offset = choice.offset.min(last);
    let row = |cells: Vec<&str>| {
        let cells = cells.into_iter().zip(&widths).zip(&table.columns);
        Row::new(cells.map(|((cell, width), column)| {
            let align = if column.is_text {
                Alignment::Left
            } else {
                Alignment::Right
            };
            Cell::from(Text::from(cut(cell, usize::from(*width))).alignment(align))
        }))
    };
    let titles = table.columns.iter().map(|column| column.title).collect();
    let rows = table
        .rows
        .iter()
        .skip(choice.offset)
        .take(height)
        .map(|cells| row(cells.iter().map(String::as_str).collect()));
    let constraints = widths.iter().map(|width| Constraint::Length(*width));
    let widget = ratatui::widgets::Table::new(rows, constraints)
        .column_spacing(SPACING)
        .header(row(titles).reversed());
    frame.render_widget(widget, area);
}

/// The widths of the columns: texts share what numbers leave.
fn fitted(table: &TopTable, room: u16) -> Vec<u16> {
    let mut widths = tables::widths(table);
    let spaces = usize::from(SPACING) * widths.len().saturating_sub(1);
    let is_text = |index: &usize| {
        table
            .columns
            .get(*index)
            .is_some_and(|column| column.is_text)
    };
    let texts: Vec<usize> = (0..widths.len()).filter(is_text).collect();
    let mut over = (widths.iter().sum::<usize>() + spaces).saturating_sub(usize::from(room));
    // The widest gives way first.
    while over > 0
        && let Some(&widest) = texts.iter().max_by_key(|&&index| widths[index])
        && widths[widest] > MIN_TEXT
    {
        widths[widest] -= 1;
        over -= 1;
    }
    // The last text takes what is left, so that the numbers after it are at the right.
    let used = widths.iter().sum::<usize>() + spaces;
    if let Some(&last) = texts.last() {
        widths[last] += usize::from(room).saturating_sub(used);
    }
    let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
    widths.into_iter().map(narrow).collect()
}

/// The end of a name, which tells more than its beginning.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let end: String = text.chars().skip(length - kept).collect();
    match width {
        0 => String::new(),
        _ => format!("…{end}"),
    }
}
