//! How much longer the tokens of a language model take with CUPTI: many launches of small kernels,
//! each with an allocation, a free and cudarc's events, and one copy to the host at the end.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use gpuprof::gpu_profile;

use super::bare_cupti::{self, Bare};
use super::nsight_tools;
use crate::check::{Row, RunMode};
use crate::device::{self, failed_in};
use crate::hand_timed::{Answer, Kernel};
use crate::runner;
use crate::statistics::{Spread, figure, in_turn, performance, ratios, time};

pub(super) const NAME: &str = "tokens-with-cupti";

/// Which part of CUPTI the program starts by itself.
const BARE: &str = "GPU_CHECKS_BARE_CUPTI";
const LAYERS: usize = 20;
const LAUNCHES_PER_LAYER: usize = 10;
const KERNEL_NS: u64 = 2_000;
/// Accepted time of a token with CUPTI, relative to one with gpuprof off, and what gpuprof may add
/// to CUPTI's own records where these alone take longer than that.
const WANTED: f64 = 1.15;
const WANTED_BEYOND_RECORDS: f64 = 0.1;

#[gpu_profile(name = "token")]
fn token(stream: &Arc<CudaStream>, kernel: &Kernel, result: &CudaSlice<f32>) -> Answer {
    (0..LAYERS).try_for_each(|_| layer(stream, kernel))?;
    let mut host = [0.0_f32];
    stream.memcpy_dtoh(result, &mut host)?;
    stream.synchronize()
}

#[gpu_profile(name = "layer of a token")]
fn layer(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    (0..LAUNCHES_PER_LAYER).try_for_each(|_| {
        // SAFETY: nobody reads it.
        let _buffer: CudaSlice<f32> = unsafe { stream.alloc(1_024) }?;
        kernel.launch(stream)
    })
}

/// Prints the median time of a token, ns.
pub(super) fn run_program(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let wanted = std::env::var(BARE).ok();
    if let Some(bare) = Bare::ALL
        .into_iter()
        .find(|bare| wanted.as_deref() == Some(bare.name()))
    {
        bare_cupti::start(bare)?;
    }
    let (warm, measured) = if run_mode.short { (2, 5) } else { (100, 300) };
    let failed = failed_in("a token");
    let context = CudaContext::new(0).map_err(&failed)?;
    let stream = context.new_stream().map_err(&failed)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(&failed)?;
    let result = stream.alloc_zeros(1).map_err(&failed)?;
    let mut tokens = Vec::new();
    for index in 0..warm + measured {
        let began = Instant::now();
        token(&stream, &kernel, &result).map_err(&failed)?;
        if index >= warm {
            tokens.push(began.elapsed().as_nanos() as f64);
        }
    }
    println!("{}", Spread::of(&tokens).median);
    Ok(ExitCode::SUCCESS)
}

/// A method of running the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Off,
    On,
    Full,
    Bare(Bare),
    Nsys,
}

const METHODS: [(Method, &str); 7] = [
    (Method::Off, "off"),
    (Method::On, "GPUPROF_CUPTI=on"),
    (Method::Full, "GPUPROF_CUPTI=full"),
    (Method::Bare(Bare::Records), "off, CUPTI's records alone"),
    (
        Method::Bare(Bare::Callbacks),
        "off, callbacks alone for the calls that `on` records",
    ),
    (Method::Bare(Bare::Both), "off, both"),
    (Method::Nsys, "off, under nsys -t cuda"),
];

fn command(run_mode: &RunMode, method: Method) -> Result<Command, String> {
    let mut command = runner::own_command(&["program", NAME], run_mode)?;
    command.env("GPUPROF_REPORT", "none");
    match method {
        Method::On => command.env("GPUPROF_CUPTI", "on"),
        Method::Full => command.env("GPUPROF_CUPTI", "full"),
        Method::Bare(bare) => command.env("GPUPROF", "off").env(BARE, bare.name()),
        Method::Off | Method::Nsys => command.env("GPUPROF", "off"),
    };
    if let (Method::Nsys, Some(nsys)) = (method, nsight_tools::find("nsys")) {
        let report = std::env::temp_dir().join(format!("tokens-{}", std::process::id()));
        command = nsight_tools::under_nsys(&nsys, &command, &report, &[]);
    }
    Ok(command)
}

pub(super) fn rows(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let has_nsys = !run_mode.simulated && nsight_tools::find("nsys").is_some();
    let methods: Vec<_> = METHODS
        .into_iter()
        .filter(|(method, _)| *method != Method::Nsys || has_nsys)
        .collect();
    let rounds = if run_mode.short { 1 } else { 9 };
    let tokens = in_turn(methods.len(), rounds, |index| {
        let (method, name) = methods[index];
        super::printed_time(command(run_mode, method)?).map_err(|error| format!("{name}: {error}"))
    })?;
    let launches = LAYERS * LAUNCHES_PER_LAYER;
    let what = format!("a token of {launches} launches, allocations and frees");
    let fastest = |index: usize| Spread::of(&tokens[index]).least / Spread::of(&tokens[0]).least;
    let mut rows: Vec<Row> = methods
        .iter()
        .enumerate()
        .map(|(index, (_, name))| {
            let shown = format!(
                "{}: {} times off, the fastest run {:.3}",
                time(Spread::of(&tokens[index]).median),
                Spread::of(&ratios(&tokens[index], &tokens[0])).ratio(),
                fastest(index)
            );
            figure(run_mode, format!("{what}, {name}"), shown)
        })
        .collect();
    let position = |wanted| methods.iter().position(|(method, _)| *method == wanted);
    if let Some((on, records)) = position(Method::On).zip(position(Method::Bare(Bare::Records))) {
        let limit = WANTED.max(fastest(records) + WANTED_BEYOND_RECORDS);
        rows.push(performance(
            run_mode,
            format!("{what}: with CUPTI against CUPTI's records alone"),
            format!(
                "fastest runs {:.3} and {:.3} times off",
                fastest(on),
                fastest(records)
            ),
            format!("at most {WANTED}, or {WANTED_BEYOND_RECORDS} above the records alone"),
            fastest(on) <= limit,
        ));
    }
    Ok(rows)
}
