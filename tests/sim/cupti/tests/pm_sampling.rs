//! PM sampling. Parameters are arrays of 64-bit words: the size, null, and the fields of the
//! headers, of which smaller ones have a word of their own here.

mod common;

use std::ffi::CStr;

use common::*;
use simcupti::KernelCounters;

const OK: u32 = 0;
const INTERVAL: u64 = 1_000;
const READ: &CStr = c"dram__bytes_read.sum";
const SMS: &CStr = c"sm__cycles_active.avg.pct_of_peak_sustained_elapsed";

/// Calls a function with its parameters after the size.
fn call<const N: usize>(symbol: &str, bytes: u64, fields: [u64; N]) -> (u32, [u64; N]) {
    // The longest parameters are of nine words.
    let mut words = [0; 9];
    words[0] = bytes;
    words[2..2 + N].copy_from_slice(&fields);
    let (code, words) = call_words(symbol, words);
    let fields = words[2..2 + N].try_into().expect("as many");
    (code, fields)
}

/// A host object; the chip's name is right unless `chip` replaces it.
fn host(chip: Option<&CStr>) -> (u32, u64) {
    let (code, [_, name]) = call("cuptiDeviceGetChipName", 32, [0, 0]);
    assert_eq!(code, OK);
    let chip = chip.map_or(name, |chip| chip.as_ptr() as u64);
    let (code, [.., host]) = call("cuptiProfilerHostInitialize", 48, [1, chip, 0, 0]);
    (code, host)
}

fn add(host: u64, names: &[&CStr]) -> u32 {
    let names: Vec<u64> = names.iter().map(|name| name.as_ptr() as u64).collect();
    let fields = [host, address(&names[..]), names.len() as u64];
    call("cuptiProfilerHostConfigAddMetrics", 40, fields).0
}

/// A configuration and its passes.
fn config(host: u64) -> (Vec<u8>, u64) {
    let (_, [_, bytes]) = call("cuptiProfilerHostGetConfigImageSize", 32, [host, 0]);
    let mut image = vec![0_u8; bytes as usize];
    let fields = [host, bytes, image.as_mut_ptr() as u64];
    assert_eq!(call("cuptiProfilerHostGetConfigImage", 40, fields).0, OK);
    let fields = [bytes, address(&image[..]), 0];
    let (code, [.., passes]) = call("cuptiProfilerHostGetNumOfPasses", 40, fields);
    assert_eq!(code, OK);
    (image, passes)
}

/// A started object, the host object, and an image with room for `room` samples.
fn started(room: u32, buffer: u64) -> (u64, u64, Vec<u8>) {
    assert_eq!(call("cuptiProfilerInitialize", 16, []).0, OK);
    let (_, host) = host(None);
    assert_eq!(add(host, &[READ, SMS]), OK);
    let (image, passes) = config(host);
    assert_eq!(passes, 1);
    let (code, [_, object]) = call("cuptiPmSamplingEnable", 32, [0, 0]);
    assert_eq!(code, OK);
    assert_eq!(call("cuptiPmSamplingEnable", 32, [0, 0]).0, 7, "one each");
    assert_eq!(configure(object, &image, buffer), OK);
    let fields = [object, 0, 0, u64::from(room), 0];
    let (_, [.., bytes]) = call("cuptiPmSamplingGetCounterDataSize", 56, fields);
    assert_eq!(call("cuptiPmSamplingStart", 24, [object]).0, OK);
    (object, host, vec![0; bytes as usize])
}

fn configure(object: u64, image: &[u8], buffer: u64) -> u32 {
    let (bytes, image) = (image.len() as u64, address(image));
    let fields = [object, bytes, image, buffer, INTERVAL, 1];
    call("cuptiPmSamplingSetConfig", 64, fields).0
}

/// Start, end and values of each sample, and the word with the stop reason and the overflow.
fn decode(object: u64, host: u64, data: &mut [u8]) -> (Vec<(u64, u64, [f64; 2])>, u64) {
    let image = [data.as_mut_ptr() as u64, data.len() as u64];
    let fields = [object, image[0], image[1], 0];
    let (code, [.., outcome]) = call("cuptiPmSamplingDecodeData", 45, fields);
    assert_eq!(code, OK);
    let fields = [image[0], image[1], 0, 0, 0];
    let (_, [.., count]) = call("cuptiPmSamplingGetCounterDataInfo", 56, fields);
    let samples = (0..count).map(|index| {
        let fields = [object, image[0], image[1], index, 0, 0];
        let (_, [.., start, end]) = call("cuptiPmSamplingCounterDataGetSampleInfo", 64, fields);
        let names = [READ, SMS].map(|name| name.as_ptr() as u64);
        let mut values = [0.0_f64; 2];
        let (names, to) = (address(&names), values.as_mut_ptr() as u64);
        let fields = [host, image[0], image[1], index, names, 2, to];
        assert_eq!(
            call("cuptiProfilerHostEvaluateToGpuValues", 72, fields).0,
            OK
        );
        (start, end, values)
    });
    (samples.collect(), outcome)
}

/// Of the kernel that is launched.
fn set_counters(world: &World) {
    let counters = KernelCounters {
        dram_read: 3_000,
        sm_active: 0.5,
        ..KernelCounters::default()
    };
    world.cupti.set_counters("saxpy", counters);
}

const END_OF_RECORDS: u64 = 2;
const COUNTER_DATA_FULL: u64 = 1;

