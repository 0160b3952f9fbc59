//! CSV: exact cells, and nothing that a spreadsheet would compute.

mod profiles;

use gpuprof_report::csv;
use gpuprof_report::profile::{
    ApiStats, CopyStats, CounterMean, CounterValues, Device, DurationStats, Function, KernelStats,
    Metric, Profile,
};
use profiles::{digits, partly_timed, quickstart, trouble, with_listed_counters, with_memory};

fn csv(profile: &Profile) -> String {
    let mut out = Vec::new();
    csv::write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const HEADER: &str = "function,module,file,line,calls,open_calls,threads,\
    cpu_total_ns,cpu_self_ns,cpu_mean_ns,cpu_min_ns,cpu_p50_ns,cpu_p90_ns,cpu_p95_ns,cpu_p99_ns,\
    cpu_max_ns,cpu_stddev_ns,wall_total_ns,wall_mean_ns,gpu_timed_calls,\
    gpu_total_ns,gpu_self_ns,gpu_mean_ns,gpu_min_ns,gpu_p50_ns,gpu_p90_ns,gpu_p95_ns,gpu_p99_ns,\
    gpu_max_ns,gpu_stddev_ns,gpu_total_ci95_ns,gpu_nested_ns,busy_ns,idle_ns,gpu_launches,\
    captured_calls,untimed_calls,bytes,flops,items,bytes_per_s,flops_per_s,items_per_s,\
    measured_dram_read_bytes_per_s,measured_dram_write_bytes_per_s,measured_sm_active,\
    measured_tensor_active,measured_issue_rate,measured_fp64_active,measured_l2_throughput,\
    measured_l1_throughput,measured_alu_active,measured_xu_active,measured_shared_throughput,\
    measured_warps_active,measured_threads_active,measured_shared_conflicts,\
    measured_access_passes,measured_tensor_float,measured_tensor_integer,\
    device_allocations,device_allocated_bytes,device_frees,device_freed_bytes,device_live_bytes,\
    device_peak_growth_bytes,pinned_allocated_bytes,pinned_live_bytes,gpu_marks,device";

/// The cells of a function by the names of their columns, from a table without quotes.
fn cell<'a>(csv: &'a str, function: &str, column: &str) -> &'a str {
    let row = csv.lines().find(|row| row.starts_with(function)).unwrap();
    let at = HEADER.split(',').position(|name| name == column).unwrap();
    row.split(',').nth(at).unwrap()
}

#[test]
fn a_row_has_every_figure_of_its_function() {
    let expected = format!(
        "{HEADER}\n\
         quickstart::saxpy,quickstart,src/main.rs,12,100,0,1,\
         624000,624000,6240,5678,6115,6676,7051,8798,11668,561,,,100,\
         28740000,28740000,287400,261534,281652,307518,324762,405234,537438,25866,,0,,,,\
         0,0,120000000000,20000000000,,4175365344468,695894224078,,,,,,,,\
         ,,,,,,,,,,,,,,,,,,,,NVIDIA H200\n"
    );
    assert_eq!(csv(&quickstart()), expected);
}

#[test]
fn every_row_has_as_many_cells_as_the_header_and_nothing_is_left_out() {
    for profile in [quickstart(), digits(), trouble(), partly_timed()] {
        let text = csv(&profile);
        assert_eq!(text.lines().next(), Some(HEADER));
        assert_eq!(text.lines().count(), 1 + profile.functions.len());
        for row in text.lines() {
            assert_eq!(row.split(',').count(), HEADER.split(',').count(), "{row}");
        }
    }
}

#[test]
fn memory_has_columns_of_its_own() {
    let profile = with_memory(digits());
    let text = csv(&profile);
    let name = profile.functions[0].name.clone();
    let of = |column| cell(&text, &name, column).to_owned();
    let columns = [
        "device_allocations",
        "device_allocated_bytes",
        "device_freed_bytes",
        "device_live_bytes",
        "device_peak_growth_bytes",
        "pinned_allocated_bytes",
    ];
    let expected = [
        "1004",
        "5200000000",
        "5120000000",
        "80000000",
        "200000000",
        "",
    ];
    assert_eq!(columns.map(of), expected);
}

