//! Promise: the metrics that a user lists are measured like gpuprof's own; each that is not sampled
//! is one line that says what is accepted, and everything else is the same.

use gpuprof::profile::{CounterValues, Metric, MetricUnit};
use gpuprof::{Counters, Profile, Session, gpu_profile};
use simcupti::KernelCounters;
use support::cupti_world::{Tier, builder};
use support::sampled_world::{
    INTERVAL_NS, KERNEL_NS, assert_mean, begin, device, first, note, sampled_world, values,
};
use support::suite::Module;
use support::{tests, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        listed_metrics_have_the_means_of_their_units,
        kernels_shorter_than_the_interval_have_the_means_while_they_run,
        beside_copies_only_what_they_use_too_is_divided,
        a_ratio_without_a_value_has_no_mean,
        listed_metrics_come_before_gpuprofs_own,
        a_misspelled_name_is_one_line_with_the_nearest,
        a_name_without_a_form_that_has_a_mean_is_one_line,
        a_metric_that_needs_another_pass_is_one_line,
        a_list_of_refused_names_leaves_gpuprofs_own,
        samples_that_come_during_the_search_for_names_widen_no_interval,
        a_second_list_is_not_sampled_and_says_so,
        a_profile_with_listed_metrics_survives_json,
    ]],
);

const WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_elapsed";
const SECTORS: &str = "lts__t_sectors.sum";
const READ: &str = "dram__bytes_read.sum";
const HITS: &str = "lts__t_sector_hit_rate.pct";
const HIT_RATIO: &str = "lts__t_sector_hit_rate.ratio";

fn session(t: &Tier, names: &[&str]) -> Session {
    t.cpu(1_000);
    let counters: Counters = names.join(",").parse().expect("names of metrics");
    let builder = builder().counters(counters);
    builder.start().expect("no other session is open")
}

/// The profile of a function with one kernel.
fn profile_of(t: &Tier, names: &[&str]) -> Profile {
    let session = session(t, names);
    begin(t);
    first(&t.gpu, KERNEL_NS);
    t.finish(session)
}

/// The names, units and means.
#[track_caller]
fn assert_listed(values: &CounterValues, expected: &[(&str, MetricUnit, f64)]) {
    let names = values.listed.iter().map(|of| (of.name.as_str(), of.unit));
    let expected_names = expected.iter().map(|(name, unit, _)| (*name, *unit));
    assert!(names.eq(expected_names), "{:?}", values.listed);
    for (of, (.., mean)) in values.listed.iter().zip(expected) {
        assert!(
            (of.mean - mean).abs() <= 1e-6 * mean,
            "{of:?}, expected {mean}"
        );
    }
}

fn listed_metrics_have_the_means_of_their_units() {
    let t = sampled_world();
    let names = [WARPS, SECTORS, READ, HITS, HIT_RATIO];
    let profile = profile_of(&t, &names);
    let of_function = values(&profile, "first");
    // 400,000 sectors and 6 MB in 2 ms.
    let expected = [
        (WARPS, MetricUnit::Share, 0.6875),
        (SECTORS, MetricUnit::PerS, 2e8),
        (READ, MetricUnit::BytesPerS, 3e9),
        (HITS, MetricUnit::Share, 0.75),
        (HIT_RATIO, MetricUnit::Ratio, 0.75),
    ];
    assert_listed(of_function, &expected);
    let widths = of_function.listed.iter().map(|of| of.ci95 / of.mean);
    assert!(
        widths.into_iter().all(|width| width < 1e-6),
        "all samples are alike"
    );
    // The kernel is that of all calls, of which the first is shorter than a sample.
    let of_kernel = profile.kernels[0]
        .counters
        .as_ref()
        .expect("it has samples");
    assert_listed(of_kernel, &expected);
    assert_mean(of_function, Metric::DramRead, 3e9);
    assert_mean(of_function, Metric::SmActive, 0.75);
    assert_eq!(device(&profile).listed, names);
    assert!(
        profile.diagnostics.notes.is_empty(),
        "{:?}",
        profile.diagnostics.notes
    );
    let report = profile.to_string();
    for heading in [
        "sm__warps_active(%)  lts__t_sectors(M/s)",
        "lts__t_sectors(M/s)  dram__",
    ] {
        assert!(report.contains(heading), "{report}");
    }
}

