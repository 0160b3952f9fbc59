//! Columns and lines of what hardware counters measured.

mod profiles;

use gpuprof_report::json;
use gpuprof_report::profile::{DeviceCounters, Metric, Profile};
use gpuprof_report::table::TableOptions;
use profiles::{digits, full, options, report, with_counters, with_listed_counters};

/// The rows of the first two functions with their header, the line on the sampling, and the first
/// kernel with its header.
fn counter_part(text: &str) -> String {
    let is_counted = |line: &&str| {
        line.starts_with("Function")
            || line.starts_with("Kernel")
            || line.contains('≈')
            || line.contains("4000") // GB/s
            || line.contains("hardware counters of")
    };
    let lines: Vec<&str> = text.lines().filter(is_counted).collect();
    lines.join("\n")
}

#[test]
fn measured_values_stand_beside_what_a_function_states() {
    let profile = with_counters(digits());
    for width in [Some(80), Some(200), None] {
        let name = width.map_or("pipe".to_owned(), |width| width.to_string());
        let text = report(&profile, &options(width));
        insta::assert_snapshot!(format!("counters_{name}"), counter_part(&text));
    }
    let text = report(&profile, &full(400));
    insta::assert_snapshot!("counters_full", counter_part(&text));
}

/// Of the profile with counters after `change`: the line on the sampling.
fn line(change: impl FnOnce(&mut Profile)) -> Option<String> {
    let mut profile = with_counters(digits());
    change(&mut profile);
    let text = report(&profile, &options(400));
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains("hardware counters of"))?;
    Some(line.to_owned())
}

#[test]
fn what_makes_samples_doubtful_is_said() {
    assert_eq!(
        line(|_| ()).unwrap(),
        "hardware counters of GPU 0 (GH100): 12,345 samples of 100 µs; 429 ms to start, at the \
         first call that used the GPU; 10.0 % of 4.00 GB of memory traffic came while \
         nothing of this program ran, and is not attributed (counters are of the whole device); \
         200 ms without samples; the interval was doubled 1x, because samples came too fast"
    );
}

#[test]
fn omitted_metrics_have_the_reason_in_the_full_report() {
    let omitted = |change: &dyn Fn(&mut DeviceCounters), options: &TableOptions| {
        let mut profile = with_counters(digits());
        profile.counters[0].omitted.push(Metric::TensorActive);
        change(&mut profile.counters[0]);
        let saved = json::from_str(&json::to_string(&profile)).unwrap();
        let text = report(&saved, options);
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("hardware counters of"));
        let line = line.unwrap().split_once("came too fast");
        line.unwrap().1.to_owned()
    };
    let with_reasons = |device: &mut DeviceCounters| {
        device.lacking = vec![Metric::NvlinkReceived, Metric::NvlinkSent];
        device.without_room = vec![Metric::TensorActive];
    };
    assert_eq!(
        omitted(&with_reasons, &full(None)),
        "; the GPU lacks nvlink_received, nvlink_sent; no room in one pass: tensor_active"
    );
    assert_eq!(omitted(&with_reasons, &options(None)), "");
    // Profiles of other versions have no reasons.
    assert_eq!(
        omitted(&|_| (), &full(None)),
        "; not sampled: nvlink_received, nvlink_sent, tensor_active"
    );
}

#[test]
fn the_lines_of_many_devices_are_counted() {
    let mut profile = with_counters(digits());
    let of_device = |device| {
        let mut counters = profile.counters[0].clone();
        counters.device = device;
        counters
    };
    profile.counters = (0..1_000).map(of_device).collect();
    let text = report(&profile, &options(400));
    assert_eq!(text.matches("hardware counters of GPU").count(), 8);
    let rest = "hardware counters: 992 more such GPUs in table:full";
    assert!(text.lines().any(|line| line == rest), "{text}");
    let text = report(&profile, &full(400));
    assert_eq!(text.matches("hardware counters of GPU").count(), 1_000);
    assert!(!text.contains("more such GPUs"));
}

#[test]
fn a_run_without_any_value_says_why() {
    let mut profile = with_counters(digits());
    let why = "hardware counters: no kernel ran in 10 samples or more, so that no value is shown";
    assert!(!report(&profile, &options(120)).contains(why));
    for kernel in &mut profile.kernels {
        kernel.counters = None;
    }
    for function in &mut profile.functions {
        if let Some(values) = &mut function.activity.counters {
            values.means.clear();
        }
    }
    assert!(report(&profile, &options(120)).contains(why));
    profile.counters.clear();
    assert!(!report(&profile, &options(120)).contains(why));
}

