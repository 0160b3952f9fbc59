//! Plots of benchmark sweeps.

mod device;
mod hostile;
#[path = "../profiles/mod.rs"]
mod profiles;
mod read;

use gpuprof_report::plot::plots;
use gpuprof_report::profile::Parameter;
use profiles::{h200_with_caches, of_results, result, sweeps};
use read::*;
use roxmltree::Document;

#[test]
fn the_axis_is_the_numeric_parameter_with_the_most_values_and_the_last_of_several() {
    let axis = |results: &[[(&str, &str); 3]]| {
        let results = results
            .iter()
            .map(|parameters| result("b", parameters, 1e3));
        let plots = plots(&of_results(h200_with_caches(), results.collect()));
        plots.first().map(|plot| {
            let svg = Document::parse(&plot.svg).unwrap();
            texts(x_axis(&svg)).pop().unwrap()
        })
    };
    let one = [("rows", "1"), ("kernel", "a"), ("columns", "8")];
    let two = [("rows", "2"), ("kernel", "b"), ("columns", "9")];
    let three = [("rows", "3"), ("kernel", "c"), ("columns", "9")];
    assert_eq!(axis(&[one, two]).as_deref(), Some("columns"));
    assert_eq!(axis(&[one, two, three]).as_deref(), Some("rows"));
    assert_eq!(
        axis(&[one, [("rows", "1.0"), ("kernel", "b"), ("columns", "8")]]),
        None
    );
    assert_eq!(axis(&[one]), None);
}

#[test]
fn each_implementation_in_each_mode_is_a_series_in_each_panel() {
    let svg = first(&sweeps(h200_with_caches()));
    let svg = Document::parse(&svg).unwrap();
    assert_eq!(panels(&svg), ["time", "bytes", "flops"]);
    for key in ["time", "bytes", "flops"] {
        let series = series(panel(&svg, key));
        let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["naive, cold", "naive, hot", "tiled, cold", "tiled, hot"]
        );
        assert!(series.iter().all(|(_, points)| points.len() == 4));
    }
    let strokes: Vec<_> = with(&svg, "data-series")
        .iter()
        .take(4)
        .map(|node| {
            let mut lines = node
                .children()
                .filter(|child| child.has_tag_name("polyline"));
            (
                node.attribute("stroke").unwrap(),
                lines.next().unwrap().has_attribute("stroke-dasharray"),
            )
        })
        .collect();
    let [
        (blue, false),
        (also_blue, true),
        (red, false),
        (also_red, true),
    ] = strokes[..]
    else {
        panic!("{strokes:?}");
    };
    assert!(blue == also_blue && red == also_red && blue != red);
    let legend = texts(with(&svg, "data-legend")[0]);
    assert_eq!(legend, ["naive", "tiled", "cold", "hot"]);
    // The parameter that is the same in all is beside the device.
    assert!(texts(svg.root()).contains(&"NVIDIA H200 · f32".to_owned()));
}

#[test]
fn only_stated_quantities_have_a_panel() {
    let svg = of(vec![sized(1.0), sized(2.0)]);
    assert_eq!(panels(&Document::parse(&svg).unwrap()), ["time"]);
    let with_bytes = |n: f64| {
        let mut result = sized(n);
        result.bytes = Some(8);
        result
    };
    let svg = of(vec![with_bytes(1.0), with_bytes(2.0)]);
    assert_eq!(panels(&Document::parse(&svg).unwrap()), ["time", "bytes"]);
}

#[test]
fn both_axes_are_logarithmic() {
    let shuffled = [100.0, 1.0, 1000.0, 10.0].map(sized).to_vec();
    let svg = of(shuffled);
    let svg = Document::parse(&svg).unwrap();
    let time = panel(&svg, "time");
    let points = series(time).remove(0).1;
    for pair in points.windows(3) {
        let [a, b, c] = pair else { unreachable!() };
        assert!(a.0 < b.0 && a.1 > b.1);
        assert!((c.0 - b.0 - (b.0 - a.0)).abs() < 2.0 * ROUNDING);
        assert!((c.1 - b.1 - (b.1 - a.1)).abs() < 2.0 * ROUNDING);
    }
    let ticks = y_ticks(time);
    let labels: Vec<&str> = ticks.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["1 µs", "10 µs", "100 µs", "1 ms"]);
    for ((_, tick), (_, point)) in ticks.iter().zip(&points) {
        assert!((tick - point).abs() < ROUNDING, "a value is at its tick");
    }
}

#[test]
fn a_simulated_device_is_named_as_such() {
    let mut device = h200_with_caches();
    device.name = "model of a card ".repeat(40);
    device.simulated = true;
    let svg = first(&sweeps(device));
    let svg = Document::parse(&svg).unwrap();
    let shown = |text: &String| text.contains("(simulated device)");
    assert!(texts(svg.root()).iter().any(shown));
}

#[test]
fn a_benchmark_has_a_plot_for_each_device() {
    let mut profile = of_results(h200_with_caches(), vec![]);
    let mut other = h200_with_caches();
    (other.ordinal, other.name) = (1, "other".into());
    profile.devices.push(other);
    for (name, device) in [("b", 1), ("a", 0), ("b", 0), ("b", 7)] {
        for n in ["1", "2"] {
            let mut result = result(name, &[], 1e3);
            result.parameters = vec![Parameter::new("n", n)];
            result.device = device;
            profile.benchmarks.push(result);
        }
    }
    let plots = plots(&profile);
    let names: Vec<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
    assert_eq!(names, ["b", "a", "b", "b"]);
    let devices = ["other", "NVIDIA H200", "NVIDIA H200", "device 7"];
    for (plot, device) in plots.iter().zip(devices) {
        let svg = Document::parse(&plot.svg).unwrap();
        assert_eq!(texts(svg.root())[1], device);
    }
}

#[test]
fn the_same_profile_makes_the_same_bytes() {
    let profile = sweeps(h200_with_caches());
    assert_eq!(plots(&profile), plots(&profile.clone()));
}
