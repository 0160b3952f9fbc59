//! Names and numbers that no program should have.

use gpuprof_report::plot::plots;
use gpuprof_report::profile::Device;
use roxmltree::{Document, Node};

use crate::profiles::{MARKUP, hostile_sweeps, of_results, result};
use crate::read::*;

#[test]
fn names_are_text() {
    let hostile = hostile_sweeps();
    let drawn = plots(&hostile);
    assert_eq!(drawn.len(), 2);
    for plot in drawn {
        assert!(plot.name.starts_with(MARKUP));
        let svg = Document::parse(&plot.svg).unwrap();
        let mut elements = svg.descendants().filter(Node::is_element);
        let ours = [
            "svg", "title", "g", "rect", "line", "polyline", "path", "text",
        ];
        assert!(elements.all(|node| ours.contains(&node.tag_name().name())));
        assert!(!plot.svg.contains("<script") && !plot.svg.contains(['\u{202e}', '\u{2028}']));
        assert!(!plot.svg.contains("style="));
        assert!(plot.svg.contains("&lt;/script&gt;"));
    }
    // What XML does not allow.
    let name = "\0\u{1}\u{ffff}\u{fffe}]]>";
    let results = ["1", "2"].map(|n| result(name, &[(name, n)], 1e3)).to_vec();
    assert!(Document::parse(&of(results)).is_ok());
}

#[test]
fn what_has_no_place_on_a_logarithmic_axis_is_omitted() {
    let mut results = vec![sized(1.0), sized(2.0), sized(4.0)];
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        results.push(result("saxpy", &[("n", "3")], wrong));
    }
    for wrong in ["0", "-1", "NaN", "inf", "1e999", "", "many"] {
        results.push(result("saxpy", &[("n", wrong)], 1e3));
    }
    results.push(result("saxpy", &[], 1e3));
    let svg = of(results);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let svg = Document::parse(&svg).unwrap();
    let [(_, points)] = &series(panel(&svg, "time"))[..] else {
        panic!()
    };
    assert_eq!(points.len(), 3);
    assert_eq!(x_labels(&svg), ["1", "2", "4"]);
}

#[test]
fn any_numbers_make_a_plot_or_none() {
    let values = ["1e-320", "1e-5", "1", "1.0000000000000002", "1e308", "7"];
    let times = [1e-320, 1e-9, 1.0, 1e308, f64::MAX, 0.0, f64::NAN];
    let work = [None, Some(0), Some(1), Some(u64::MAX)];
    let mut results = vec![result("", &[("", ""), ("", "")], 1.0)];
    for (at, (value, time)) in values
        .iter()
        .flat_map(|v| times.map(|t| (v, t)))
        .enumerate()
    {
        let mut one = result("", &[("", value)], time);
        (one.bytes, one.flops) = (work[at % 4], work[at / 4 % 4]);
        (one.median_low_ns, one.median_high_ns) = (Some(times[at % 7]), Some(times[at / 7 % 7]));
        results.push(one);
    }
    for peak in [None, Some(0), Some(1), Some(u64::MAX)] {
        let mut device = Device::default();
        (device.peak_bytes_per_s, device.peak_flops_f32) = (peak, peak);
        (device.l2_bytes, device.l1_bytes_per_sm) = (peak, peak);
        device.sm_count = Some(u32::MAX);
        for count in [0, 1, 2, 15, results.len()] {
            let mut profile = of_results(device.clone(), results[..count].to_vec());
            for (at, result) in profile.benchmarks.iter_mut().enumerate() {
                result.function = u32::MAX - at as u32;
            }
            for plot in plots(&profile) {
                assert!(Document::parse(&plot.svg).is_ok());
                assert!(
                    !plot.svg.contains("NaN") && !plot.svg.contains("inf"),
                    "{}",
                    plot.svg
                );
            }
        }
    }
}

#[test]
fn ten_thousand_results_are_a_line_or_many_series() {
    let line = (1..=10_000).map(|n| sized(f64::from(n))).collect();
    let svg = of(line);
    assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
    let many = (0..10_000).map(|at: u32| {
        let (name, n) = ((at / 2).to_string(), (at % 2 + 1).to_string());
        result("saxpy", &[("n", &n), ("variant", &format!("v{name}"))], 1e3)
    });
    let svg = of(many.collect());
    let svg = Document::parse(&svg).unwrap();
    let legend = texts(with(&svg, "data-legend")[0]);
    assert_eq!(legend.len(), 42);
    assert_eq!(legend[40], "and 4960 more");
}
