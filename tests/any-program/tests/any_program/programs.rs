//! Promise: the kernels, copies and CUDA calls of a program are all reported, with exact numbers.

use std::path::Path;

use gpuprof::Profile;
use support::assert_consistent;
use support::suite::Module;
use support::tests;

use crate::machine::Machine;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_c_program_is_reported_as_a_whole,
        the_table_is_that_of_kernels_copies_and_calls,
        a_rust_program_without_gpuprof_is_reported,
        every_thread_is_reported,
        each_output_works,
        what_is_recorded_can_be_chosen,
    ]],
);

/// `(name, calls, total ns)` of each kernel.
pub(crate) fn kernels(profile: &Profile) -> Vec<(&str, u64, u64)> {
    let kernels = profile.kernels.iter();
    kernels
        .map(|kernel| (&*kernel.name, kernel.times.calls, kernel.times.total_ns))
        .collect()
}

/// `(name, calls)` of each CUDA call, by name.
pub(crate) fn calls(profile: &Profile) -> Vec<(&str, u64)> {
    let mut calls: Vec<_> = profile
        .api
        .iter()
        .map(|call| (&*call.name, call.times.calls))
        .collect();
    calls.sort_unstable();
    calls
}

/// The calls of one run of the C program's work, with those before it.
const CALLS: [(&str, u64); 8] = [
    ("cuCtxSynchronize", 1),
    ("cuLaunchKernel", 5),
    ("cuMemAlloc", 1),
    ("cuMemFree", 1),
    ("cuMemcpyDtoHAsync", 1),
    ("cuMemcpyHtoDAsync", 1),
    ("cuModuleGetFunction", 1),
    ("cuModuleLoadData", 1),
];

fn a_c_program_is_reported_as_a_whole() {
    let machine = Machine::new();
    let (ended, profile) = machine.program("as usual").profiled();
    assert_eq!(
        (ended.status.code(), &*ended.stdout),
        (Some(7), &b"done\n"[..])
    );
    assert_consistent(&profile);
    assert_eq!(kernels(&profile), [("scale", 5, 50_000)]);
    let copies = profile.copies.iter();
    let bytes: Vec<_> = copies.map(|copy| (copy.times.calls, copy.bytes)).collect();
    assert_eq!(bytes, [(1, 1 << 20), (1, 1 << 20)]);
    assert_eq!(calls(&profile), CALLS);
    assert!(profile.functions.is_empty() && profile.tree.is_empty());
    let [device] = &profile.devices[..] else {
        panic!("one device: {:?}", profile.devices);
    };
    assert!(device.name.contains("simulated device"), "{device:?}");
    let cupti = profile.cupti.expect("records");
    let lost = [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.late_records,
        cupti.dropped_calls,
    ];
    assert_eq!(lost, [0; 5]);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn the_table_is_that_of_kernels_copies_and_calls() {
    let ended = Machine::new().program("as usual").run();
    let table = &ended.stderr;
    for part in [
        "gpuprof program · ",
        "simulated device: GPU times are modelled",
        "Kernel / copy ",
        "\nscale ",
        "\n[CUDA memcpy HtoD] ",
        "API call ",
        "\ncuMemAlloc ",
        "\nCUPTI 13.0, ",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    // Nothing of functions, of which there are none.
    for part in [
        "Function / ",
        "Function, ",
        "marked cpu",
        "overhead",
        "Idle(%)",
    ] {
        assert!(!table.contains(part), "{part} in {table}");
    }
}

fn a_rust_program_without_gpuprof_is_reported() {
    let program = Path::new(env!("CARGO_BIN_EXE_plain-cudarc"));
    let (ended, profile) = Machine::new().run(program).profiled();
    assert_eq!(
        (ended.status.code(), &*ended.stdout),
        (Some(0), &b"1000\n"[..])
    );
    assert_eq!(kernels(&profile), [("triple", 3, 30_000)]);
    assert_eq!(profile.copies.len(), 2);
}

fn every_thread_is_reported() {
    let (_, profile) = Machine::new().program("two threads").profiled();
    assert_eq!(kernels(&profile), [("scale", 10, 100_000)]);
    let launches = calls(&profile).into_iter();
    let launches: Vec<_> = launches.filter(|call| call.0 == "cuLaunchKernel").collect();
    assert_eq!(launches, [("cuLaunchKernel", 10)]);
}

fn each_output_works() {
    let machine = Machine::new();
    let names = ["trace", "json", "csv", "folded"];
    let outputs = names.map(|name| format!("{name}={}", machine.folder.path(name).display()));
    let ended = machine
        .program("as usual")
        .env("GPUPROF_REPORT", outputs.join(","))
        .run();
    assert_eq!(ended.status.code(), Some(7));
    for name in names {
        let text = std::fs::read_to_string(machine.folder.path(name)).expect(name);
        assert!(text.contains("scale"), "{name}: {text}");
    }
}

fn what_is_recorded_can_be_chosen() {
    let machine = Machine::new();
    let usual = || machine.program("as usual");
    let (_, profile) = usual().env("GPUPROF_CUPTI", "on").profiled();
    let without = CALLS.map(|call| call.0).into_iter();
    let without = without.filter(|name| !["cuMemAlloc", "cuMemFree"].contains(name));
    let without: Vec<_> = without
        .filter(|name| *name != "cuModuleGetFunction")
        .collect();
    let found: Vec<_> = calls(&profile).into_iter().map(|call| call.0).collect();
    assert_eq!(found, without);
    let (_, profile) = usual().env("GPUPROF_MEMORY", "on").profiled();
    let memory = profile.memory.expect("memory");
    let [device] = &memory.uses[..] else {
        panic!("one kind of memory: {memory:?}");
    };
    assert_eq!((device.peak_bytes, device.live_bytes), (1 << 20, 0));
    let (_, profile) = usual().env("GPUPROF_STACKS", "on").profiled();
    assert!(profile.stacks.is_some(), "{:?}", profile.diagnostics.notes);
    assert_eq!(calls(&profile), CALLS);
    for (name, value) in [("GPUPROF", "off"), ("GPUPROF_CUPTI", "off")] {
        let ended = usual().env(name, value).run();
        assert_eq!((ended.status.code(), ended.reports()), (Some(7), 0));
    }
}
