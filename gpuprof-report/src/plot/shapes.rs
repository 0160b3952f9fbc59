//! Colours, dashes and markers of series.

use super::svg::{Place, Svg};

pub(super) const TEXT: &str = "#222222";
pub(super) const DIM: &str = "#555555";
pub(super) const GRID: &str = "#dde1e6";
pub(super) const FAINT_GRID: &str = "#f0f2f4";
pub(super) const FRAME: &str = "#8b949e";
pub(super) const ROOFLINE: &str = "#767676";
pub(super) const CACHE: &str = "#9a6fb0";

/// Those of Okabe and Ito, which people of all kinds of colour vision distinguish
/// (<https://jfly.uni-koeln.de/color/>), with a yellow that is dark enough for thin lines.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#a39a00",
];

pub(super) fn colour(implementation: usize) -> &'static str {
    let index = implementation % COLOURS.len();
    COLOURS.get(index).copied().unwrap_or(TEXT)
}

/// The attributes of a line.
pub(super) fn dashes(mode: &str) -> &'static str {
    match mode {
        "cold" => "",
        "hot" => "stroke-dasharray=\"7 4\"",
        "graph" => "stroke-dasharray=\"0.5 4\" stroke-linecap=\"round\"",
        _ => "stroke-dasharray=\"9 3 2 3\"",
    }
}

/// A marker, with `title` as its tooltip: filled for cold calls, and of a shape that differs
/// between neighbours and between implementations of the same colour.
pub(super) fn marker(svg: &mut Svg, (x, y): Place, implementation: usize, mode: &str, title: &str) {
    let colour = colour(implementation);
    let fill = if mode == "cold" { colour } else { "#ffffff" };
    let size = |r: f64| (x - r, y - r, x + r, y + r);
    let path = match (implementation + implementation / COLOURS.len()) % 4 {
        0 => {
            let left = x - 3.4;
            format!("M{left:.1} {y:.1}a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z")
        }
        1 => {
            let (x0, y0, x1, y1) = size(3.0);
            format!("M{x0:.1} {y0:.1}H{x1:.1}V{y1:.1}H{x0:.1}z")
        }
        2 => {
            let (x0, y0, x1, y1) = size(3.8);
            format!("M{x:.1} {y0:.1}L{x1:.1} {y1:.1}H{x0:.1}z")
        }
        _ => {
            let (x0, y0, x1, y1) = size(4.2);
            format!("M{x:.1} {y0:.1}L{x1:.1} {y:.1}L{x:.1} {y1:.1}L{x0:.1} {y:.1}z")
        }
    };
    let title = super::svg::content(title);
    svg.add(format_args!(
        "<path data-x=\"{x:.1}\" data-y=\"{y:.1}\" d=\"{path}\" fill=\"{fill}\" \
         stroke=\"{colour}\" stroke-width=\"1.3\"><title>{title}</title></path>"
    ));
}
