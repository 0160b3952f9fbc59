//! Text of an SVG. Attributes have no more than one decimal, so that the text is short and does
//! not change with the last bit of a logarithm.

use std::borrow::Cow;
use std::fmt::Write;

use crate::{escape, sanitize};

/// A place, in pixels.
pub(super) type Place = (f64, f64);

#[derive(Default)]
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// Appends markup.
    pub(super) fn add(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.text.write_fmt(markup);
        self.text.push('\n');
    }

    /// A text at its baseline; `attributes` are markup.
    pub(super) fn text(&mut self, (x, y): Place, attributes: &str, text: &str) {
        let text = content(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, (x1, y1): Place, (x2, y2): Place, attributes: &str) {
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {attributes}/>"
        ));
    }

    pub(super) fn polyline(&mut self, places: &[Place], attributes: &str) {
        let points: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let points = points.join(" ");
        self.add(format_args!("<polyline points=\"{points}\" {attributes}/>"));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Any text as content or as the value of an attribute.
pub(super) fn content(text: &str) -> String {
    // Noncharacters, which XML forbids and which `sanitize` lets pass.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    escape::html(&sanitize::name(&text))
}

/// Text with its middle cut out if it is wider than `max_px`.
pub(super) fn fit(text: &str, font_px: f64, max_px: f64) -> Cow<'_, str> {
    let mut shown = sanitize::name(text);
    let mut chars = shown.chars().count();
    while chars > 1 && width(&shown, font_px) > max_px {
        chars -= 1;
        shown = sanitize::short(text, chars);
    }
    shown
}

/// About how wide a text is in a sans-serif font, which is not known: rather too wide.
pub(super) fn width(text: &str, font_px: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'l' | 'j' | 't' | 'f' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '!' | 'I' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.96,
        '=' | '+' | '<' | '>' => 0.78,
        'A'..='Z' => 0.72,
        ' '..='~' => 0.61,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * font_px
}
