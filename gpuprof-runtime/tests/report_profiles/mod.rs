//! Profiles as real programs would leave them, for the tests of the outputs.

use gpuprof_runtime::profile::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Times whose percentiles spread around the mean as those of real kernels do.
fn times(calls: u64, mean_ns: u64, self_ns: u64) -> Times {
    let p = |percent: u64| mean_ns * percent / 100;
    let bucket = |low, high, count| Bucket {
        low_ns: low,
        high_ns: high,
        count,
    };
    let histogram = [
        bucket(p(91), p(110), calls - calls / 10),
        bucket(p(110) + 1, p(187), calls / 10),
    ];
    Times {
        total_ns: calls * mean_ns,
        self_ns,
        mean_ns,
        min_ns: p(91),
        max_ns: p(187),
        stddev_ns: p(9),
        p50_ns: p(98),
        p90_ns: p(107),
        p95_ns: p(113),
        p99_ns: p(141),
        histogram: histogram
            .into_iter()
            .filter(|bucket| bucket.count > 0)
            .collect(),
    }
}

fn gpu(calls: u64, mean_ns: u64, self_ns: u64) -> GpuTimes {
    GpuTimes {
        timed_calls: calls,
        times: times(calls, mean_ns, self_ns),
        timed_ns: calls * mean_ns,
        ..GpuTimes::default()
    }
}

fn function(name: &str, calls: u64, cpu_mean_ns: u64, cpu_self_ns: u64) -> Function {
    let module = name.rsplit_once("::").map_or(name, |(module, _)| module);
    Function {
        name: name.into(),
        module: module.into(),
        file: "src/main.rs".into(),
        line: 12,
        calls,
        threads: u32::from(calls > 0),
        cpu: times(calls, cpu_mean_ns, cpu_self_ns),
        ..Function::default()
    }
}

/// Puts a function's GPU time on device 0, with the work of one call in bytes, FLOP and items.
fn on_gpu(mut function: Function, gpu: GpuTimes, work: [Option<f64>; 3]) -> Function {
    let all = |per_call: Option<f64>, calls: u64| per_call.map(|work| work * calls as f64);
    let [bytes, flops, items] = work;
    let timed = GpuTimes {
        timed_bytes: all(bytes, gpu.timed_calls),
        timed_flops: all(flops, gpu.timed_calls),
        timed_items: all(items, gpu.timed_calls),
        ..gpu
    };
    function.bytes = all(bytes, function.calls);
    function.flops = all(flops, function.calls);
    function.items = all(items, function.calls);
    function.has_stream = true;
    function.untimed_calls = function.calls - timed.timed_calls;
    function.gpu_by_device = vec![GpuByDevice {
        ordinal: 0,
        gpu: timed.clone(),
    }];
    function.gpu = Some(timed);
    function
}

fn h200(ordinal: u32) -> Device {
    Device {
        ordinal,
        name: "NVIDIA H200".into(),
        uuid: format!("GPU-6f0c8f1e-1d2c-4f5b-9a3e-0d7b5c2a9e0{ordinal}"),
        compute_capability: "9.0".into(),
        sm_count: 132,
        memory_bytes: 150_754_820_096,
        peak_bytes_per_s: Some(4_800_000_000_000),
        peak_flops_f32: Some(66_900_000_000_000),
        peak_flops_f64: Some(33_500_000_000_000),
        driver: "13.0".into(),
        simulated: false,
    }
}

fn profile(program: &str, wall_ns: u64, devices: Vec<Device>, functions: Vec<Function>) -> Profile {
    let calls = functions.iter().map(|function| function.calls).sum();
    let with_stream = functions.iter().filter(|function| function.has_stream);
    let calls_with_stream = with_stream.map(|function| function.calls).sum();
    let timed_calls = functions
        .iter()
        .filter_map(|function| function.gpu.as_ref())
        .map(|gpu| gpu.timed_calls)
        .sum();
    let captured_calls = functions
        .iter()
        .map(|function| function.captured_calls)
        .sum();
    Profile {
        schema: SCHEMA.into(),
        program: program.into(),
        pid: 4711,
        host: "node07".into(),
        rank: None,
        started_at: "2026-03-14T09:26:53Z".into(),
        wall_ns,
        devices,
        functions,
        tree: Vec::new(),
        trust: Trust {
            event_floor_ns: Some(1_410),
            own_cost_ns_per_call: Some(1_870),
            own_cost_ns: 1_870 * calls,
            own_setup_ns: 412_000,
            calls,
            calls_with_stream,
            timed_calls,
            captured_calls,
            sample: 1,
            ..Trust::default()
        },
    }
}