#[test]
fn the_first_sample_is_from_the_beginning() {
    let mut world = world();
    set_counters(&world);
    let (object, host, mut data) = started(10, 1 << 20);
    let began = world.sim.now();
    world.pass(INTERVAL);
    // For three samples.
    world.launch(3 * INTERVAL);
    world.pass(4 * INTERVAL);
    let (samples, outcome) = decode(object, host, &mut data);
    assert_eq!(outcome, END_OF_RECORDS);
    assert_eq!((samples[0].0, samples[0].1), (0, began + INTERVAL));
    let busy: Vec<[f64; 2]> = samples[1..].iter().map(|(.., values)| *values).collect();
    let idle = [0.0, 0.0];
    assert_eq!(
        busy,
        [[1_000.0, 50.0], [1_000.0, 50.0], [1_000.0, 50.0], idle]
    );
    assert_eq!(call("cuptiPmSamplingStop", 24, [object]).0, OK);
    assert_eq!(call("cuptiPmSamplingStop", 24, [object]).0, 7);
    assert_eq!(call("cuptiPmSamplingDisable", 24, [object]).0, OK);
    assert_eq!(call("cuptiPmSamplingDisable", 24, [object]).0, 1);
}

#[test]
fn an_object_keeps_the_metrics_of_its_first_configuration() {
    let mut world = world();
    set_counters(&world);
    let (object, both, mut data) = started(10, 1 << 20);
    assert_eq!(call("cuptiPmSamplingStop", 24, [object]).0, OK);
    let (_, reads) = host(None);
    assert_eq!(add(reads, &[READ]), OK);
    assert_eq!(configure(object, &config(reads).0, 1 << 20), OK);
    assert_eq!(call("cuptiPmSamplingStart", 24, [object]).0, OK);
    let mut launch = || {
        world.pass(INTERVAL);
        world.launch(INTERVAL);
        world.pass(INTERVAL);
    };
    launch();
    let (samples, _) = decode(object, both, &mut data);
    assert_eq!(samples[1].2, [3_000.0, 50.0]);
    // A new object has those of the other one.
    assert_eq!(call("cuptiPmSamplingDisable", 24, [object]).0, OK);
    let (_, [_, object]) = call("cuptiPmSamplingEnable", 32, [0, 0]);
    assert_eq!(configure(object, &config(reads).0, 1 << 20), OK);
    assert_eq!(call("cuptiPmSamplingStart", 24, [object]).0, OK);
    launch();
    let (samples, _) = decode(object, both, &mut data);
    let [read, sms] = samples[1].2;
    assert!(read == 3_000.0 && sms.is_nan(), "{samples:?}");
}

#[test]
fn a_new_object_takes_time() {
    let world = world();
    world.cupti.set_enable_ns(300_000_000);
    let began = world.sim.now();
    started(10, 1 << 20);
    assert_eq!(world.sim.now() - began, 300_000_000);
}

#[test]
fn what_an_image_has_no_room_for_is_lost() {
    let world = world();
    let (object, host, mut data) = started(5, 1 << 20);
    world.pass(7 * INTERVAL);
    let (first, outcome) = decode(object, host, &mut data);
    assert_eq!((first.len(), outcome), (5, COUNTER_DATA_FULL));
    world.pass(2 * INTERVAL);
    let (next, outcome) = decode(object, host, &mut data);
    assert_eq!((next.len(), outcome), (2, END_OF_RECORDS));
    assert_eq!(next[0].0 - first[4].1, 2 * INTERVAL, "lost");
}

#[test]
fn after_a_full_buffer_the_object_is_of_no_use() {
    const OUT_OF_MEMORY: u32 = 8;
    const UNKNOWN: u32 = 999;
    let world = world();
    // The buffer has room for eight samples.
    let (object, _, mut data) = started(50, 8 * 4_096);
    world.pass(9 * INTERVAL);
    let fields = [object, data.as_mut_ptr() as u64, data.len() as u64, 0];
    for _ in 0..2 {
        let (code, _) = call("cuptiPmSamplingDecodeData", 45, fields);
        assert_eq!(code, OUT_OF_MEMORY);
    }
    assert_eq!(call("cuptiPmSamplingStop", 24, [object]).0, OK);
    assert_eq!(call("cuptiPmSamplingStart", 24, [object]).0, UNKNOWN);
    assert_eq!(call("cuptiPmSamplingDisable", 24, [object]).0, OK);
    assert_eq!(call("cuptiPmSamplingEnable", 32, [0, 0]).0, OK);
}

#[test]
fn a_refused_metric_spoils_its_host_object() {
    let world = world();
    assert_eq!(host(None).0, 15, "before cuptiProfilerInitialize");
    assert_eq!(call("cuptiProfilerInitialize", 16, []).0, OK);
    assert_eq!(host(Some(c"XX100")).0, 46);
    let (_, spoiled) = host(None);
    assert_eq!(add(spoiled, &[c"nvlrx__bytes.sum"]), 17);
    assert_eq!(add(spoiled, &[READ]), 999);
    let (_, other) = host(None);
    assert_eq!(add(other, &[READ, SMS]), OK);
    world.cupti.set_metrics_per_pass(1);
    assert_eq!(config(other).1, 2);
    assert_eq!(call("cuptiProfilerHostDeinitialize", 24, [other]).0, OK);
    assert_eq!(call("cuptiProfilerHostDeinitialize", 24, [other]).0, 1);
    // A size that no header has.
    assert_eq!(call("cuptiProfilerHostDeinitialize", 32, [spoiled]).0, 1);
}