#[test]
fn the_slowest_kernels_are_explained() {
    let mut profile = with_counters(digits());
    let why = |profile: &Profile| -> Vec<String> {
        let text = report(profile, &options(400));
        let lines = text.lines().filter(|line| line.starts_with("why "));
        lines.map(str::to_owned).collect()
    };
    let near = why(&profile);
    assert_eq!(near.len(), 1, "one kernel was sampled");
    assert_eq!(
        near[0],
        "why adam_step: memory 83.3 %, issue 12.5 %, tensor 0.0 % of the peak"
    );
    let counters = profile.kernels[0].counters.as_mut().unwrap();
    for mean in &mut counters.means {
        mean.mean /= 10.0;
    }
    let far = why(&profile);
    assert_eq!(
        far[0],
        "why adam_step: waits (latency), theoretical occupancy 100.0 %; nearest are memory 8.3 %, \
         issue 1.3 %, tensor 0.0 % of the peak"
    );
}

#[test]
fn good_samples_need_no_line() {
    let good = |profile: &mut Profile| {
        let device = &mut profile.counters[0];
        (device.start_ns, device.overflows, device.gap_ns) = (1_000_000, 0, 0);
        device.unattributed_dram_bytes = 100_000_000;
    };
    assert_eq!(line(good), None);
}

#[test]
fn too_few_samples_show_nothing() {
    let mut profile = with_counters(digits());
    for function in &mut profile.functions {
        if let Some(counters) = &mut function.activity.counters {
            counters.means.clear();
        }
    }
    profile.kernels[0].counters = None;
    let text = report(&profile, &options(200));
    assert!(!text.contains("DRAM") && !text.contains('≈'), "{text}");
}

#[test]
fn without_a_read_rate_there_is_no_bandwidth() {
    let mut profile = with_counters(digits());
    for function in &mut profile.functions {
        if let Some(counters) = &mut function.activity.counters {
            counters
                .means
                .retain(|mean| mean.metric != Metric::DramRead);
        }
    }
    profile.kernels[0].counters = None;
    let text = report(&profile, &options(200));
    assert!(
        !text.contains("DRAM(") && text.contains("Issue(%)"),
        "{text}"
    );
    // Whether the memory is the limit is unknown.
    assert!(!text.contains("Bound"), "{text}");
}

#[test]
fn profiles_without_counters_have_no_such_columns() {
    let text = report(&digits(), &full(400));
    for word in ["DRAM", "Issue", "Tensor", "Bound", "hardware counters"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

/// Heading and value of each listed metric, of the row of a function or kernel.
fn listed_cells(text: &str, title: &str, name: &str) -> Vec<(String, String)> {
    let mut rows = text.lines().skip_while(|line| !line.starts_with(title));
    let headings: Vec<_> = rows.next().unwrap().split_whitespace().collect();
    let row = rows.find(|line| line.contains(name)).unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    let last = headings.iter().rev().zip(cells.iter().rev());
    let listed = last.take_while(|(heading, _)| heading.contains("__"));
    let mut listed: Vec<_> = listed
        .map(|(heading, cell)| (heading.to_string(), cell.to_string()))
        .collect();
    listed.reverse();
    listed
}

#[test]
fn listed_metrics_are_the_last_columns_with_short_names_and_units() {
    let profile = with_listed_counters(digits());
    let shown = [
        ("sm__warps_active(%)", "50.0"),
        ("lts__t_sectors(G/s)", "8.00"),
        ("l1tex__t_bytes(GB/s)", "2,000"),
        ("lts__t_sector_hit_rate", "0.875"),
    ];
    let shown = shown.map(|(heading, cell)| (heading.to_owned(), cell.to_owned()));
    for text in [
        report(&profile, &full(400)),
        report(&profile, &options(400)),
    ] {
        let kernel = profile.kernels[0].name.as_str();
        assert_eq!(listed_cells(&text, "Kernel", kernel), shown, "{text}");
    }
    let text = report(&profile, &full(400));
    let functions: Vec<_> = text
        .lines()
        .filter(|line| line.contains("sm__warps_active(%)"))
        .collect();
    assert_eq!(
        functions.len(),
        3,
        "call tree, functions, and kernels: {text}"
    );
    // The second function divides its samples.
    let second: Vec<_> = text
        .lines()
        .filter(|line| line.contains("≈12.5") && line.contains("≈500"))
        .collect();
    assert_eq!(second.len(), 2, "{text}");
}
