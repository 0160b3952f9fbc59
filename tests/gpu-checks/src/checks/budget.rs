//! What gpuprof costs whole programs with its default settings, against the 1 % that it promises.
//!
//! Runs come in pairs, one with gpuprof off and one with its defaults, until the median of their
//! ratios is known to half a percent.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;

use super::{TestProgram, slowdown};
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::statistics::{MedianInterval, figure, performance};
use crate::{device, examples, process, runner};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "budget",
    promise: "With its default settings gpuprof costs at most 1 % of a program's time.",
    limit: Duration::from_secs(280),
    run: budget,
}];

pub(crate) const PROGRAMS: &[TestProgram] = &[(TOKENS, token_loop)];

const TOKENS: &str = "tokens";
/// Time limit of a process.
const LIMIT: Duration = Duration::from_secs(60);
/// Time for the pairs of one program.
const TIME_PER_PROGRAM: Duration = Duration::from_secs(45);
const MOST_PAIRS: usize = 120;
/// How wide the 95 % interval of the median may be.
const WIDTH: f64 = 0.005;

/// How long a program took by what it printed, in any unit.
type Took = fn(&process::Finished) -> Result<f64, String>;

fn budget(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let own = |program| runner::own_command(&["program", program], run_mode);
    let launches = || own(slowdown::ANNOTATED);
    let wall: Took = |ended| slowdown::wall_of(&ended.stdout);
    let mut rows = vec![
        compared(
            run_mode,
            "launches of 5 µs back to back",
            &launches,
            wall,
            1.01,
        )?,
        tokens(run_mode)?,
    ];
    let name = format!("{}, its training", slowdown::EXAMPLE);
    rows.push(match examples::path(slowdown::EXAMPLE) {
        Ok(path) => {
            let example = || {
                let mut command = examples::command(&path, run_mode.simulated);
                command.arg("time");
                Ok(command)
            };
            compared(run_mode, &name, &example, trained_in, 1.02)?
        }
        Err(why) => Row::unavailable(name, why),
    });
    Ok(rows)
}

/// The time that the example prints on standard error, s.
fn trained_in(ended: &process::Finished) -> Result<f64, String> {
    let mut lines = ended.stderr.lines();
    let found = lines.find_map(|line| line.strip_prefix("trained in ")?.strip_suffix(" s"));
    let seconds = found.and_then(|seconds| seconds.parse().ok());
    seconds.ok_or_else(|| format!("no time in `{}`", ended.stderr))
}

/// Pairs of runs of one program.
fn compared(
    run_mode: &RunMode,
    what: &str,
    program: &dyn Fn() -> Result<Command, String>,
    took: Took,
    wanted: f64,
) -> Result<Row, String> {
    let run = |is_on: bool| {
        let mut command = program()?;
        command
            .env("GPUPROF_REPORT", "none")
            .env_remove("GPUPROF_SAMPLE")
            .env("GPUPROF", if is_on { "on" } else { "off" });
        let ended = process::finished(command, LIMIT);
        took(&ended.map_err(|error| format!("{what}: {error}"))?)
    };
    let began = Instant::now();
    let mut ratios = Vec::new();
    loop {
        // Either comes first in turn, in case the first of two is slower.
        let (on, off) = match ratios.len() % 2 {
            0 => {
                let off = run(false)?;
                (run(true)?, off)
            }
            _ => (run(true)?, run(false)?),
        };
        ratios.push(on / off);
        let interval = MedianInterval::of(&ratios);
        let is_known = interval.is_some_and(|interval| interval.width() < WIDTH);
        let is_over = began.elapsed() > TIME_PER_PROGRAM || ratios.len() >= MOST_PAIRS;
        if is_known || is_over || run_mode.short {
            break;
        }
    }
    let what = format!("{what}: default settings against off");
    Ok(judged(run_mode, what, &ratios, wanted))
}

