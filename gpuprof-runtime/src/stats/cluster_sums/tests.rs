use super::{CallOfCluster, ClusterGroup, ClusterSums, SamplingDraw, t975};

#[test]
fn the_quantiles_are_students() {
    // From tables of the distribution.
    for (freedom, t) in [
        (1.0, 12.706),
        (9.0, 2.262),
        (10.0, 2.228),
        (11.0, 2.201),
        (30.0, 2.042),
        (120.0, 1.980),
    ] {
        let found = t975(freedom);
        assert!((found - t).abs() < 0.003, "{freedom}: {found}");
    }
}

/// Calls of clusters, each `(cluster, path, ns)`, of which 10 ns are typical.
fn sums(calls: &[(u64, u32, u64)], cluster_rate: u32, weight: u32) -> ClusterSums {
    let mut sums = ClusterSums::default();
    for &(cluster, path, ns) in calls {
        let draw = SamplingDraw {
            cluster,
            cluster_rate,
            weight,
        };
        sums.add(&call(path, 0, ns), draw, || (10, 100));
    }
    sums
}

/// An outermost call of the only site.
fn call(path: u32, device: u32, ns: u64) -> CallOfCluster {
    CallOfCluster {
        path,
        site: 1,
        device,
        counts: true,
        ns,
        outermost_ns: Some(ns),
    }
}

/// A draw of one call in so many.
fn draw(cluster: u64, one_in: u32) -> SamplingDraw {
    SamplingDraw {
        cluster,
        cluster_rate: one_in,
        weight: one_in,
    }
}

const SITE: ClusterGroup = ClusterGroup::Site(1);

#[test]
fn calls_of_one_cluster_count_as_one() {
    // Interleaved, as streams resolve: cluster sums of 30, 50, 70 and 50 from two calls each.
    let calls = [
        (1, 10),
        (2, 20),
        (3, 40),
        (4, 25),
        (2, 30),
        (3, 30),
        (1, 20),
        (4, 25),
    ]
    .map(|(cluster, ns)| (cluster, 0, ns));
    // The mean is 25. e: 4 · (−20, 0, 20, 0), of which 2 are as many as spread.
    let of_path = |calls: &[_], rate, weight| {
        sums(calls, rate, weight).half_width(ClusterGroup::Path(0), 1.0)
    };
    assert_eq!(of_path(&calls, 4, 4), None);
    let calls: Vec<_> = (0..8)
        .flat_map(|cluster| [20, 30].map(|ns| (cluster, 0, ns + 10 * (cluster % 2))))
        .collect();
    // e: 4 · ±10 of each of 8 clusters.
    let wanted = t975(7.0) * (8.0 * 0.75 * 1_600.0_f64).sqrt();
    let found = of_path(&calls, 4, 4).unwrap();
    assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
    let more = sums(&calls, 4, 4)
        .half_width(ClusterGroup::Path(0), 1.5)
        .unwrap();
    assert!((more - 1.5 * wanted).abs() < 1e-6);
}

#[test]
fn draws_within_a_cluster_add_their_own_spread() {
    // No spread between the clusters, all of it within.
    let calls: Vec<_> = (0..8)
        .flat_map(|cluster| [10, 30].map(|ns| (cluster, 0, ns)))
        .collect();
    let path = ClusterGroup::Path(0);
    assert_eq!(sums(&calls, 2, 2).half_width(path, 1.0), Some(0.0));
    let half = sums(&calls, 2, 4).half_width(path, 1.0).unwrap();
    // Σ p₁ (1 − p₂) (4 · 10)² of 16 calls.
    let wanted = t975(15.0) * (16.0 * 0.25 * 1_600.0_f64).sqrt();
    assert!((half - wanted).abs() < 1e-6, "{half}, not {wanted}");
}

#[test]
fn paths_of_one_cluster_are_not_taken_as_independent() {
    let calls: Vec<_> = (0..10_000)
        .flat_map(|cluster| [0, 1].map(|path| (cluster, path, 10 + cluster % 2)))
        .collect();
    let sums = sums(&calls, 8, 8);
    let of_path = sums.half_width(ClusterGroup::Path(0), 1.0).unwrap();
    for group in [SITE, ClusterGroup::Device(0)] {
        let found = sums.half_width(group, 1.0).unwrap();
        assert!((found / of_path - 2.0).abs() < 0.01, "{found}, {of_path}");
    }
}

#[test]
fn few_calls_give_no_interval() {
    let calls = [(1, 0, 10), (2, 0, 11), (3, 0, 12)];
    assert_eq!(
        sums(&calls, 2, 2).half_width(ClusterGroup::Path(0), 1.0),
        None
    );
    // All but one are alike.
    let calls: Vec<_> = (0..20).map(|at| (at, 0, 10 + at / 19 * 5)).collect();
    assert_eq!(
        sums(&calls, 2, 2).half_width(ClusterGroup::Path(0), 1.0),
        None
    );
    let calls: Vec<_> = (0..4).map(|at| (at, 0, 70)).collect();
    assert_eq!(
        sums(&calls, 2, 2).half_width(ClusterGroup::Path(0), 1.0),
        Some(0.0)
    );
}

