//! The layout of a plot: a title, marks of the caches, one panel per quantity over a common x axis,
//! and the legend.

use super::legend::Legend;
use super::number::{self, Style};
use super::panel::Panel;
use super::placed::{PlacedMark, PlacedTick};
use super::quantity::Quantity;
use super::scale::Scale;
use super::shapes::{CACHE, DIM, TEXT};
use super::svg::{Svg, content, fit, width};
use super::sweep::{Sweep, label};
use super::work::{CacheMark, cache_marks, curves};

const LEFT_PX: f64 = 78.0;
const RIGHT_PX: f64 = 678.0;
const TITLES_PX: f64 = 56.0;
const MARK_ROW_PX: f64 = 15.0;
const PANEL_PX: f64 = 190.0;
const PANEL_TITLE_PX: f64 = 30.0;
const AXIS_PX: f64 = 52.0;
/// Free at both ends of the x axis, so that no marker touches the frame.
const X_MARGIN_PX: f64 = 22.0;
/// Values of the x axis that are the ticks themselves.
const MAX_VALUE_TICKS: usize = 40;
const FONT_PX: f64 = 12.0;

/// The `<svg>` element.
pub(super) fn draw(sweep: &Sweep<'_>) -> String {
    let legend = Legend::new(sweep);
    let curves = curves(sweep);
    let values = || sweep.points().map(|point| point.x);
    let x = Scale::new(values(), (LEFT_PX, RIGHT_PX), X_MARGIN_PX, 1.02);
    let marks = sweep.device.map(|device| cache_marks(&curves, device));
    let marks = place_marks(marks.unwrap_or_default(), &x);
    let rows = marks.iter().map(|mark| mark.row + 1).max().unwrap_or(0);
    let top = TITLES_PX + rows as f64 * MARK_ROW_PX;
    let panels = panels(sweep);
    let bottom = top + panels.len() as f64 * (PANEL_PX + PANEL_TITLE_PX);
    let height = (bottom + AXIS_PX).max(top + PANEL_TITLE_PX + legend.height());
    let width = RIGHT_PX + 18.0 + legend.width() + 14.0;

    let mut svg = Svg::default();
    svg.add(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" display=\"block\" \
         role=\"img\">"
    ));
    let titles = Titles::new(sweep);
    let whole = content(&format!(
        "{} over {}, {}",
        titles.name, sweep.axis, titles.device
    ));
    svg.add(format_args!("<title>{whole}</title>"));
    svg.add(format_args!(
        "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>"
    ));
    titles.draw(&mut svg, width);
    draw_marks(&mut svg, &marks, top + PANEL_TITLE_PX);
    let ticks = x_ticks(values().collect(), &x);
    for (panel, quantity) in panels.iter().enumerate() {
        let bottom = top + (panel + 1) as f64 * (PANEL_PX + PANEL_TITLE_PX);
        let panel = Panel {
            sweep,
            curves: &curves,
            marks: &marks,
            ticks: &ticks,
            x: &x,
            sides: (LEFT_PX, RIGHT_PX),
            ends: (bottom - PANEL_PX, bottom),
            quantity: *quantity,
        };
        panel.draw(&mut svg);
    }
    draw_x_axis(&mut svg, sweep.axis, &ticks, bottom);
    legend.draw(&mut svg, (RIGHT_PX + 18.0, top + PANEL_TITLE_PX));
    svg.add(format_args!("</svg>"));
    svg.finish()
}

/// The labels of the marks, and their lines down to the first panel.
fn draw_marks(svg: &mut Svg, marks: &[PlacedMark], bottom: f64) {
    let baseline = |mark: &PlacedMark| TITLES_PX + (mark.row as f64 + 0.8) * MARK_ROW_PX;
    let thin = format!("stroke=\"{CACHE}\" stroke-opacity=\"0.5\"");
    for mark in marks {
        let start = (mark.place, baseline(mark) + 3.0);
        svg.line(start, (mark.place, bottom), &thin);
    }
    // A label interrupts the lines of the rows above it.
    let middle = format!(
        "text-anchor=\"middle\" font-size=\"11\" fill=\"{CACHE}\" stroke=\"#ffffff\" \
         stroke-width=\"3\" paint-order=\"stroke\""
    );
    for mark in marks {
        svg.text((mark.middle, baseline(mark)), &middle, &mark.label);
    }
}

