//! What gpuprof costs whole programs with its default settings, against the 1 % that it promises.
//!
//! Runs come in pairs, one with gpuprof off and one with its defaults, until the median of their
//! ratios is known to half a percent.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;

use super::{TestProgram, slowdown};
use crate::check::{Check, Row, RunMode};
use crate::hand_timed::{self, Answer, Kernel};
use crate::statistics::{MedianInterval, figure, performance};
use crate::{device, process, runner};

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
const TIME_PER_PROGRAM: Duration = Duration::from_secs(75);
const MOST_PAIRS: usize = 120;
/// How wide the 95 % interval of the median may be.
const WIDTH: f64 = 0.005;

/// How long a process took, from what it printed and from start to end.
type Took = fn(&str, Duration) -> Result<f64, String>;

fn budget(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let own = |program| runner::own_command(&["program", program], run_mode);
    let launches = || own(slowdown::ANNOTATED);
    let tokens = || own(TOKENS);
    let inside: Took = |printed, _| slowdown::wall_of(printed);
    let whole: Took = |_, elapsed| Ok(elapsed.as_nanos() as f64);
    let mut rows = vec![
        compared(
            run_mode,
            "launches of 5 µs back to back",
            &launches,
            inside,
            1.01,
        )?,
        compared(
            run_mode,
            "a loop of 200 launches a token, in 37 functions",
            &tokens,
            inside,
            1.01,
        )?,
    ];
    let name = format!("{}, the whole process", slowdown::EXAMPLE);
    rows.push(match slowdown::example() {
        Some(path) => {
            let example = || Ok(example_command(&path, run_mode));
            compared(run_mode, &name, &example, whole, 1.02)?
        }
        None => Row::unavailable(name, "it is not beside this program"),
    });
    Ok(rows)
}

fn example_command(path: &PathBuf, run_mode: &RunMode) -> Command {
    let mut command = Command::new(path);
    process::clear_settings(&mut command);
    if run_mode.simulated {
        command.env("GPUPROF_SIM", "1");
    }
    command
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
        let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
        match ended.failure() {
            Some(trouble) => Err(format!("{what}: {trouble}\n{}", ended.tail())),
            None => took(&ended.stdout, ended.elapsed),
        }
    };
    let began = Instant::now();
    let mut ratios = Vec::new();
    let interval = loop {
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
            break interval;
        }
    };
    let what = format!("{what}: default settings against off");
    let Some(interval) = interval else {
        return Ok(figure(
            run_mode,
            what,
            format!("{:.4}, one pair", ratios[0]),
        ));
    };
    let shown = format!(
        "{:.4} (95 %: {:.4} to {:.4}), {} pairs",
        interval.median,
        interval.low,
        interval.high,
        ratios.len()
    );
    let good = interval.median <= wanted;
    Ok(performance(
        run_mode,
        what,
        shown,
        format!("at most {wanted}"),
        good,
    ))
}

/// The layers of the loop's model, and the launches in each half of a layer.
const LAYERS: u64 = 12;
const LAUNCHES: u64 = 8;
const KERNEL_NS: u64 = 2_000;
/// Elements of the result that each launch allocates and frees.
const RESULT: usize = 4_096;

#[gpu_profile]
fn token(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    (0..LAYERS).try_for_each(|_| layer(stream, kernel))?;
    operations(stream, kernel, LAUNCHES)
}

#[gpu_profile]
fn layer(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    attention(stream, kernel)?;
    mlp(stream, kernel)
}

#[gpu_profile]
fn attention(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    operations(stream, kernel, LAUNCHES)
}

#[gpu_profile]
fn mlp(stream: &Arc<CudaStream>, kernel: &Kernel) -> Answer {
    operations(stream, kernel, LAUNCHES)
}

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

/// The test program: reads tokens, with a wait after each as for its result, and prints the time.
fn token_loop(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let text = |error| format!("launching: {error}");
    let stream = hand_timed::stream().map_err(text)?;
    let kernel = Kernel::spin(KERNEL_NS).map_err(text)?;
    let tokens = |count: u64| {
        (0..count).try_for_each(|_| {
            token(&stream, &kernel)?;
            stream.synchronize()
        })
    };
    let count = if run_mode.short { 5 } else { 600 };
    tokens(count / 10 + 1).map_err(text)?;
    let _ = gpuprof::collect();
    gpuprof::reset();
    let began = Instant::now();
    tokens(count).map_err(text)?;
    slowdown::print(began.elapsed(), began.elapsed())?;
    Ok(ExitCode::SUCCESS)
}