fn judged(run_mode: &RunMode, what: String, ratios: &[f64], wanted: f64) -> Row {
    let Some(interval) = MedianInterval::of(ratios) else {
        return figure(
            run_mode,
            what,
            format!("{ratios:.4?}, too few pairs to judge"),
        );
    };
    let shown = format!(
        "{:.4} (95 %: {:.4} to {:.4}), {} pairs",
        interval.median,
        interval.low,
        interval.high,
        ratios.len()
    );
    let good = interval.median <= wanted;
    performance(run_mode, what, shown, format!("at most {wanted}"), good)
}

/// A loop like that of a language model. Its runs differ by several percent, far more than gpuprof
/// costs, so both sides of a pair are in one process.
fn tokens(run_mode: &RunMode) -> Result<Row, String> {
    let mut command = runner::own_command(&["program", TOKENS], run_mode)?;
    command
        .env("GPUPROF_REPORT", "none")
        .env_remove("GPUPROF_SAMPLE");
    let ended = process::finished(command, LIMIT);
    let ratios: Result<Vec<f64>, _> = ended.and_then(|ended| ended.answer());
    let ratios = ratios.map_err(|error| format!("{TOKENS}: {error}"))?;
    let what = "200 launches a token in 37 spans: annotated functions against plain ones";
    Ok(judged(run_mode, what.to_owned(), &ratios, 1.01))
}

/// The layers of the loop's model, and the launches in each half of a layer.
const LAYERS: u64 = 12;
const LAUNCHES: u64 = 8;
const KERNEL_NS: u64 = 2_000;
const TOKENS_PER_BLOCK: u32 = 10;
/// Elements of the result that each launch allocates and frees.
const RESULT: usize = 4_096;

/// The functions of the model, with an attribute or without.
macro_rules! model {
    ($name:ident, $(#[$attribute:meta])?) => {
        mod $name {
            use std::sync::Arc;

            use cudarc::driver::CudaStream;

            use super::{Answer, Kernel, LAUNCHES, LAYERS, operations};

            $(#[$attribute])?
            pub(super) fn token(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
                (0..LAYERS).try_for_each(|_| layer(stream, kernel))?;
                operations(stream, kernel, LAUNCHES)
            }

            $(#[$attribute])?
            fn layer(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
                attention(stream, kernel)?;
                mlp(stream, kernel)
            }

            $(#[$attribute])?
            fn attention(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
                operations(stream, kernel, LAUNCHES)
            }

            $(#[$attribute])?
            fn mlp(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
                operations(stream, kernel, LAUNCHES)
            }
        }
    };
}

model!(annotated, #[gpuprof::gpu_profile]);
model!(plain,);

/// What frameworks do for each operation: allocate the result, launch, free.
fn operations(stream: &Arc<CudaStream>, kernel: &Kernel, count: u64) -> Answer {
    for _ in 0..count {
        // SAFETY: nothing reads the memory.
        let result = unsafe { stream.alloc::<f32>(RESULT) }?;
        kernel.launch(stream)?;
        drop(result);
    }
    Ok(())
}

/// The test program: reads tokens, with a wait after each as for its result. Prints how much longer
/// blocks of them took in annotated functions than in plain ones, measured in turn.
fn token_loop(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let text = |error| format!("launching: {error}");
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(text)?;
    let block = |token: fn(&Arc<CudaStream>, &Kernel) -> Answer| {
        let began = Instant::now();
        for _ in 0..TOKENS_PER_BLOCK {
            token(&stream, &kernel).map_err(text)?;
            stream.synchronize().map_err(text)?;
        }
        Ok::<_, String>(began.elapsed().as_secs_f64())
    };
    let blocks = if run_mode.short { 2 } else { 400 };
    let mut ratios = Vec::new();
    for at in 0..blocks {
        let (with, without) = match at % 2 {
            0 => (block(annotated::token)?, block(plain::token)?),
            _ => {
                let without = block(plain::token)?;
                (block(annotated::token)?, without)
            }
        };
        ratios.push(with / without);
    }
    process::print(&ratios)
}
