//! One panel: a quantity over x.

use super::placed::{PlacedMark, PlacedTick};
use super::quantity::Quantity;
use super::scale::Scale;
use super::shapes::{CACHE, DIM, FAINT_GRID, FRAME, GRID, ROOFLINE, TEXT, colour, dashes, marker};
use super::svg::{Place, Svg, content, width};
use super::sweep::{Point, Series, Sweep};
use super::work::WorkCurve;

/// Free above and below the values; a label of a roofline has room there.
const MARGIN_PX: f64 = 22.0;
/// A panel covers at least this factor.
const LEAST_FACTOR: f64 = 5.0;
/// A roofline is in view if it is within this factor of a result.
const ROOFLINE_FACTOR: f64 = 1000.0;
/// Intervals of fewer pixels are behind the marker.
const LEAST_INTERVAL_PX: f64 = 9.0;
/// Points of a series that have markers and tooltips.
const MAX_MARKERS: usize = 200;
const LABEL_PX: f64 = 11.0;

pub(super) struct Panel<'a> {
    pub(super) sweep: &'a Sweep<'a>,
    pub(super) curves: &'a [WorkCurve],
    pub(super) marks: &'a [PlacedMark],
    pub(super) ticks: &'a [PlacedTick],
    pub(super) x: &'a Scale,
    /// Left and right.
    pub(super) sides: (f64, f64),
    /// Top and bottom.
    pub(super) ends: (f64, f64),
    pub(super) quantity: Quantity,
}

struct Roofline {
    label: String,
    places: Vec<Place>,
}

