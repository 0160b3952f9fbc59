//! Promise: `gpuprof run` reports a program that does not use gpuprof with exact counts, and the
//! program works as alone, its own profiler included.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;

use super::installed::{self, Installed};
use crate::check::{Check, Row, RunMode};
use crate::process::{self, Finished};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "any-program",
        promise: "A C program under gpuprof run is reported with exact counts, and ends as alone.",
        limit: Duration::from_secs(120),
        run: c_program,
    },
    Check {
        name: "handover",
        promise: "torch.profiler records under gpuprof run as many kernels as alone.",
        limit: Duration::from_secs(420),
        run: torch_profiler,
    },
];

/// The C program: five launches, and a copy of 1 MiB each way.
const PROGRAM: &str = "any-program";
/// Prints the kernels in each of two windows of torch.profiler.
const WINDOWS: &str = "torch_windows.py";
/// What gpuprof has recorded by the first of them: these, and few that PyTorch adds.
const BEFORE: u64 = 50;
const MAX_ADDED: u64 = 10;

const LIMIT: Duration = Duration::from_secs(60);
/// Importing PyTorch takes long from a cold disk.
const PYTHON_LIMIT: Duration = Duration::from_secs(180);

/// `calls`, by name.
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

fn c_program(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let Some((installed, program)) = Installed::with_file(PROGRAM, run_mode)? else {
        return Ok(vec![not_in_a_pack("a C program")]);
    };
    let alone = installed.run(&program, &[], LIMIT, run_mode)?;
    let (with, profile) = installed.profile(&[], &program, &[], LIMIT, run_mode)?;
    let calls = CALLS.map(|(name, calls)| format!("{name} {calls}"));
    Ok(vec![
        ends_as_alone(&alone, &with, 7),
        row("kernels", kernels(&profile), "scale 5"),
        row(
            "copies",
            copies(&profile),
            "DtoH 1 of 1048576 B, HtoD 1 of 1048576 B",
        ),
        row("CUDA calls", api_calls(&profile), &calls.join(", ")),
        row("lost records, and notes", lost(&profile), "0, []"),
    ])
}

fn torch_profiler(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "kernels in two windows of torch.profiler";
    if run_mode.simulated {
        return Ok(vec![Row::unavailable(what, "PyTorch needs a GPU")]);
    }
    let mut import = Command::new("python3");
    import.args(["-c", "import torch"]);
    let imported = process::run(import, PYTHON_LIMIT);
    if !imported.is_ok_and(|ended| ended.failure().is_none()) {
        let why = "NOT MEASURED: python3 has no PyTorch here";
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let Some((installed, windows)) = Installed::with_file(WINDOWS, run_mode)? else {
        return Ok(vec![not_in_a_pack(what)]);
    };
    let python = Path::new("python3");
    let arguments = [windows.as_os_str()];
    let alone = installed.run(python, &arguments, PYTHON_LIMIT, run_mode)?;
    let (with, profile) = installed.profile(&[], python, &arguments, PYTHON_LIMIT, run_mode)?;
    let before: u64 = (profile.kernels.iter())
        .map(|kernel| kernel.times.calls)
        .sum();
    let notes = &profile.diagnostics.notes;
    Ok(vec![
        ends_as_alone(&alone, &with, 0),
        row(what, with.stdout.trim().to_owned(), "30 30"),
        Row::judged(
            "kernels that gpuprof recorded before them",
            before.to_string(),
            format!("{BEFORE} to {}", BEFORE + MAX_ADDED),
            (BEFORE..=BEFORE + MAX_ADDED).contains(&before),
        ),
        Row::judged(
            "what the report says of it",
            notes.join("; "),
            "that it was measured until PyTorch asked for CUPTI",
            notes.iter().any(|note| note.contains("asked for CUPTI")),
        ),
    ])
}

fn not_in_a_pack(what: &str) -> Row {
    Row::unavailable(what, installed::NOT_IN_A_PACK)
}

fn row(what: &str, measured: String, wanted: &str) -> Row {
    let passed = measured == wanted;
    Row::judged(what, measured, wanted, passed)
}

fn ends_as_alone(alone: &Finished, with: &Finished, status: i32) -> Row {
    let shown = |ended: &Finished| {
        let code = ended.status.and_then(|status| status.code());
        let code = code.map_or("killed".to_owned(), |code| code.to_string());
        format!("{code}, {:?}", ended.stdout)
    };
    let code = alone.status.and_then(|status| status.code());
    let passed = shown(alone) == shown(with) && code == Some(status);
    let wanted = format!("as alone: {}", shown(alone));
    Row::judged("status and output", shown(with), wanted, passed)
}

fn kernels(profile: &Profile) -> String {
    let kernels = profile.kernels.iter();
    joined(kernels.map(|kernel| format!("{} {}", kernel.name, kernel.times.calls)))
}

fn copies(profile: &Profile) -> String {
    let copies = profile.copies.iter();
    joined(copies.map(|of| format!("{} {} of {} B", of.kind, of.times.calls, of.bytes)))
}

fn api_calls(profile: &Profile) -> String {
    let calls = profile.api.iter();
    joined(calls.map(|call| format!("{} {}", call.name, call.times.calls)))
}

fn joined(rows: impl Iterator<Item = String>) -> String {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    rows.join(", ")
}

fn lost(profile: &Profile) -> String {
    let lost = profile.cupti.as_ref().map_or("no records".into(), |of| {
        let lost = of.dropped_records + of.invalid_records + of.unfinished + of.dropped_calls;
        lost.to_string()
    });
    format!("{lost}, {:?}", profile.diagnostics.notes)
}
