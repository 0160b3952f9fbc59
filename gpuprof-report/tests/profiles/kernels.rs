//! Programs that ran with the kernel tier on, so that there is more to show than functions.

use gpuprof_report::profile::*;

use super::{MS, US, function, gpu, h200, on_gpu, profile};

fn durations(calls: u64, mean_ns: u64) -> DurationStats {
    let p = |percent: u64| mean_ns * percent / 100;
    let mut stats = DurationStats::default();
    stats.calls = calls;
    stats.total_ns = calls * mean_ns;
    stats.mean_ns = mean_ns;
    stats.min_ns = p(93);
    stats.max_ns = p(161);
    stats.p50_ns = p(98);
    stats.p99_ns = p(134);
    stats
}

fn kernel(name: &str, calls: u64, mean_ns: u64, shape: [[u32; 3]; 2]) -> KernelStats {
    let mut kernel = KernelStats::default();
    kernel.name = name.into();
    kernel.full_name = format!("void {name}(float const*, float const*, float*, int)");
    kernel.symbol = format!("_Z{}{name}PKfS0_Pfi", name.len());
    kernel.times = durations(calls, mean_ns);
    kernel.launch_latency = durations(calls, 4_300);
    kernel.grid = shape[0];
    kernel.block = shape[1];
    kernel.shapes = 1;
    kernel.registers = 32;
    kernel.occupancy = Some(1.0);
    kernel.streams = 1;
    kernel
}

fn copies(kind: &str, calls: u64, mean_ns: u64, bytes: u64) -> CopyStats {
    let mut copies = CopyStats::default();
    copies.kind = kind.into();
    copies.times = durations(calls, mean_ns);
    copies.bytes = calls * bytes;
    copies.pageable_calls = calls;
    copies.pageable_ns = calls * mean_ns;
    copies.blocking_calls = calls;
    copies.exposed_ns = Some(calls * mean_ns);
    copies.streams = 1;
    copies
}

fn api(name: &str, kind: &str, calls: u64, mean_ns: u64) -> ApiStats {
    let mut stats = ApiStats::default();
    stats.name = name.into();
    stats.kind = kind.into();
    stats.times = durations(calls, mean_ns);
    stats.failed = 0;
    stats
}

fn finding(rule: &str, function: Option<&str>, evidence: &str, advice: &str) -> Finding {
    let mut finding = Finding::default();
    finding.rule = rule.into();
    finding.function = function.map(Into::into);
    finding.gain_ns = MS;
    finding.evidence = evidence.into();
    finding.advice = advice.into();
    finding
}

/// What a function's own kernels and copies leave behind, in `calls` outermost calls without a
/// function inside.
fn with_work(
    mut function: Function,
    kernels: Vec<KernelStats>,
    copies: Vec<CopyStats>,
) -> Function {
    let launches = kernels.iter().map(|kernel| kernel.times.calls).sum();
    let own = || {
        let kernels = kernels.iter().map(|kernel| &kernel.times);
        kernels.chain(copies.iter().map(|copies| &copies.times))
    };
    let busy: u64 = own().map(|times| times.total_ns).sum();
    function.activity = {
        let mut activity = GpuActivity::default();
        activity.busy_ns = Some(busy);
        activity.idle_ns =
            (function.gpu.as_ref()).map(|gpu| gpu.times.total_ns.saturating_sub(busy));
        activity.busy_calls = function.calls;
        activity.activities = own().map(|times| times.calls).sum();
        activity.launches = launches;
        activity.work_streams = 1;
        activity.launch_latency = (launches > 0).then(|| durations(launches, 4_300));
        activity.first_call_ns = Some(7 * MS);
        activity.api = vec![api("cuLaunchKernel", "launch", launches, 3_900)];
        activity.kernels = kernels;
        activity.copies = copies;
        activity
    };
    function
}

fn launched(times: &DurationStats) -> NodeActivity {
    let mut activity = NodeActivity::default();
    (activity.calls, activity.total_ns) = (times.calls, times.total_ns);
    activity
}

