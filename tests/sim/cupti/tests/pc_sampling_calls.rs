//! Which calls of PC sampling are valid (`cupti_pcsampling.h` of CUDA 13.0).

mod common;

use common::pc_client::{Buffer, configure, disable, enable, of_context, stall_reasons};
use common::{address, call_words, world};
use cudarc::driver::{CudaContext, sys};
use simcupti::StallModel;

const OK: u32 = 0;
const INVALID_PARAMETER: u32 = 1;
const INVALID_OPERATION: u32 = 7;
const HARDWARE_BUSY: u32 = 26;
const NOT_SUPPORTED: u32 = 27;

/// Attributes of the configuration.
const PERIOD: u32 = 1;
const STALL_REASONS: u32 = 2;
const COLLECTION_MODE: u32 = 5;
const START_STOP_CONTROL: u32 = 6;
const DATA_BUFFER: u32 = 8;

#[test]
fn calls_are_for_an_existing_context_for_which_it_is_enabled() {
    let world = world();
    let context = world.context();
    let buffer = Buffer::new(1);
    let mut count = 0_usize;
    let count = &raw mut count as u64;
    let mut names = vec![[0_u8; 128]; 40];
    let names: Vec<_> = names.iter_mut().map(|name| name.as_mut_ptr()).collect();
    let indices = [0_u32; 40];
    let arrays = [address(&indices), address(&names[..])];
    let all = |context| {
        let attribute = [(PERIOD, [12, 0])];
        [
            disable(context),
            of_context("cuptiPCSamplingStart", context),
            of_context("cuptiPCSamplingStop", context),
            configure(context, &attribute).0,
            call_words("cuptiPCSamplingGetNumStallReasons", [32, 0, context, count]).0,
            call_words(
                "cuptiPCSamplingGetStallReasons",
                [48, 0, context, 40, arrays[0], arrays[1]],
            )
            .0,
            call_words(
                "cuptiPCSamplingGetData",
                [32, 0, context, address(&*buffer.data)],
            )
            .0,
        ]
    };
    assert_eq!(enable(context + 8), INVALID_PARAMETER);
    assert_eq!(all(context + 8), [INVALID_PARAMETER; 7]);
    assert_eq!(all(context), [INVALID_OPERATION; 7]);
    assert_eq!(enable(context), OK);
    assert_eq!(enable(context), INVALID_OPERATION);
    let other = CudaContext::new(1).unwrap();
    assert_eq!(enable(other.cu_ctx() as u64), OK);
    assert_eq!(disable(context), OK);
    assert_eq!(all(context), [INVALID_OPERATION; 7]);
}

#[test]
fn sizes_are_those_of_the_header() {
    let mut world = world();
    let context = world.context();
    let functions = [
        ("cuptiPCSamplingEnable", 24),
        ("cuptiPCSamplingDisable", 24),
        ("cuptiPCSamplingStart", 24),
        ("cuptiPCSamplingStop", 24),
        ("cuptiPCSamplingSetConfigurationAttribute", 40),
        ("cuptiPCSamplingGetNumStallReasons", 32),
        ("cuptiPCSamplingGetStallReasons", 48),
        ("cuptiPCSamplingGetData", 32),
    ];
    assert_eq!(enable(context), OK);
    for (symbol, size) in functions {
        for wrong in [size - 8, size + 8] {
            let (code, _) = call_words(symbol, [wrong, 0, context, 0, 0, 0]);
            assert_eq!(code, INVALID_PARAMETER, "{symbol} {wrong}");
        }
    }
    let stall = StallModel {
        reason: "wait",
        samples: 30,
        ..StallModel::default()
    };
    world.cupti.set_stalls("saxpy", &[stall]);
    world.launch(1_000);
    world.pass(1_000);
    let mut buffer = Buffer::new(1);
    buffer.data[0] = 72;
    assert_eq!(buffer.fill(context), INVALID_PARAMETER);
    buffer.data[0] = 73;
    buffer.pcs[0][0] = 0;
    assert_eq!(buffer.fill(context), INVALID_PARAMETER);
    buffer.pcs[0][0] = 64;
    let reasons = std::mem::take(&mut buffer.pcs[0][6]);
    assert_eq!(buffer.fill(context), INVALID_PARAMETER);
    buffer.pcs[0][6] = reasons;
    assert_eq!(buffer.fill(context), OK);
    assert_eq!(buffer.content().total, 30, "nothing was lost");
}