fn node(
    id: u32,
    parent: Option<u32>,
    function: (u32, &str),
    calls: u64,
    cpu: [u64; 2],
    gpu: Gpu,
) -> TreeNode {
    let (total, own, inside) = match gpu {
        Gpu::Timed(total, own) => (Some(total), Some(own), 0),
        Gpu::Inside(inside) => (None, None, inside),
    };
    TreeNode {
        id,
        parent,
        name: function.1.into(),
        function: function.0,
        calls,
        cpu_total_ns: cpu[0],
        cpu_self_ns: cpu[1],
        gpu_total_ns: total,
        gpu_self_ns: own,
        gpu_children_ns: inside,
    }
}

enum Gpu {
    Timed(u64, u64),
    Inside(u64),
}

/// A training run on one H200: nested, sampled, asynchronous, partly without a stream, partly in tiny kernels.
pub(crate) fn training() -> Profile {
    const ATTENTION: &str =
        "<train::model::Attention<half::bf16, 128, 16> as train::layers::Layer>::forward";
    let none = [None, None, None];
    let mut step = on_gpu(
        function("train::optimizer::step", 1_200, 61 * US, 73 * MS),
        gpu(118, 1_310 * US, 118),
        none,
    );
    step.untimed = Untimed {
        sampled_out: 1_082,
        ..Untimed::default()
    };
    if let Some(gpu) = step.gpu.as_mut() {
        (gpu.times.total_ns, gpu.times.self_ns) = (1_572 * MS, 1_572 * MS);
        gpu.estimate = Some(Estimate {
            total_ci95_ns: 38 * MS,
        });
    }
    let mut captured = on_gpu(
        function("train::model::Mlp::forward", 14_400, 19 * US, 273 * MS),
        gpu(14_388, 164_500, 2_366 * MS),
        [Some(1.1e8), Some(5.3e9), None],
    );
    (captured.captured_calls, captured.untimed_calls) = (12, 0);
    let attention = on_gpu(
        function(ATTENTION, 14_400, 42 * US, 361 * MS),
        gpu(14_400, 247_300, 3_121 * MS),
        [Some(5.2e8), Some(2.1e9), None],
    );
    let softmax = on_gpu(
        function("train::ops::softmax", 14_400, 9_300, 133_920 * US),
        gpu(14_400, 30_600, 440_640 * US),
        [Some(1.03e8), None, None],
    );
    let bias = on_gpu(
        function("train::ops::add_bias", 28_800, 7_100, 204 * MS),
        gpu(28_800, 4_370, 125_856 * US),
        none,
    );
    let embed = on_gpu(
        function("埋め込み::前向き", 1_200, 14_800, 17_760 * US),
        gpu(1_200, 88_200, 105_840 * US),
        [Some(2.6e8), None, Some(32_768.0)],
    );
    let mut epoch = function("train::epoch", 3, 3_991 * MS, 48 * MS);
    epoch.gpu_children_ns = 7_731 * MS;
    let mut batch = function("train::batch", 1_200, 9_914 * US, 312 * MS);
    batch.gpu_children_ns = 7_731 * MS;
    let mut load = function("train::data::load_batch", 1_200, 2_460 * US, 2_952 * MS);
    (load.is_async, load.cpu_only, load.threads) = (true, true, 4);
    load.wall = Some(times(1_200, 8_730 * US, 10_476 * MS));
    let mut accuracy = function("train::metrics::accuracy", 3, 412 * US, 1_236 * US);
    accuracy.cpu_only = true;
    let never =
        ["train::checkpoint::save", "train::data::augment"].map(|name| function(name, 0, 0, 0));
    let mut functions = vec![
        captured, attention, step, softmax, bias, embed, epoch, batch, load, accuracy,
    ];
    functions.extend(never);
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    let mut profile = profile("train", 12_310 * MS, vec![h200(0)], functions);
    profile.trust.sample = 10;
    profile.trust.untimed.sampled_out = 1_082;
    profile.tree = training_tree(&profile);
    profile
}

fn training_tree(profile: &Profile) -> Vec<TreeNode> {
    let named = |end: &str| {
        let at = profile
            .functions
            .iter()
            .position(|function| function.name.ends_with(end))
            .unwrap();
        (
            u32::try_from(at).unwrap(),
            profile.functions[at].name.as_str(),
        )
    };
    vec![
        node(
            0,
            None,
            named("epoch"),
            3,
            [11_973 * MS, 48 * MS],
            Gpu::Inside(7_731 * MS),
        ),
        node(
            1,
            Some(0),
            named("batch"),
            1_200,
            [11_897 * MS, 312 * MS],
            Gpu::Inside(7_731 * MS),
        ),
        node(
            2,
            Some(1),
            named("load_batch"),
            1_200,
            [2_952 * MS, 2_952 * MS],
            Gpu::Inside(0),
        ),
        node(
            3,
            Some(1),
            named("前向き"),
            1_200,
            [17_760 * US, 17_760 * US],
            Gpu::Timed(105_840 * US, 105_840 * US),
        ),
        node(
            4,
            Some(1),
            named("Layer>::forward"),
            14_400,
            [605 * MS, 361 * MS],
            Gpu::Timed(3_561 * MS, 3_121 * MS),
        ),
        node(
            5,
            Some(4),
            named("softmax"),
            14_400,
            [134 * MS, 134 * MS],
            Gpu::Timed(440_640 * US, 440_640 * US),
        ),
        node(
            6,
            Some(1),
            named("Mlp::forward"),
            14_400,
            [477 * MS, 273 * MS],
            Gpu::Timed(2_492 * MS, 2_366 * MS),
        ),
        node(
            7,
            Some(6),
            named("add_bias"),
            28_800,
            [204 * MS, 204 * MS],
            Gpu::Timed(125_856 * US, 125_856 * US),
        ),
        node(
            8,
            Some(1),
            named("step"),
            1_200,
            [73 * MS, 73 * MS],
            Gpu::Timed(1_572 * MS, 1_572 * MS),
        ),
        node(
            9,
            Some(0),
            named("accuracy"),
            3,
            [1_236 * US, 1_236 * US],
            Gpu::Inside(0),
        ),
    ]
}