/// The program's tables out of those of its functions, and the activities of each node.
fn gathered(mut profile: Profile, outside: Vec<KernelStats>, api: Vec<ApiStats>) -> Profile {
    let mut nodes: Vec<(&mut TreeNode, &Function)> = Vec::new();
    for node in &mut profile.tree {
        let function = node.function.map(|index| index as usize).unwrap();
        nodes.push((node, &profile.functions[function]));
    }
    for (node, function) in nodes {
        let activity = &function.activity;
        (node.busy_ns, node.idle_ns) = (activity.busy_ns, activity.idle_ns);
        for kernel in &activity.kernels {
            let mut own = launched(&kernel.times);
            own.kernel = Some(profile.kernels.len() as u32);
            node.activities.push(own);
            profile.kernels.push(kernel.clone());
        }
        for copies in &activity.copies {
            let mut own = launched(&copies.times);
            own.copies = Some(profile.copies.len() as u32);
            node.activities.push(own);
            profile.copies.push(copies.clone());
        }
    }
    let kernels = profile.kernels.iter().chain(&outside);
    let kernel_ns = kernels.map(|kernel| kernel.times.total_ns).sum::<u64>();
    let copy_ns = profile.copies.iter().map(|copies| copies.times.total_ns);
    for busy in &mut profile.gpu_busy {
        let mut records = BusyRecords::default();
        (records.kernel_ns, records.copy_only_ns) = (kernel_ns, copy_ns.clone().sum());
        busy.busy_ns = records.kernel_ns + records.copy_only_ns;
        let idle = profile.wall_ns.saturating_sub(busy.busy_ns);
        records.gaps = 100;
        (records.idle_host_ns, records.idle_launch_ns) = (idle / 10 * 8, idle / 10);
        records.idle_queued_ns = idle / 20;
        busy.records = Some(records);
    }
    let times = || outside.iter().map(|kernel| &kernel.times);
    profile.cupti = Some({
        let mut cupti = CuptiCompleteness::default();
        cupti.version = 130_001;
        cupti.library = "libcupti.so.13".into();
        cupti.records = 12_345;
        cupti.unattributed = times().map(|times| times.calls).sum();
        cupti.unattributed_ns = times().map(|times| times.total_ns).sum();
        cupti
    });
    profile.kernels.extend(outside);
    profile.api = api;
    profile
}

/// The blur with a slip in it on the simulated device: few kernels, copies, a caller without
/// kernels of its own.
pub(crate) fn convolution() -> Profile {
    let version = |name: &str, mean_ns: u64, shape, occupancy| {
        let span = gpu(10, mean_ns + 2 * US, 10 * (mean_ns + 2 * US));
        let timed = on_gpu(
            function(name, 10, 568, 5_680),
            span,
            [Some(8.4e6), None, None],
        );
        let mut kernel = kernel(name, 10, mean_ns, shape);
        kernel.occupancy = Some(occupancy);
        with_work(timed, vec![kernel], Vec::new())
    };
    let plain = [[32, 32, 1], [16, 16, 1]];
    let double = version("convolve_double", 1_400 * US, plain, 0.625);
    let single = version("convolve_single", 187 * US, plain, 1.0);
    let tiled = version("convolve_tiled", 47 * US, [[16, 32, 1], [32, 16, 1]], 0.75);
    let moved = |name: &str, kind: &str, mean_ns: u64| {
        let span = gpu(3, mean_ns + 40 * US, 3 * (mean_ns + 40 * US));
        let timed = on_gpu(function(name, 3, 2 * MS, 6 * MS), span, [None; 3]);
        with_work(timed, Vec::new(), vec![copies(kind, 3, mean_ns, 1_048_576)])
    };
    let (upload, download) = (
        moved("upload", "HtoD", 90 * US),
        moved("download", "DtoH", 42 * US),
    );
    let mut run = on_gpu(
        function("run_version", 3, 206 * MS, 6 * MS),
        gpu(3, 6_820 * US, 4_050 * US),
        [None; 3],
    );
    run = with_work(
        run,
        vec![kernel("largest_error", 3, 6_300, plain)],
        Vec::new(),
    );
    (run.activity.busy_ns, run.activity.idle_ns) = (Some(16_360 * US), Some(4_100 * US));
    (run.activity.launches, run.activity.activities) = (33, 39);
    let mut check = function("check", 3, 60 * US, 180 * US);
    check.cpu_only = true;
    let mut device = h200(0);
    device.name = "simulated device".into();
    device.simulated = true;
    let functions = vec![check, double, single, tiled, download, run, upload];
    let calls = vec![
        api("cuMemcpyDtoH_v2", "copy", 3, 204 * MS),
        api("cuMemcpyHtoDAsync_v2", "copy", 3, 1_350 * US),
        api("cuModuleLoadData", "module", 1, 902 * US),
        api("cuLaunchKernel", "launch", 33, 3_900),
    ];
    let mut profile = gathered(
        profile("02_convolution", 804 * MS, vec![device], functions),
        Vec::new(),
        calls,
    );
    profile.findings = vec![
        finding(
            "below-roofline",
            Some("convolve_double"),
            "convolve_double takes 1.40 ms at 6.01 GB/s and 0.25 TFLOP/s, 3.1 % of what the device \
             can do in single precision",
            "look for a double in the kernel: a literal without f, or an accumulator",
        ),
        finding(
            "host-copies",
            None,
            "copies take 2.4 % of the GPU's time, all of them from or to pageable memory",
            "use pinned memory: CudaContext::alloc_pinned",
        ),
    ];
    profile
}

