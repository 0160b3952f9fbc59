//! The examples of this repository, by their real tables (docs/measurements/h200.md,
//! docs/examples.md): what each shows on purpose is found, and what it does right is not.
//!
//! Times of kernels, which those tables lack, are the GPU spans less what the events take; grids,
//! blocks and work come from the crate `kernels`.

use super::*;
use crate::profile::Device;

const SIDE: f64 = 8_192.0;

/// Flops and bytes of a 13×13 convolution of a square image.
fn convolution(side: f64) -> (Option<f64>, Option<f64>) {
    let pairs = side * 13.0 - 42.0;
    (
        Some(4.0 * (2.0 * side * side + 169.0)),
        Some(2.0 * pairs * pairs),
    )
}

fn convolve(
    name: &str,
    calls: u64,
    each_ns: u64,
    grid: [u32; 3],
    block: [u32; 3],
    side: f64,
) -> Function {
    let (bytes, flops) = convolution(side);
    let kernel = KernelStats {
        grid,
        block,
        ..kernel(name, calls, each_ns - 1_500)
    };
    function(name, calls, each_ns)
        .kernels([kernel])
        .states(bytes, flops)
}

fn convolution_program(device: Device, functions: [Function; 5], calls: u64) -> Profile {
    program(
        device,
        functions,
        &[
            ("upload", None, 3),
            ("run_version", None, 3),
            ("convolve_double", Some(1), calls),
            ("convolve_single", Some(1), calls),
            ("convolve_tiled", Some(1), calls),
        ],
    )
}

fn convolution_on_h200() -> Profile {
    let (grid, tiled) = ([512, 512, 1], [256, 128, 1]);
    let functions = [
        convolve("convolve_double", 20, 5_800 * US, grid, [16, 16, 1], SIDE),
        convolve("convolve_single", 20, 4_240 * US, grid, [16, 16, 1], SIDE),
        convolve("convolve_tiled", 20, 675 * US, tiled, [32, 8, 1], SIDE),
        function("upload", 3, 13_800 * US).copied([pageable("HtoD", 3, 13_000 * US, 89_500_000)]),
        function("run_version", 3, 75_400 * US)
            .own(11_800 * US)
            .launching(20)
            .busy(214 * MS),
    ];
    convolution_program(h200(), functions, 20)
}

fn convolution_simulated() -> Profile {
    let (grid, tiled) = ([64, 64, 1], [32, 16, 1]);
    let functions = [
        convolve(
            "convolve_double",
            10,
            1_400 * US,
            grid,
            [16, 16, 1],
            1_024.0,
        ),
        convolve("convolve_single", 10, 187 * US, grid, [16, 16, 1], 1_024.0),
        convolve("convolve_tiled", 10, 47 * US, tiled, [32, 8, 1], 1_024.0),
        function("upload", 3, 727 * US).copied([pageable("HtoD", 3, 120 * US, 1_454_000)]),
        function("run_version", 3, 6_820 * US)
            .own(4_050 * US)
            .launching(10)
            .busy(16_400 * US),
    ];
    convolution_program(simulated(), functions, 10)
}

#[test]
fn the_slow_convolutions_of_02_are_below_the_roofline_on_an_h200() {
    let profile = convolution_on_h200();
    assert_eq!(
        found(&profile),
        [
            ("below-roofline", "convolve_double".into()),
            ("below-roofline", "convolve_single".into()),
            ("host-copies", "upload".into()),
        ]
    );
    let text = evidence_of("below-roofline", "convolve_single", &profile);
    assert_eq!(
        text,
        "2.6 % of the bandwidth, 8.0 % of the f32 peak: its kernels take 33 % of GPU time"
    );
}

#[test]
fn on_the_simulated_device_the_double_accumulator_is_at_the_double_precision_peak() {
    let rules = found(&convolution_simulated());
    assert_eq!(rules, [], "99 % of the peak in double precision");
}