#[test]
fn without_a_function_there_is_the_header() {
    assert_eq!(csv(&Profile::default()), format!("{HEADER}\n"));
}

/// A kernel, a copy and a CUDA call, each of two durations.
fn without_functions() -> Profile {
    let mut times = DurationStats::default();
    (times.calls, times.total_ns, times.mean_ns) = (2, 10, 5);
    (times.min_ns, times.p50_ns, times.p99_ns, times.max_ns) = (4, 5, 6, 6);
    let mut counters = CounterValues::default();
    let mut tensor = CounterMean::default();
    (tensor.metric, tensor.mean) = (Metric::TensorActive, 0.125);
    counters.means = vec![tensor];
    let mut kernel = KernelStats::default();
    (kernel.name, kernel.times) = ("gemm<float>".into(), times.clone());
    (kernel.device, kernel.counters) = (1, Some(Box::new(counters)));
    let mut copies = CopyStats::default();
    (copies.kind, copies.times, copies.bytes) = ("HtoD".into(), times.clone(), 80);
    let mut call = ApiStats::default();
    (call.name, call.times) = ("cuLaunchKernel".into(), times);
    let device = |ordinal, name: &str| {
        let mut device = Device::default();
        (device.ordinal, device.name) = (ordinal, name.into());
        device
    };
    let mut profile = Profile::default();
    profile.devices = vec![device(0, "H100"), device(1, "H200")];
    (profile.kernels, profile.copies, profile.api) = (vec![kernel], vec![copies], vec![call]);
    profile
}

#[test]
fn a_program_without_functions_has_rows_of_kernels_copies_and_calls() {
    let text = csv(&without_functions());
    let rows = text.lines().skip(1).map(|row| {
        assert_eq!(row.split(',').count(), HEADER.split(',').count(), "{row}");
        let cells = HEADER.split(',').zip(row.split(','));
        let filled = cells.filter(|(_, cell)| !cell.is_empty());
        let pairs = filled.map(|(column, cell)| format!("{column} {cell}"));
        pairs.collect::<Vec<_>>().join(", ")
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "function gemm<float>, calls 2, gpu_timed_calls 2, gpu_total_ns 10, gpu_self_ns 10, \
             gpu_mean_ns 5, gpu_min_ns 4, gpu_p50_ns 5, gpu_p99_ns 6, gpu_max_ns 6, \
             measured_tensor_active 0.1250, device H200",
            "function [CUDA memcpy HtoD], calls 2, gpu_timed_calls 2, gpu_total_ns 10, \
             gpu_self_ns 10, gpu_mean_ns 5, gpu_min_ns 4, gpu_p50_ns 5, gpu_p99_ns 6, \
             gpu_max_ns 6, bytes 80, bytes_per_s 8000000000, device H100",
            "function cuLaunchKernel, calls 2, cpu_total_ns 10, cpu_mean_ns 5, cpu_min_ns 4, \
             cpu_p50_ns 5, cpu_p99_ns 6, cpu_max_ns 6",
        ]
    );
    let mut simulated = without_functions();
    simulated.devices[0].simulated = true;
    for row in csv(&simulated).lines().skip(1) {
        assert!(row.ends_with(",simulated device"), "{row}");
    }
    // Kernels are no rows beside functions: their time is that of functions already.
    let mut with_a_function = without_functions();
    with_a_function.functions = quickstart().functions;
    assert_eq!(csv(&with_a_function).lines().count(), 2);
}

#[test]
fn a_function_that_never_ran_has_no_times() {
    let csv = csv(&trouble());
    for column in ["cpu_mean_ns", "gpu_timed_calls", "gpu_total_ns", "busy_ns"] {
        assert_eq!(cell(&csv, "stencil::unused_a", column), "", "{column}");
    }
    assert_eq!(cell(&csv, "stencil::unused_a", "calls"), "0");
}

#[test]
fn every_row_of_a_simulated_device_says_so() {
    for row in csv(&trouble()).lines().skip(1) {
        assert!(row.ends_with(",simulated device"), "{row}");
    }
}

#[test]
fn times_that_are_not_the_whole_truth_are_marked() {
    let mut profile = quickstart();
    let function = &mut profile.functions[0];
    function.gpu.as_mut().unwrap().estimate = Some(Default::default());
    function.untimed.cuda_error = 1;
    function.gpu_overlaps = true;
    function.gpu_divided_calls = 1;
    assert_eq!(
        cell(&csv(&profile), "quickstart", "gpu_marks"),
        "estimated; partial; self time is an upper bound; self time is divided"
    );
}