/// A training loop of tiny kernels on an H200, with cuBLAS names, several launch shapes, work
/// outside of spans, and records that did not come.
pub(crate) fn digits() -> Profile {
    const GEMM: &str = "cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>";
    let none = [None; 3];
    let step = |name: &str, calls: u64, mean_ns: u64, kernels: Vec<KernelStats>| {
        let span = gpu(calls, mean_ns, calls * mean_ns);
        with_work(
            on_gpu(function(name, calls, 31 * US, calls * 31 * US), span, none),
            kernels,
            Vec::new(),
        )
    };
    let mut gemm = kernel(GEMM, 28_800, 5_200, [[2, 4, 8], [128, 1, 1]]);
    (gemm.shapes, gemm.occupancy) = (4, Some(0.125));
    let mut bias = kernel("add_bias<float>", 28_800, 1_900, [[40, 1, 1], [256, 1, 1]]);
    bias.occupancy = None;
    let softmax = kernel("softmax", 14_400, 2_100, [[64, 1, 1], [32, 1, 1]]);
    let forward = step(
        "digits::Net::forward",
        14_400,
        41 * US,
        vec![gemm, bias, softmax],
    );
    let update = step(
        "<digits::Adam<f32> as digits::Optimizer>::update",
        14_400,
        19 * US,
        vec![kernel(
            "adam_step",
            57_600,
            1_700,
            [[157, 1, 1], [256, 1, 1]],
        )],
    );
    let mut load = on_gpu(
        function("digits::load", 2, 3 * MS, 6 * MS),
        gpu(2, 812 * US, 1_624 * US),
        none,
    );
    let mut memset = copies("memset", 4, 1_200, 65_536);
    (memset.pageable_calls, memset.pageable_ns) = (0, 0);
    load = with_work(
        load,
        Vec::new(),
        vec![copies("HtoD", 6, 110 * US, 1_437_696), memset],
    );
    let mut epoch = function("digits::epoch", 10, 93 * MS, 40 * MS);
    epoch.gpu_nested_ns = 864 * MS;
    epoch.activity.busy_ns = Some(332 * MS);
    (
        epoch.activity.busy_calls,
        epoch.activity.activities,
        epoch.activity.launches,
    ) = (10, 129_600, 129_600);
    let functions = vec![update, forward, epoch, load];
    let mut calls = vec![
        api("cudaLaunchKernel_v7000", "launch", 129_600, 4_400),
        api("cuMemAllocAsync", "alloc", 129_600, 650),
        api("cuStreamSynchronize", "sync", 1_440, 187 * US),
        api("cuMemcpyHtoDAsync_v2", "copy", 6, 240 * US),
    ];
    calls[0].failed = 2;
    let outside = vec![kernel("warm_up", 3, 12 * US, [[1, 1, 1], [1024, 1, 1]])];
    let mut profile = gathered(
        profile("digits", 1_310 * MS, vec![h200(0)], functions),
        outside,
        calls,
    );
    if let Some(cupti) = &mut profile.cupti {
        cupti.all_calls = true;
        (
            cupti.dropped_records,
            cupti.invalid_records,
            cupti.unfinished,
            cupti.late_records,
        ) = (1_024, 3, 2, 17);
    }
    profile.findings = vec![finding(
        "launch-bound",
        Some("digits::Net::forward"),
        "idle for 58.0 % of its span, 5.00 kernels per call, median kernel 2.06 µs",
        "capture the step into a CUDA graph, or fuse kernels; inside it: ncu \
         --nvtx --nvtx-include \"gpuprof@digits::Net::forward/\" -k adam_step -c 1 ./digits",
    )];
    profile
}