fn draw_x_axis(svg: &mut Svg, name: &str, ticks: &[PlacedTick], bottom: f64) {
    svg.add(format_args!(
        "<g data-axis=\"x\" font-size=\"{FONT_PX}\" fill=\"{TEXT}\" text-anchor=\"middle\">"
    ));
    for tick in ticks {
        svg.text((tick.place, bottom + 18.0), "", &tick.label);
    }
    let middle = f64::midpoint(LEFT_PX, RIGHT_PX);
    let axis = fit(name, 13.0, RIGHT_PX - LEFT_PX);
    svg.text((middle, bottom + 39.0), "font-weight=\"bold\"", &axis);
    svg.add(format_args!("</g>"));
}

/// The quantities of which there is a value.
fn panels(sweep: &Sweep<'_>) -> Vec<Quantity> {
    let has = |quantity: &Quantity| {
        let mut points = sweep.points();
        points.any(|point| quantity.of(&point.work, point.median_ns).is_some())
    };
    Quantity::ALL.into_iter().filter(has).collect()
}

struct Titles {
    name: String,
    device: String,
    constants: String,
}

impl Titles {
    fn new(sweep: &Sweep<'_>) -> Self {
        let name = match sweep.name {
            "" => "unnamed benchmark".to_owned(),
            name => name.to_owned(),
        };
        let device = match sweep.device.map(|device| device.shown_name()) {
            Some(name) if !name.is_empty() => name.into_owned(),
            _ => format!("device {}", sweep.ordinal),
        };
        let constants: Vec<String> = sweep.constants.iter().map(|p| label(p)).collect();
        Self {
            name,
            device,
            constants: constants.join(", "),
        }
    }

    fn draw(&self, svg: &mut Svg, total: f64) {
        let room = total - LEFT_PX - 14.0;
        let strong = format!("font-size=\"16\" font-weight=\"bold\" fill=\"{TEXT}\"");
        svg.text((LEFT_PX, 25.0), &strong, &fit(&self.name, 17.5, room));
        // The name of the device comes first and whole: it may say that it is simulated.
        let device = fit(&self.device, FONT_PX, room);
        let left = room - width(&device, FONT_PX) - 20.0;
        let line = if self.constants.is_empty() || left < 60.0 {
            device.into_owned()
        } else {
            format!("{device} · {}", fit(&self.constants, FONT_PX, left))
        };
        let small = format!("font-size=\"{FONT_PX}\" fill=\"{DIM}\"");
        svg.text((LEFT_PX, 44.0), &small, &line);
    }
}

/// The values themselves if they are few, and otherwise powers of ten; those whose label has room.
fn x_ticks(mut values: Vec<f64>, x: &Scale) -> Vec<PlacedTick> {
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() > MAX_VALUE_TICKS {
        let labelled = x.ticks().into_iter().filter(|tick| tick.labelled);
        let round: Vec<f64> = labelled.map(|tick| tick.value).collect();
        if round.len() >= 2 {
            values = round;
        }
    }
    let style = Style::for_values(&values);
    let mut ticks: Vec<PlacedTick> = Vec::new();
    let mut free_from = f64::NEG_INFINITY;
    for value in values {
        let (place, label) = (x.place(value), style.format(value));
        let half = width(&label, FONT_PX) / 2.0;
        if place - half >= free_from {
            free_from = place + half + 8.0;
            ticks.push(PlacedTick { place, label });
        }
    }
    ticks
}

/// Puts labels that would overlap into different rows.
fn place_marks(marks: Vec<CacheMark>, x: &Scale) -> Vec<PlacedMark> {
    let mut row_ends: Vec<f64> = Vec::new();
    let mut placed = Vec::new();
    for mark in marks {
        let place = x.place(mark.x);
        let label = format!("{} {}", mark.cache, number::bytes(mark.bytes));
        let half = width(&label, 11.0) / 2.0;
        let middle = place.clamp(LEFT_PX + half, RIGHT_PX - half);
        let free = |end: &f64| *end + 8.0 <= middle - half;
        let row = row_ends.iter().position(free).unwrap_or(row_ends.len());
        match row_ends.get_mut(row) {
            Some(end) => *end = middle + half,
            None => row_ends.push(middle + half),
        }
        placed.push(PlacedMark {
            place,
            cache: mark.cache,
            label,
            middle,
            row,
        });
    }
    placed
}