/// The training of 04, with the times of docs/cupti.md.
pub(super) fn training_on_h200() -> Profile {
    training(h200(), 2_200, 222 * US, 10 * US)
}

/// The training of 04, by the GPU time of one kernel, of one span `step`, and of one span around a
/// single launch (`product_ns`), of which nine tenths are the launch and a memset.
fn training(device: Device, kernel_ns: u64, step_ns: u64, product_ns: u64) -> Profile {
    const STEPS: u64 = 660;
    let tiny = |name: &str, calls: u64| {
        function(name, calls * STEPS, product_ns)
            .kernels([KernelStats {
                grid: [2, 4, 1],
                ..kernel(name, calls * STEPS, kernel_ns)
            }])
            .states(Some(8_192.0), Some(262_144.0))
            .calls_cuda([
                api(
                    "cuLaunchKernel",
                    "launch",
                    calls * STEPS,
                    product_ns * 6 / 10,
                ),
                api(
                    "cuMemsetD8Async",
                    "memset",
                    calls * STEPS,
                    product_ns * 3 / 10,
                ),
            ])
    };
    let outer = |name: &str, calls: u64, each: u64, launches: u64| {
        function(name, calls, each)
            .own(calls * each / 10)
            .launching(launches)
            .busy(calls * launches * kernel_ns * 5 / 3)
    };
    let functions = [
        outer("train", 15, 47 * step_ns, 44 * 19),
        outer("step", STEPS, step_ns, 19),
        outer("forward", STEPS, step_ns / 6, 4),
        outer("backward", STEPS, step_ns / 2, 9),
        outer("update", STEPS, step_ns / 7, 4),
        tiny("product", 5),
        tiny("transpose", 3),
        tiny("descend", 4),
        function("upload", STEPS, 6 * US).copied([pageable("HtoD", 2 * STEPS, 2 * US, 4_160)]),
    ];
    let mut profile = program(
        device,
        functions,
        &[
            ("train", None, 15),
            ("step", Some(0), STEPS),
            ("upload", Some(1), STEPS),
            ("forward", Some(1), STEPS),
            ("product", Some(3), 2 * STEPS),
            ("backward", Some(1), STEPS),
            ("product", Some(5), 3 * STEPS),
            ("transpose", Some(5), 3 * STEPS),
            ("update", Some(1), STEPS),
            ("descend", Some(8), 4 * STEPS),
        ],
    );
    profile.wall_ns = 800 * step_ns;
    profile
}

#[test]
fn the_training_step_of_04_is_launch_bound_and_nothing_around_or_inside_it() {
    for profile in [
        training_on_h200(),
        // With CUPTI on.
        training(h200(), 2_200, 492 * US, 26 * US),
        training(simulated(), 2_050, 144 * US, 5_700),
    ] {
        assert_eq!(found(&profile)[0], ("launch-bound", "step".into()));
    }
    let profile = training(simulated(), 2_050, 144 * US, 5_700);
    let finding = the("launch-bound", &profile);
    assert_eq!(
        finding.evidence,
        "GPU 55 % idle: 19 launches/call, median kernel 2.05 µs"
    );
    assert_eq!(
        finding.gain_ns, 52_195_000,
        "660 times what is idle of 144 µs"
    );
}

#[test]
fn the_copies_of_01_are_found_and_saxpy_is_not() {
    let mut launch = function("saxpy", 100, 72_500)
        .kernels([kernel("saxpy", 100, 71 * US)])
        .states(Some(201_300_000.0), Some(33_550_000.0));
    launch.gpu.as_mut().unwrap().times.p99_ns = 107 * US;
    let functions = [
        launch,
        function("upload", 2, 15_600 * US).copied([pageable("HtoD", 2, 15_000 * US, 67_100_000)]),
        function("download", 1, 52_800 * US).copied([pageable("DtoH", 1, 52_000 * US, 67_100_000)]),
    ];
    let profile = program(h200(), functions, &[]);
    let expected = ["download", "upload"].map(|function| ("host-copies", function.into()));
    assert_eq!(found(&profile), expected);
}

