//! The legend, on the right of the panels.

use super::shapes::{DIM, TEXT, colour, dashes, marker};
use super::svg::{Svg, content, fit, width};
use super::sweep::Sweep;

/// Rows of the legend.
const MAX_ROWS: usize = 40;
const ROW_PX: f64 = 19.0;
const FONT_PX: f64 = 12.0;
const SWATCH_PX: f64 = 34.0;
const MAX_LABEL_PX: f64 = 250.0;

/// The implementations by colour, and the modes by dashes.
pub(super) struct Legend<'a> {
    implementations: Vec<(usize, String)>,
    modes: Vec<&'a str>,
    /// Implementations that have no row.
    more: usize,
}

impl<'a> Legend<'a> {
    pub(super) fn new(sweep: &Sweep<'a>) -> Self {
        let count = sweep.implementations.len();
        let all = (0..count).map(|index| (index, sweep.implementation(index)));
        // A single one needs no name.
        let named = all.filter(|(_, label)| count > 1 || !label.is_empty());
        Self {
            implementations: named.take(MAX_ROWS).collect(),
            modes: sweep.modes.iter().take(MAX_ROWS).copied().collect(),
            more: count.saturating_sub(MAX_ROWS),
        }
    }

    pub(super) fn width(&self) -> f64 {
        let labels = self.implementations.iter().map(|(_, label)| label.as_str());
        let labels = labels.chain(self.modes.iter().copied());
        let widths = labels.map(|label| width(&fit(label, FONT_PX, MAX_LABEL_PX), FONT_PX));
        SWATCH_PX + widths.fold(0.0, f64::max).max(70.0)
    }

    pub(super) fn height(&self) -> f64 {
        (self.implementations.len() + self.modes.len() + 2) as f64 * ROW_PX
    }

    pub(super) fn draw(&self, svg: &mut Svg, (left, top): (f64, f64)) {
        svg.add(format_args!(
            "<g data-legend=\"\" font-size=\"{FONT_PX}\" fill=\"{TEXT}\">"
        ));
        let mut y = top + ROW_PX / 2.0;
        for (index, label) in &self.implementations {
            let row = Row {
                implementation: *index,
                colour: colour(*index),
                mode: "cold",
                label,
            };
            row.draw(svg, (left, y));
            y += ROW_PX;
        }
        if self.more > 0 {
            let text = format!("and {} more", self.more);
            svg.text((left + SWATCH_PX, y + 4.0), "", &text);
            y += ROW_PX;
        }
        if !self.implementations.is_empty() {
            y += ROW_PX / 2.0;
        }
        for mode in &self.modes {
            let row = Row {
                implementation: 0,
                colour: if self.implementations.is_empty() {
                    colour(0)
                } else {
                    DIM
                },
                mode,
                label: mode,
            };
            row.draw(svg, (left, y));
            y += ROW_PX;
        }
        svg.add(format_args!("</g>"));
    }
}

struct Row<'a> {
    implementation: usize,
    colour: &'a str,
    mode: &'a str,
    label: &'a str,
}

impl Row<'_> {
    fn draw(&self, svg: &mut Svg, (left, y): (f64, f64)) {
        let label = content(self.label);
        svg.add(format_args!("<g><title>{label}</title>"));
        let line = format!(
            "stroke=\"{}\" stroke-width=\"1.8\" {}",
            self.colour,
            dashes(self.mode)
        );
        svg.line((left, y), (left + SWATCH_PX - 8.0, y), &line);
        let middle = (left + (SWATCH_PX - 8.0) / 2.0, y);
        if self.colour != DIM {
            marker(svg, middle, self.implementation, self.mode, self.label);
        }
        let text = fit(self.label, FONT_PX, MAX_LABEL_PX);
        svg.text((left + SWATCH_PX, y + 4.0), "", &text);
        svg.add(format_args!("</g>"));
    }
}