#[test]
fn calls_that_are_alone_on_their_paths_give_no_interval() {
    let of = |calls: u64| {
        let mut sums = ClusterSums::default();
        for at in 0..calls {
            sums.add(&call(at as u32 % 4, 0, 70), draw(at, 2), || (70, 0));
        }
        [SITE, ClusterGroup::Device(0)].map(|group| sums.half_width(group, 1.0))
    };
    assert_eq!(of(7), [None; 2]);
    assert_eq!(of(8), [Some(0.0); 2]);
}

#[test]
fn long_runs_keep_the_precision_of_a_small_spread() {
    let calls: Vec<_> = (0..100_000)
        .map(|at| (at, 0, 1_000_000_000 + at % 2))
        .collect();
    let mut sums = ClusterSums::default();
    for &(cluster, path, ns) in &calls {
        let typical = || (1_000_000_000, 100);
        sums.add(&call(path, 0, ns), draw(cluster, 1_000), typical);
    }
    let found = sums.half_width(ClusterGroup::Path(0), 1.0).unwrap();
    // e: 1,000 · ±½ of each.
    let wanted = 1.96 * (100_000.0 * 0.999 * 250_000.0_f64).sqrt();
    assert!((found / wanted - 1.0).abs() < 1e-3, "{found}, not {wanted}");
    assert!(
        sums.recent
            .iter()
            .all(|half| half.len() <= super::RECENT_CLUSTERS)
    );
}

#[test]
fn paths_without_a_typical_time_are_taken_relative_to_their_mean_so_far() {
    let mut sums = ClusterSums::default();
    for at in 0..10_000 {
        // Independent of each other, and of very different lengths.
        let ns = 1_000 + 1_000_000 * (at % 2) + at / 2 % 2 * 100;
        let call = call(at as u32 % 2, 0, ns);
        sums.add(&call, draw(at, 1_000), || (ns, 0));
    }
    let found = sums.half_width(SITE, 1.0).unwrap();
    let wanted = 1.96 * 1_000.0 * (10_000.0 * 0.999 * 2_500.0_f64).sqrt();
    assert!((found / wanted - 1.0).abs() < 0.01, "{found}, not {wanted}");
}

#[test]
fn the_halves_of_a_run_are_merged_to_the_whole() {
    let ns = |at: u64| 1_000 + at * 10 + at % 3;
    let half = |range: std::ops::Range<u64>| {
        let mut sums = ClusterSums::default();
        // Each half has a typical time of its own.
        let typical = || (ns(range.start), 0);
        for at in range.clone() {
            sums.add(&call(0, 0, ns(at)), draw(at, 10), typical);
        }
        sums
    };
    let mut merged = half(0..500);
    merged.merge(&half(500..1_000));
    let whole = half(0..1_000)
        .half_width(ClusterGroup::Path(0), 2.0)
        .unwrap();
    let found = merged.half_width(ClusterGroup::Path(0), 2.0).unwrap();
    assert!((found / whole - 1.0).abs() < 1e-9, "{found}, not {whole}");
}

/// 1,000 calls of a function, the first 100 on device 0, the others on one of two at random, each
/// of 50 µs.
fn on_two_devices(range: std::ops::Range<u64>) -> ClusterSums {
    let mut sums = ClusterSums::default();
    for at in range {
        let device = if at < 100 { 0 } else { at.count_ones() % 2 };
        sums.add(&call(0, device, 50_000), draw(at, 10), || (50_000, 0));
    }
    sums
}

#[test]
fn how_calls_fall_to_devices_is_part_of_what_each_one_has_by_chance() {
    let sums = on_two_devices(0..1_000);
    assert_eq!(sums.half_width(ClusterGroup::Path(0), 1.0), Some(0.0));
    assert_eq!(sums.half_width(sums.site_group(1, None), 1.0), Some(0.0));
    for device in [0, 1] {
        let half = sums
            .half_width(sums.site_group(1, Some(device)), 1.0)
            .unwrap();
        // About 10 · 50 µs · √(1000 · 0.9 · p (1 − p)), p near a half.
        let wanted = 1.96 * 500_000.0 * (1_000.0 * 0.9 * 0.25_f64).sqrt();
        assert!((half / wanted - 1.0).abs() < 0.1, "{half}, not {wanted}");
    }
    // Of windows, of which one knows a single device.
    let mut merged = on_two_devices(0..100);
    assert_eq!(merged.site_group(1, Some(0)), ClusterGroup::Site(1));
    merged.merge(&on_two_devices(100..1_000));
    let on = merged.site_group(1, Some(1));
    let found = merged.half_width(on, 1.0).unwrap();
    let whole = sums.half_width(on, 1.0).unwrap();
    assert!((found / whole - 1.0).abs() < 0.1, "{found}, not {whole}");
}
