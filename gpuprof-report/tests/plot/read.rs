//! Reads a plot as a browser does.

use gpuprof_report::plot::plots;
use gpuprof_report::profile::{Benchmark, Profile};
use roxmltree::{Document, Node};

use crate::profiles::{h200_with_caches, of_results, result};

/// Half of the last digit of an attribute, at both ends of a distance.
pub(crate) const ROUNDING: f64 = 0.11;

/// The plot of the first sweep.
pub(crate) fn first(profile: &Profile) -> String {
    plots(profile).remove(0).svg
}

pub(crate) fn of(results: Vec<Benchmark>) -> String {
    first(&of_results(h200_with_caches(), results))
}

pub(crate) fn with<'a>(svg: &'a Document<'a>, attribute: &str) -> Vec<Node<'a, 'a>> {
    let all = svg.descendants();
    all.filter(|node| node.has_attribute(attribute)).collect()
}

pub(crate) fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

pub(crate) fn panel<'a>(svg: &'a Document<'a>, key: &str) -> Node<'a, 'a> {
    let mut all = svg.descendants();
    all.find(|node| node.attribute("data-panel") == Some(key))
        .unwrap()
}

pub(crate) fn panels<'a>(svg: &'a Document<'a>) -> Vec<&'a str> {
    let panels = with(svg, "data-panel").into_iter();
    panels
        .filter_map(|panel| panel.attribute("data-panel"))
        .collect()
}

pub(crate) fn texts(node: Node<'_, '_>) -> Vec<String> {
    let texts = node.descendants().filter(|node| node.has_tag_name("text"));
    texts
        .filter_map(|text| text.text().map(str::to_owned))
        .collect()
}

/// The places of the markers of each series of a panel.
pub(crate) fn series(panel: Node<'_, '_>) -> Vec<(String, Vec<(f64, f64)>)> {
    let all = panel.children();
    let named = all.filter_map(|node| Some((node.attribute("data-series")?.to_owned(), node)));
    let places = |node: Node<'_, '_>| {
        let markers = node
            .children()
            .filter(|child| child.has_attribute("data-x"));
        markers
            .map(|at| (number(at, "data-x"), number(at, "data-y")))
            .collect()
    };
    named.map(|(name, node)| (name, places(node))).collect()
}

/// The labels of the ticks, and the name of the axis.
pub(crate) fn x_axis<'a>(svg: &'a Document<'a>) -> Node<'a, 'a> {
    let mut axes = with(svg, "data-axis").into_iter();
    axes.find(|axis| axis.attribute("data-axis") == Some("x"))
        .unwrap()
}

pub(crate) fn x_labels(svg: &Document<'_>) -> Vec<String> {
    let mut texts = texts(x_axis(svg));
    texts.pop();
    texts
}

/// The label and the place of each tick.
pub(crate) fn y_ticks(panel: Node<'_, '_>) -> Vec<(String, f64)> {
    let mut groups = panel.children();
    let axis = groups
        .find(|node| node.attribute("data-axis") == Some("y"))
        .unwrap();
    let texts = axis.children().filter(|node| node.has_tag_name("text"));
    texts
        .map(|text| (text.text().unwrap().to_owned(), number(text, "y") - 4.0))
        .collect()
}

/// What a height of a panel stands for, from the places of two ticks.
pub(crate) fn value_at(panel: Node<'_, '_>, ticks: [(&str, f64); 2], y: f64) -> f64 {
    let all = y_ticks(panel);
    let place = |label: &str| all.iter().find(|(text, _)| text == label).expect(label).1;
    let [(low, low_value), (high, high_value)] = ticks;
    let share = (y - place(low)) / (place(high) - place(low));
    low_value * (high_value / low_value).powf(share)
}

pub(crate) fn rooflines(panel: Node<'_, '_>) -> Vec<Vec<(f64, f64)>> {
    let lines = panel
        .descendants()
        .filter(|node| node.has_attribute("data-roofline"));
    let place = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    lines
        .map(|line| {
            line.attribute("points")
                .unwrap()
                .split(' ')
                .map(place)
                .collect()
        })
        .collect()
}

pub(crate) fn sized(n: f64) -> Benchmark {
    result("saxpy", &[("n", &n.to_string())], 1000.0 * n)
}