fn kernels_shorter_than_the_interval_have_the_means_while_they_run() {
    let t = sampled_world();
    let session = session(&t, &[WARPS, SECTORS, HITS]);
    begin(&t);
    for _ in 0..50 {
        first(&t.gpu, 20_000);
        t.synchronize();
        t.cpu(60_000);
    }
    let profile = t.finish(session);
    // 400,000 in 20 µs; the samples are filled to a quarter.
    let expected = [
        (WARPS, MetricUnit::Share, 0.6875),
        (SECTORS, MetricUnit::PerS, 2e10),
        (HITS, MetricUnit::Share, 0.75),
    ];
    assert_listed(values(&profile, "first"), &expected);
}

#[gpu_profile]
fn copies(stream: &std::sync::Arc<cudarc::driver::CudaStream>, host: &[f32]) {
    drop(stream.clone_htod(host).expect("copy"));
}

fn beside_copies_only_what_they_use_too_is_divided() {
    let t = sampled_world();
    let session = session(&t, &[WARPS, SECTORS, HITS]);
    begin(&t);
    t.sim.set_kernel_ns("memcpy", 40_000);
    for _ in 0..50 {
        first(&t.gpu, 40_000);
        copies(&t.gpu.stream, &[1.0; 1_024]);
        t.synchronize();
    }
    let profile = t.finish(session);
    let values = values(&profile, "first");
    assert!(
        values.is_divided,
        "no sample has a kernel alone: {values:?}"
    );
    let [warps, sectors, hits] = &values.listed[..] else {
        panic!("{values:?}")
    };
    assert!((warps.mean - 0.6875).abs() < 1e-6, "{warps:?}");
    assert!((hits.mean - 0.75).abs() < 1e-6, "{hits:?}");
    // What copies had of the L2 cache cannot be told: half of 400,000 in 40 µs.
    assert!((4.8e9..5.2e9).contains(&sectors.mean), "{sectors:?}");
}

fn a_ratio_without_a_value_has_no_mean() {
    let t = sampled_world();
    let counters = KernelCounters {
        warps_active: 0.5,
        ..KernelCounters::default()
    };
    t.cupti.set_counters(kernels::SAXPY, counters);
    let profile = profile_of(&t, &[HITS, WARPS, SECTORS]);
    let expected = [
        (WARPS, MetricUnit::Share, 0.5),
        (SECTORS, MetricUnit::PerS, 0.0),
    ];
    assert_listed(values(&profile, "first"), &expected);
}

fn listed_metrics_come_before_gpuprofs_own() {
    let t = sampled_world();
    t.cupti.set_metrics_per_pass(3);
    let profile = profile_of(&t, &[WARPS, SECTORS]);
    let device = device(&profile);
    assert_eq!(device.listed, [WARPS, SECTORS]);
    assert_eq!(device.metrics, [Metric::DramRead]);
    assert_eq!(device.omitted.len(), 13);
    let means = [
        values(&profile, "first").means.len(),
        values(&profile, "first").listed.len(),
    ];
    assert_eq!(means, [1, 2]);
    assert!(
        profile.diagnostics.notes.is_empty(),
        "{:?}",
        profile.diagnostics.notes
    );
}

fn a_misspelled_name_is_one_line_with_the_nearest() {
    let t = sampled_world();
    let misspelled = [
        "sm__warp_active.avg.pct_of_peak_sustained_elapsed",
        // The nearest two need two passes.
        "smsp__thread_inst_issue.sum",
    ];
    let profile = profile_of(&t, &[misspelled[0], SECTORS, misspelled[1]]);
    assert_eq!(
        profile.diagnostics.notes,
        [
            "sm__warp_active.avg.pct_of_peak_sustained_elapsed is not sampled (GPUPROF_COUNTERS): \
             simulated has no such metric; the nearest is \
             sm__warps_active.avg.pct_of_peak_sustained_elapsed",
            "smsp__thread_inst_issue.sum is not sampled (GPUPROF_COUNTERS): simulated has no such \
             metric; the nearest is smsp__threads_inst_issued.sum",
        ]
    );
    assert_listed(
        values(&profile, "first"),
        &[(SECTORS, MetricUnit::PerS, 2e8)],
    );
    assert_eq!(device(&profile).listed, [SECTORS]);
    assert_mean(values(&profile, "first"), Metric::DramRead, 3e9);
}