/// Everything that can go wrong, on two simulated devices, with a name that tries to rewrite the terminal.
pub(crate) fn trouble() -> Profile {
    let mut halo = on_gpu(
        function("stencil::halo_exchange", 2_000, 31 * US, 62 * MS),
        gpu(1_989, 212 * US, 421_668 * US),
        [None; 3],
    );
    halo.untimed = Untimed {
        cuda_error: 7,
        pool_exhausted: 4,
        ..Untimed::default()
    };
    let mut sweep = on_gpu(
        function("stencil::sweep", 4_000, 12 * US, 48 * MS),
        gpu(4_000, 905 * US, 3_620 * MS),
        [Some(2.9e9), Some(1.1e9), None],
    );
    let half = GpuTimes {
        timed_bytes: Some(2.9e9 * 2_000.0),
        timed_flops: Some(1.1e9 * 2_000.0),
        ..gpu(2_000, 874 * US, 1_748 * MS)
    };
    let other = GpuTimes {
        timed_bytes: half.timed_bytes,
        timed_flops: half.timed_flops,
        ..gpu(2_000, 936 * US, 1_872 * MS)
    };
    sweep.gpu_by_device = vec![
        GpuByDevice {
            ordinal: 0,
            gpu: half,
        },
        GpuByDevice {
            ordinal: 1,
            gpu: other,
        },
    ];
    let mut run = function("stencil::run", 1, 3_204 * MS, 3_094 * MS);
    run.gpu_children_ns = 4_041_668 * US;
    let evil = on_gpu(
        function("evil\x1b[2J\r\nname", 1, 5 * US, 5 * US),
        gpu(1, 12 * US, 12 * US),
        [None; 3],
    );
    let never = ["a", "b", "c", "d", "e", "f", "g", "h"]
        .map(|name| function(&format!("stencil::unused_{name}"), 0, 0, 0));
    let mut functions = vec![evil, halo, run, sweep];
    functions.extend(never);
    let simulated = |ordinal| Device {
        name: "Simulated GPU".into(),
        simulated: true,
        ..h200(ordinal)
    };
    let mut profile = profile(
        "stencil",
        3_350 * MS,
        vec![simulated(0), simulated(1)],
        functions,
    );
    profile.rank = Some(3);
    profile.trust.untimed = Untimed {
        cuda_error: 7,
        pool_exhausted: 4,
        ..Untimed::default()
    };
    profile.trust.dropped = 12;
    profile.trust.misnested = 2;
    profile.trust.histogram_dropped = 1_024;
    let error = |call: &str, code, name: &str, count| CudaError {
        call: call.into(),
        code,
        name: name.into(),
        count,
    };
    profile.trust.errors = vec![
        error("cuEventCreate", 2, "CUDA_ERROR_OUT_OF_MEMORY", 4),
        error("cuEventRecord", 400, "CUDA_ERROR_INVALID_HANDLE", 3),
    ];
    profile.trust.notes =
        vec!["GPUPROF_SORT=speed: accepted are gpu, cpu, calls, max, name; took gpu".into()];
    profile
}

/// The smallest useful program, with nothing to remark.
pub(crate) fn quickstart() -> Profile {
    let saxpy = on_gpu(
        function("quickstart::saxpy", 100, 6_240, 624 * US),
        gpu(100, 287_400, 28_740 * US),
        [Some(1.2e9), Some(2e8), None],
    );
    profile("quickstart", 412 * MS, vec![h200(0)], vec![saxpy])
}

/// A program whose spans never met a GPU.
pub(crate) fn without_gpu() -> Profile {
    let mut parse = function("cli::parse", 17, 31 * US, 527 * US);
    parse.cpu_only = true;
    let mut profile = profile("cli", 20 * MS, Vec::new(), vec![parse]);
    profile.trust.event_floor_ns = None;
    profile
}