#[test]
fn there_are_twenty_stall_reasons_and_the_same_without_an_issue() {
    let world = world();
    let context = world.context();
    assert_eq!(enable(context), OK);
    let names = stall_reasons(context);
    let mut plain: Vec<&str> = names
        .iter()
        .filter(|name| !name.ends_with("_not_issued"))
        .map(|name| name.strip_prefix("smsp__pcsamp_warps_issue_stalled_"))
        .map(Option::unwrap)
        .collect();
    assert_ne!(
        plain[..2],
        ["barrier", "branch_resolve"],
        "not alphabetical"
    );
    plain.sort();
    let expected = "barrier branch_resolve dispatch_stall drain gmma imc_miss lg_throttle \
        long_scoreboard math_pipe_throttle membar mio_throttle misc no_instructions not_selected \
        selected short_scoreboard sleeping tex_throttle wait warpgroup_arrive";
    assert_eq!(plain.join(" "), expected);
    for reason in plain {
        let name = format!("smsp__pcsamp_warps_issue_stalled_{reason}_not_issued");
        assert!(names.contains(&name), "{name}");
    }
    let mut texts = [[0_u8; 128]; 40];
    let places = texts.each_mut().map(|text| text.as_mut_ptr());
    let mut indices = [0_u32; 40];
    let arrays = [indices.as_mut_ptr() as u64, address(&places)];
    let fields = [48, 0, context, 39, arrays[0], arrays[1]];
    let (code, _) = call_words("cuptiPCSamplingGetStallReasons", fields);
    assert_eq!(code, INVALID_PARAMETER);
}

#[test]
fn attributes_are_checked_one_by_one() {
    let world = world();
    let context = world.context();
    assert_eq!(enable(context), OK);
    let some = [0_u32, 39];
    let lacking = [40_u32];
    let buffer = Buffer::new(1);
    let good = [
        (PERIOD, [5, 0]),
        (PERIOD, [31, 0]),
        (STALL_REASONS, [2, address(&some)]),
        (3, [1 << 20, 0]),
        (4, [512 << 20, 0]),
        (COLLECTION_MODE, [1, 0]),
        (START_STOP_CONTROL, [1, 0]),
        (START_STOP_CONTROL, [0, 0]),
        (7, [1, 0]),
        (DATA_BUFFER, [address(&*buffer.data), 0]),
        (9, [100, 0]),
    ];
    assert_eq!(configure(context, &good), (OK, vec![OK; good.len()]));
    let bad = [
        (PERIOD, [4, 0]),
        (PERIOD, [32, 0]),
        (STALL_REASONS, [0, address(&some)]),
        (STALL_REASONS, [1, 0]),
        (STALL_REASONS, [1, address(&lacking)]),
        (3, [0, 0]),
        (4, [0, 0]),
        (COLLECTION_MODE, [0, 0]),
        (START_STOP_CONTROL, [2, 0]),
        (7, [0, 0]),
        (DATA_BUFFER, [0, 0]),
        (9, [0, 0]),
    ];
    for attribute in bad {
        let (code, status) = configure(context, &[(PERIOD, [20, 0]), attribute]);
        let expected = (INVALID_PARAMETER, vec![OK, INVALID_OPERATION]);
        assert_eq!((code, status), expected, "{attribute:?}");
    }
    let unknown = (INVALID_OPERATION, vec![INVALID_PARAMETER]);
    assert_eq!(configure(context, &[(10, [1, 0])]), unknown);
    let serialized = (NOT_SUPPORTED, vec![NOT_SUPPORTED]);
    assert_eq!(configure(context, &[(COLLECTION_MODE, [2, 0])]), serialized);
    assert_eq!(configure(context, &[]).0, INVALID_PARAMETER);
}

fn availability(device: u64) -> u32 {
    let symbol = "cuptiPmSamplingGetCounterAvailability";
    call_words(symbol, [40, 0, device, 0, 0]).0
}

#[test]
fn a_device_has_pc_sampling_or_pm_sampling() {
    let world = world();
    let context = world.context();
    assert_eq!(call_words("cuptiProfilerInitialize", [16, 0]).0, OK);
    assert_eq!(enable(context), OK);
    assert_eq!((availability(0), availability(1)), (HARDWARE_BUSY, OK));
    assert_eq!(disable(context), OK);
    assert_eq!(availability(0), OK);
    let (code, [.., object]) = call_words("cuptiPmSamplingEnable", [32, 0, 0, 0]);
    assert_eq!(code, OK);
    assert_eq!(enable(context), HARDWARE_BUSY);
    assert_eq!(call_words("cuptiPmSamplingDisable", [24, 0, object]).0, OK);
    assert_eq!(enable(context), OK);
}

#[test]
fn the_end_of_a_context_ends_its_sampling() {
    let _world = world();
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is writable, and there are no parameters.
    let made = unsafe { sys::cuCtxCreate_v4(&raw mut context, std::ptr::null_mut(), 0, 1) };
    assert_eq!(made, sys::CUresult::CUDA_SUCCESS);
    assert_eq!(enable(context as u64), OK);
    assert_eq!(availability(1), HARDWARE_BUSY);
    // SAFETY: it lives, and nothing uses it.
    let destroyed = unsafe { sys::cuCtxDestroy_v2(context) };
    assert_eq!(destroyed, sys::CUresult::CUDA_SUCCESS);
    assert_eq!(availability(1), OK);
    assert_eq!(disable(context as u64), INVALID_PARAMETER);
}