fn a_name_without_a_form_that_has_a_mean_is_one_line() {
    let t = sampled_world();
    let refused = [
        (
            "lts__t_sectors",
            "accepted of this metric are lts__t_sectors.sum and \
             lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
        ),
        (
            "lts__t_sectors.max",
            "accepted of this metric are lts__t_sectors.sum and \
             lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
        ),
        (
            "sm__cycles_elapsed.sum",
            "sm__cycles_elapsed also counts while no kernel runs; the nearest is \
             sm__cycles_active.sum",
        ),
        (
            "smsp__thread_inst_executed.max",
            "it needs several passes, and sampling has one; the nearest is \
             smsp__threads_inst_issued.sum",
        ),
        (
            "lts__t_sector_hit_rate.sum",
            "accepted of this metric are lts__t_sector_hit_rate.pct and \
             lts__t_sector_hit_rate.ratio",
        ),
    ];
    let profile = profile_of(&t, &refused.map(|(name, _)| name));
    let lines =
        refused.map(|(name, reason)| format!("{name} is not sampled (GPUPROF_COUNTERS): {reason}"));
    assert_eq!(profile.diagnostics.notes, lines);
    assert_mean(values(&profile, "first"), Metric::DramRead, 3e9);
}

fn a_metric_that_needs_another_pass_is_one_line() {
    let t = sampled_world();
    t.cupti.set_metrics_per_pass(2);
    let alone = "smsp__thread_inst_executed.sum";
    let profile = profile_of(&t, &[alone, WARPS, SECTORS, HITS]);
    assert_eq!(
        profile.diagnostics.notes,
        [
            format!(
                "{alone} is not sampled (GPUPROF_COUNTERS): it needs several passes, and sampling \
                 has one; the nearest is smsp__threads_inst_issued.sum"
            ),
            format!(
                "{HITS} is not sampled (GPUPROF_COUNTERS): it needs another pass beside {WARPS}, \
                 {SECTORS}: list it first"
            ),
        ]
    );
    let device = device(&profile);
    assert_eq!((device.metrics.len(), device.omitted.len()), (0, 14));
    let expected = [
        (WARPS, MetricUnit::Share, 0.6875),
        (SECTORS, MetricUnit::PerS, 2e8),
    ];
    assert_listed(values(&profile, "first"), &expected);
}

fn a_list_of_refused_names_leaves_gpuprofs_own() {
    let t = sampled_world();
    let profile = profile_of(&t, &["lts__t_sectrs.sum", "lts__t_sectors.min"]);
    let notes = &profile.diagnostics.notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    let values = values(&profile, "first");
    assert_eq!((values.listed.len(), values.means.len()), (0, 12));
    assert!(device(&profile).listed.is_empty());
}

fn samples_that_come_during_the_search_for_names_widen_no_interval() {
    let t = sampled_world();
    let session = session(&t, &["lts__t_sectrs.sum"]);
    // The first decoding, before which the names are searched for.
    t.cupti.fail("cuptiPmSamplingDecodeData", 1, 1, 8);
    begin(&t);
    until(|| t.cupti.calls("cuptiPmSamplingDecodeData") > 0);
    first(&t.gpu, KERNEL_NS);
    let profile = t.finish(session);
    assert_eq!(profile.diagnostics.notes.len(), 1);
    let device = device(&profile);
    assert_eq!((device.overflows, device.interval_ns), (0, INTERVAL_NS));
}

fn a_second_list_is_not_sampled_and_says_so() {
    let t = sampled_world();
    drop(profile_of(&t, &[SECTORS]));
    let session = session(&t, &[SECTORS, WARPS]);
    first(&t.gpu, KERNEL_NS + 2 * INTERVAL_NS);
    let profile = t.finish(session);
    assert_eq!(
        note(&profile),
        format!(
            "not sampled are {WARPS}: sampling began before, with another list (GPUPROF_COUNTERS)"
        )
    );
    let sectors = values(&profile, "first").listed[0].name.as_str();
    assert_eq!(sectors, SECTORS);
}

fn a_profile_with_listed_metrics_survives_json() {
    let t = sampled_world();
    let profile = profile_of(&t, &[WARPS, SECTORS]);
    let mut document = Vec::new();
    gpuprof::json::write(&profile, &mut document).expect("in memory");
    let read = gpuprof::json::read(&document[..]).expect("a profile");
    assert_eq!(read, profile);
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let sectors = &document["kernels"][0]["counters"]["listed"][1];
    assert_eq!(
        (&sectors["name"], &sectors["unit"]),
        (&SECTORS.into(), &"per_s".into())
    );
}