#[test]
fn means_of_counters_are_numbers_without_a_unit_and_marked_if_they_are_divided() {
    let mut dram = CounterMean::default();
    (dram.metric, dram.mean) = (Metric::DramRead, 2.5e12);
    let mut tensor = CounterMean::default();
    (tensor.metric, tensor.mean) = (Metric::TensorActive, 0.125);
    let mut counters = CounterValues::default();
    counters.means = vec![dram, tensor];
    counters.is_divided = true;
    let mut profile = quickstart();
    profile.functions[0].activity.counters = Some(Box::new(counters));
    let csv = csv(&profile);
    let read = |column| cell(&csv, "quickstart", column);
    assert_eq!(read("measured_dram_read_bytes_per_s"), "2500000000000");
    assert_eq!(read("measured_tensor_active"), "0.1250");
    assert_eq!(read("measured_issue_rate"), "");
    assert_eq!(read("gpu_marks"), "counters are divided");
}

#[test]
fn listed_metrics_have_columns_after_those_of_the_other_counters() {
    let text = csv(&with_listed_counters(digits()));
    let header: Vec<_> = text.lines().next().unwrap().split(',').collect();
    let at = header
        .iter()
        .position(|name| *name == "measured_tensor_integer")
        .unwrap()
        + 1;
    let expected = [
        (
            "measured_sm__warps_active.avg.pct_of_peak_sustained_elapsed",
            "0.5000",
        ),
        ("measured_lts__t_sectors.sum_per_s", "8000000000"),
        ("measured_l1tex__t_bytes.sum_bytes_per_s", "2000000000000"),
        ("measured_lts__t_sector_hit_rate.ratio", "0.8750"),
    ];
    assert_eq!(header[at..at + 4], expected.map(|(name, _)| name));
    assert_eq!(header[at + 4], "device_allocations");
    let row = text.lines().nth(1).unwrap();
    let cells: Vec<_> = row.split(',').collect();
    assert_eq!(cells.len(), header.len());
    assert_eq!(cells[at..at + 4], expected.map(|(_, cell)| cell), "{row}");
    // Kernels of a program without functions have them too.
    let mut profile = with_listed_counters(digits());
    profile.functions.clear();
    let text = csv(&profile);
    let row = text.lines().nth(1).unwrap();
    assert!(
        row.contains(",0.5000,8000000000,2000000000000,0.8750,"),
        "{row}"
    );
}

#[test]
fn a_name_is_one_cell_and_never_a_formula() {
    for (name, cell) in [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1", "'＝1"),
        (
            "=HYPERLINK(\"http://x\",\"y\")",
            "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
        ),
        ("\t=1", "\\t=1"),
        ("\r=1", "\\r=1"),
        ("\u{feff}=1", "\\u{feff}=1"),
        ("a,b", "\"a,b\""),
        ("a\"b", "\"a\"\"b\""),
        ("a\r\nb", "a\\r\\nb"),
        ("<[f32; 4] as T>::f", "<[f32; 4] as T>::f"),
        ("größe", "größe"),
    ] {
        let mut function = Function::default();
        function.name = name.into();
        let mut profile = Profile::default();
        profile.functions = vec![function];
        let csv = csv(&profile);
        let row = csv.lines().nth(1).unwrap();
        assert!(row.starts_with(&format!("{cell},,,0,0,0,0,,")), "{row}");
    }
}

#[test]
fn amounts_that_are_no_numbers_have_no_value() {
    let mut function = Function::default();
    function.name = "amounts".into();
    function.bytes = Some(f64::NAN);
    function.flops = Some(f64::INFINITY);
    function.items = Some(1e30);
    let mut profile = Profile::default();
    profile.functions = vec![function];
    let csv = csv(&profile);
    assert_eq!(cell(&csv, "amounts", "bytes"), "");
    assert_eq!(cell(&csv, "amounts", "flops"), "");
    assert_eq!(
        cell(&csv, "amounts", "items"),
        format!("1{}", "0".repeat(30))
    );
}