impl Panel<'_> {
    pub(super) fn draw(&self, svg: &mut Svg) {
        let rooflines = self.roofline_values();
        let y = self.scale(&rooflines);
        svg.add(format_args!("<g data-panel=\"{}\">", self.quantity.key()));
        self.draw_grid(svg, &y);
        self.draw_marks(svg);
        let places = |values: Vec<(f64, f64)>| -> Vec<Place> {
            let places = values.into_iter();
            places
                .map(|(at, value)| (self.x.place(at), y.place(value)))
                .collect()
        };
        let rooflines = rooflines.into_iter().map(|(label, values)| Roofline {
            label,
            places: places(values),
        });
        self.draw_rooflines(svg, &rooflines.collect::<Vec<_>>());
        for series in &self.sweep.series {
            self.draw_series(svg, series, &y);
        }
        svg.add(format_args!("</g>"));
    }

    fn value(&self, point: &Point, ns: f64) -> Option<f64> {
        self.quantity.of(&point.work, ns)
    }

    fn roofline_values(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let Some(device) = self.sweep.device else {
            return Vec::new();
        };
        let label = |curve: &WorkCurve| match curve.label(self.sweep) {
            label if self.curves.len() > 1 && !label.is_empty() => format!("roofline: {label}"),
            _ => "roofline".to_owned(),
        };
        let curves = self.curves.iter();
        curves
            .map(|curve| (label(curve), curve.roofline(device, self.quantity)))
            .collect()
    }

    fn scale(&self, rooflines: &[(String, Vec<(f64, f64)>)]) -> Scale {
        let mut values: Vec<f64> = Vec::new();
        for point in self.sweep.points() {
            let (low, high) = point
                .interval_ns
                .unwrap_or((point.median_ns, point.median_ns));
            let all = [low, point.median_ns, high];
            values.extend(all.into_iter().filter_map(|ns| self.value(point, ns)));
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min) / ROOFLINE_FACTOR;
        let high = values.iter().copied().fold(0.0, f64::max) * ROOFLINE_FACTOR;
        let rooflines = rooflines.iter().flat_map(|(_, line)| line);
        let in_view = rooflines.map(|(_, value)| *value);
        values.extend(in_view.filter(|value| (low..=high).contains(value)));
        let (top, bottom) = self.ends;
        Scale::new(values.into_iter(), (bottom, top), MARGIN_PX, LEAST_FACTOR)
    }

    fn draw_grid(&self, svg: &mut Svg, y: &Scale) {
        let ((left, right), (top, bottom)) = (self.sides, self.ends);
        let title = format!("font-size=\"12\" font-weight=\"bold\" fill=\"{TEXT}\"");
        svg.text((left, top - 7.0), &title, self.quantity.title());
        let ticks = y.ticks();
        let stroke = |labelled: bool| {
            let colour = if labelled { GRID } else { FAINT_GRID };
            format!("stroke=\"{colour}\"")
        };
        for labelled in [false, true] {
            for tick in ticks.iter().filter(|tick| tick.labelled == labelled) {
                let at = y.place(tick.value);
                svg.line((left, at), (right, at), &stroke(labelled));
            }
        }
        for tick in self.ticks {
            svg.line((tick.place, top), (tick.place, bottom), &stroke(true));
        }
        svg.add(format_args!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"none\" stroke=\"{FRAME}\"/>",
            right - left,
            bottom - top
        ));
        svg.add(format_args!(
            "<g data-axis=\"y\" font-size=\"12\" fill=\"{TEXT}\" text-anchor=\"end\">"
        ));
        for tick in ticks.iter().filter(|tick| tick.labelled) {
            let label = self.quantity.tick(tick.value);
            svg.text((left - 8.0, y.place(tick.value) + 4.0), "", &label);
        }
        svg.add(format_args!("</g>"));
    }

    fn draw_marks(&self, svg: &mut Svg) {
        let (top, bottom) = self.ends;
        for mark in self.marks {
            let attributes = format!(
                "stroke=\"{CACHE}\" stroke-width=\"1.2\" data-cache=\"{}\"",
                mark.cache
            );
            svg.line((mark.place, top), (mark.place, bottom), &attributes);
        }
    }

    fn draw_rooflines(&self, svg: &mut Svg, rooflines: &[Roofline]) {
        let ((left, right), (top, bottom)) = (self.sides, self.ends);
        let (width, height) = (right - left, bottom - top);
        // An element of its own shows nothing outside of its box.
        svg.add(format_args!(
            "<svg x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             viewBox=\"{left:.1} {top:.1} {width:.1} {height:.1}\" overflow=\"hidden\">"
        ));
        let dashed = format!(
            "data-roofline=\"\" fill=\"none\" stroke=\"{ROOFLINE}\" stroke-width=\"1.6\" \
             stroke-dasharray=\"5 3\""
        );
        for roofline in rooflines.iter().filter(|line| line.places.len() >= 2) {
            svg.polyline(&roofline.places, &dashed);
        }
        svg.add(format_args!("</svg>"));
        let mut taken: Vec<Place> = Vec::new();
        for (index, roofline) in rooflines.iter().enumerate() {
            let Some(at) = self.label_place(rooflines, index, &taken) else {
                continue;
            };
            taken.push(at);
            let halo = format!(
                "font-size=\"{LABEL_PX}\" fill=\"{DIM}\" stroke=\"#ffffff\" stroke-width=\"3\" \
                 paint-order=\"stroke\""
            );
            svg.text(at, &halo, &roofline.label);
        }
    }

    /// Where a label is beside its line and within the panel: apart from the other lines and
    /// labels, or at least from the labels.
    fn label_place(&self, all: &[Roofline], index: usize, taken: &[Place]) -> Option<Place> {
        let roofline = all.get(index)?;
        let ((left, right), (top, bottom)) = (self.sides, self.ends);
        let wide = width(&roofline.label, LABEL_PX);
        let starts = (0..24).map(|step| left + 8.0 + f64::from(step) * 24.0);
        let places = starts.filter_map(|x| {
            let (here, there) = (roofline.at(x)?, roofline.at((x + wide).min(right))?);
            // Under a line that rises, so that the text does not cross it.
            let y = if there < here - 1.0 {
                here + 15.0
            } else {
                here.min(there) - 6.0
            };
            let is_inside = x + wide < right && top + 11.0 < y && y < bottom - 4.0;
            is_inside.then_some((x, y))
        });
        let is_free = |(x, y): &Place| {
            taken.iter().all(|(other_x, other_y)| {
                (y - other_y).abs() > 13.0 || (x - other_x).abs() > wide + 12.0
            })
        };
        let free: Vec<Place> = places.filter(is_free).collect();
        let is_crossed = |(x, y): &Place| {
            all.iter().enumerate().any(|(other, line)| {
                let at = |x: f64| line.at(x).unwrap_or(top);
                let (highest, lowest) = (at(*x).min(at(x + wide)), at(*x).max(at(x + wide)));
                other != index && highest < y + 4.0 && lowest > y - 12.0
            })
        };
        let best = free.iter().find(|place| !is_crossed(place));
        best.or(free.first()).copied()
    }

    fn draw_series(&self, svg: &mut Svg, series: &Series, y: &Scale) {
        let mode = self
            .sweep
            .modes
            .get(series.mode)
            .copied()
            .unwrap_or_default();
        let name = self.sweep.series_label(series);
        let colour = colour(series.implementation);
        let points: Vec<(&Point, Place)> = series
            .points
            .iter()
            .filter_map(|point| {
                let value = self.value(point, point.median_ns)?;
                Some((point, (self.x.place(point.x), y.place(value))))
            })
            .collect();
        svg.add(format_args!(
            "<g data-series=\"{}\" stroke=\"{colour}\" fill=\"none\">",
            content(&name)
        ));
        if points.len() >= 2 {
            let places: Vec<Place> = points.iter().map(|(_, place)| *place).collect();
            let attributes = format!("stroke-width=\"1.8\" {}", dashes(mode));
            svg.polyline(&places, &attributes);
        }
        if points.len() <= MAX_MARKERS {
            for (point, place) in points {
                self.draw_interval(svg, point, place, y);
                let title = self.tooltip(&name, point);
                marker(svg, place, series.implementation, mode, &title);
            }
        }
        svg.add(format_args!("</g>"));
    }

    fn draw_interval(&self, svg: &mut Svg, point: &Point, (x, _): Place, y: &Scale) {
        let end = |ns: f64| self.value(point, ns).map(|value| y.place(value));
        let ends = point
            .interval_ns
            .and_then(|(a, b)| Some((end(a)?, end(b)?)));
        if let Some((a, b)) = ends
            && (a - b).abs() >= LEAST_INTERVAL_PX
        {
            let (l, r) = (x - 3.0, x + 3.0);
            svg.add(format_args!(
                "<path data-interval=\"\" d=\"M{x:.1} {a:.1}V{b:.1}M{l:.1} {a:.1}H{r:.1}\
                 M{l:.1} {b:.1}H{r:.1}\"/>"
            ));
        }
    }

    fn tooltip(&self, name: &str, point: &Point) -> String {
        let quantities = Quantity::ALL.into_iter();
        let values = quantities.filter_map(|quantity| {
            let value = quantity.of(&point.work, point.median_ns)?;
            Some(quantity.format(value))
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let x = super::number::short(point.x);
        format!("{name}, {}={x}: {values}", self.sweep.axis)
    }
}

impl Roofline {
    /// The line at `x`; at its ends outside of it.
    fn at(&self, x: f64) -> Option<f64> {
        let first = self.places.first()?;
        let after = self.places.iter().position(|place| place.0 >= x);
        let Some(after) = after else {
            return Some(self.places.last()?.1);
        };
        let next = self.places.get(after)?;
        let before = after.checked_sub(1).and_then(|at| self.places.get(at));
        let before = before.unwrap_or(first);
        let run = next.0 - before.0;
        let share = if run > 0.0 { (x - before.0) / run } else { 1.0 };
        Some(before.1 + (next.1 - before.1) * share)
    }
}