#[test]
fn of_03_the_pieces_on_one_stream_are_found_and_neither_those_on_three_nor_the_wait() {
    // Half of them on one stream, and a few of the others before the first kernel or after the
    // last.
    let copied = |name: &str, kind: &str| {
        function(name, 24, 92 * US).copied([CopyStats {
            exposed_ns: Some(13 * 90 * US),
            ..copies(kind, 24, 90 * US, 4 << 20)
        }])
    };
    let all = |name: &str, each: u64, streams: u32| {
        let mut function = function(name, 1, each)
            .own(70 * US)
            .launching(12)
            .busy(each - 60 * US);
        function.activity.work_streams = streams;
        function.activity.activities = 36;
        function
    };
    let functions = [
        all("on_one_stream", 5_700 * US, 1),
        all("on_three_streams", 3_540 * US, 3),
        copied("copy_in", "HtoD"),
        copied("copy_out", "DtoH"),
        function("multiply", 24, 446 * US).kernels([kernel("matmul_tiled", 24, 440 * US)]),
        function("wait", 4, 2_110 * US)
            .on_the_cpu()
            .calls_cuda([api("cuStreamSynchronize", "sync", 4, 2_100 * US)]),
    ];
    let mut tree = vec![("on_one_stream", None, 1), ("on_three_streams", None, 1)];
    for parent in [0, 1] {
        tree.extend(["copy_in", "multiply", "copy_out"].map(|name| (name, Some(parent), 12)));
    }
    let profile = program(h200(), functions, &tree);
    assert_eq!(named("one-stream", &profile), ["on_one_stream"]);
    let rules: Vec<&str> = found(&profile).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, ["one-stream"]);
}

#[test]
fn a_request_of_05_waits_for_a_timer_and_is_not_launch_bound() {
    let functions = [
        function("request", 24, 2_430 * US)
            .own(54 * MS)
            .launching(2)
            .busy(4_300 * US),
        function("layer", 24, 59 * US)
            .kernels([
                kernel("matmul_tiled", 24, 50 * US),
                kernel("bias_relu", 24, 4 * US),
            ])
            .states(None, Some(268_435_456.0)),
        function("download", 24, 25 * US).copied([copies("DtoH", 24, 20 * US, 512 << 10)]),
    ];
    let tree = [
        ("request", None, 24),
        ("layer", Some(0), 24),
        ("download", Some(0), 24),
    ];
    assert_eq!(
        named("launch-bound", &program(h200(), functions, &tree)),
        [""; 0]
    );
}

#[test]
fn the_two_products_of_06_state_flops_alone_and_are_not_judged() {
    let product = |name: &str, each: u64| {
        function(name, 12, each)
            .kernels([kernel(name, 12, each - 1_500)])
            .states(None, Some(2.0 * 1_024.0 * 1_024.0 * 1_024.0))
    };
    let functions = [
        product("multiply_naive", 803 * US),
        product("multiply_tiled", 712 * US),
    ];
    assert_eq!(found(&program(h200(), functions, &[])), []);
}

#[test]
fn the_steps_and_the_replays_of_07_are_not_launch_bound() {
    let in_graph = KernelStats {
        graph_calls: 800,
        ..kernel("matmul_tiled", 800, 2 * US)
    };
    let functions = [
        function("replay", 20, 156 * US)
            .kernels([in_graph])
            .busy(1_600 * US),
        function("step", 420, 6_310)
            .kernels([
                kernel("matmul_tiled", 20, 2 * US),
                kernel("bias", 20, 2 * US),
            ])
            .busy(80 * US),
    ];
    let profile = program(
        h200(),
        functions,
        &[("replay", None, 20), ("step", None, 420)],
    );
    assert_eq!(found(&profile), []);
}
