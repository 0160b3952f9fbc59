//! What a plot shows of the device: rooflines and caches.

use gpuprof_report::profile::Device;
use roxmltree::{Document, Node};

use crate::profiles::{h200_with_caches, of_results, result};
use crate::read::*;

fn near(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() < share
}

/// 1 byte/ns and 10 FLOP/ns.
fn slow_device() -> Device {
    let mut device = h200_with_caches();
    device.peak_bytes_per_s = Some(1_000_000_000);
    device.peak_flops_f32 = Some(10_000_000_000);
    device
}

#[test]
fn the_roofline_is_what_the_device_can_do_with_the_stated_work() {
    let worked = |n: u64| {
        let mut result = sized(n as f64);
        // The intensity is n/10: 10 FLOP per byte, at which both take as long, from n = 100 on.
        (result.bytes, result.flops) = (Some(1000), Some(100 * n));
        result.median_ns = 4000.0 + n as f64;
        result
    };
    let svg = first(&of_results(slow_device(), [10, 1000].map(worked).to_vec()));
    let svg = Document::parse(&svg).unwrap();
    let line = |key: &str, ticks| -> Vec<f64> {
        let panel = panel(&svg, key);
        let [line] = &rooflines(panel)[..] else {
            panic!()
        };
        line.iter()
            .map(|(_, y)| value_at(panel, ticks, *y))
            .collect()
    };
    let expect = |line: Vec<f64>, expected: [f64; 3]| {
        assert!(line.len() == 3, "{line:?}");
        for (value, expected) in line.iter().zip(expected) {
            assert!(near(*value, expected, 0.01), "{line:?} is not {expected:?}");
        }
    };
    expect(
        line("time", [("1 µs", 1e3), ("10 µs", 1e4)]),
        [1e3, 1e3, 1e4],
    );
    expect(line("bytes", [("0.2", 0.2), ("1", 1.0)]), [1.0, 1.0, 0.1]);
    expect(
        line("flops", [("0.001", 1e-3), ("0.01", 0.01)]),
        [1e-3, 0.01, 0.01],
    );
    // It turns at n = 100, which is in the middle.
    let places = &rooflines(panel(&svg, "time"))[0];
    assert!((places[0].0 + places[2].0 - 2.0 * places[1].0).abs() < 2.0 * ROUNDING);
    assert!(texts(panel(&svg, "time")).contains(&"roofline".to_owned()));
}

#[test]
fn work_that_differs_has_a_roofline_of_its_own_and_precisions_have_their_peaks() {
    let mut results = Vec::new();
    for (ty, width) in [("f32", 4), ("f64", 8)] {
        for n in [10_u64, 100] {
            for kernel in ["a", "b"] {
                let parameters = [
                    ("n", n.to_string()),
                    ("type", ty.into()),
                    ("k", kernel.into()),
                ];
                let parameters = parameters
                    .each_ref()
                    .map(|(name, value)| (*name, value.as_str()));
                let mut result = result("sum", &parameters, 1e3);
                (result.bytes, result.flops) = (Some(width * n), Some(1_000_000 * n));
                results.push(result);
            }
        }
    }
    let svg = of(results);
    let svg = Document::parse(&svg).unwrap();
    let flops = panel(&svg, "flops");
    let ends: Vec<f64> = rooflines(flops)
        .iter()
        .map(|line| value_at(flops, [("10", 10.0), ("100", 100.0)], line[0].1))
        .collect();
    assert!(
        ends.len() == 2 && near(ends[0], 66.9, 0.01) && near(ends[1], 33.5, 0.01),
        "{ends:?}"
    );
    let texts = texts(flops);
    assert!(
        texts.iter().any(|text| text == "roofline: f32"),
        "{texts:?}"
    );
    assert!(texts.iter().any(|text| text == "roofline: f64"));
}

#[test]
fn a_cache_is_marked_where_the_bytes_fill_it() {
    let marks = |sizes: [u64; 2]| -> Vec<(String, f64)> {
        let results = sizes.map(|n| {
            let mut result = sized(n as f64);
            result.bytes = Some(n * n);
            result
        });
        let svg = of(results.to_vec());
        let svg = Document::parse(&svg).unwrap();
        let ends = series(panel(&svg, "time")).remove(0).1;
        let n = |x: f64| {
            let share = (x - ends[0].0) / (ends[1].0 - ends[0].0);
            sizes[0] as f64 * (sizes[1] as f64 / sizes[0] as f64).powf(share)
        };
        let marks = with(&svg, "data-cache").into_iter();
        let cache = |mark: Node<'_, '_>| mark.attribute("data-cache").unwrap().to_owned();
        // One line in each panel.
        marks
            .map(|mark| (cache(mark), n(number(mark, "x1"))))
            .take(2)
            .collect()
    };
    // 132 × 256 KiB and 50 MiB.
    let [(l1, at_l1), (l2, at_l2)] = &marks([1000, 16_000])[..] else {
        panic!()
    };
    assert_eq!([l1, l2], ["L1", "L2"]);
    assert!(
        near(*at_l1, 5882.4, 0.002) && near(*at_l2, 7240.8, 0.002),
        "{at_l1}, {at_l2}"
    );
    assert_eq!(marks([1000, 2000]), []);
}
