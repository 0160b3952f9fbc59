//! How much longer programs take with gpuprof's CUPTI tier, compared with Nsight Systems' CUDA
//! trace of the same programs in the same run.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::nsight_tools;
use crate::check::{Row, RunMode};
use crate::checks::slowdown;
use crate::statistics::{Spread, figure, in_turn, performance, ratios};
use crate::{examples, process, runner};

const LIMIT: Duration = Duration::from_secs(60);
/// Runs of the launches per method, and of the example, which is slow under Nsight Systems.
const REPEATS: usize = 15;
const REPEATS_OF_EXAMPLE: usize = 5;
/// Runs of the launches fall into two groups 1 to 2 % apart, with gpuprof off and under each tool,
/// and one program changes between them over time. So the fastest runs are compared, which vary by
/// this much.
const NOISE: f64 = 0.005;

/// One method of running a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Off,
    On,
    Cupti,
    Stacks,
    Counters,
    Memory,
    Nsys,
}

const METHODS: [(Method, &str); 7] = [
    (Method::Off, "off"),
    (Method::On, "on"),
    (Method::Cupti, "on, with CUPTI"),
    (Method::Stacks, "on, with CUPTI and stacks"),
    (Method::Counters, "on, with CUPTI and hardware counters"),
    (Method::Memory, "on, with CUPTI and memory"),
    (Method::Nsys, "off, under nsys -t cuda"),
];

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let nsys = nsight_tools::find("nsys").filter(|_| !run_mode.simulated);
    let loops = || runner::own_command(&["program", slowdown::ANNOTATED], run_mode);
    let inside = |printed: &str, _: Duration| slowdown::wall_of(printed);
    let mut rows = compared(
        run_mode,
        "100,000 launches of 5 µs back to back",
        nsys.as_deref(),
        &loops,
        &inside,
        REPEATS,
    )?;
    let name = format!("{}, the whole process", slowdown::EXAMPLE);
    let path = match examples::path(slowdown::EXAMPLE) {
        Ok(path) => path,
        Err(why) => {
            rows.push(Row::unavailable(name, why));
            return Ok(rows);
        }
    };
    let program = || Ok(examples::command(&path, run_mode.simulated));
    // The time that the program prints, without the tool's own start and end; otherwise that of the
    // whole process.
    let whole = |_: &str, took: Duration| Ok(took.as_nanos() as f64);
    rows.extend(compared(
        run_mode,
        &name,
        nsys.as_deref(),
        &program,
        &whole,
        REPEATS_OF_EXAMPLE,
    )?);
    Ok(rows)
}

type Program<'a> = &'a dyn Fn() -> Result<Command, String>;
type Took<'a> = &'a dyn Fn(&str, Duration) -> Result<f64, String>;

fn compared(
    run_mode: &RunMode,
    what: &str,
    nsys: Option<&Path>,
    program: Program<'_>,
    took: Took<'_>,
    repeats: usize,
) -> Result<Vec<Row>, String> {
    let methods: Vec<_> = METHODS
        .into_iter()
        .filter(|(method, _)| *method != Method::Nsys || nsys.is_some())
        .collect();
    let repeats = if run_mode.short { 1 } else { repeats };
    let walls = in_turn(methods.len(), repeats, |index| {
        let (method, name) = methods[index];
        let ended = process::finished(set(program()?, method, nsys), LIMIT)
            .map_err(|error| format!("{name}: {error}"))?;
        took(&ended.stdout, ended.elapsed)
    })?;
    let ratios = |index: usize| Spread::of(&ratios(&walls[index], &walls[0]));
    let mut rows = vec![figure(
        run_mode,
        format!("{what}, off"),
        Spread::of(&walls[0]).time(),
    )];
    for (index, (_, name)) in methods.iter().enumerate().skip(1) {
        let shown = format!(
            "{} times off: {}",
            ratios(index).ratio(),
            Spread::of(&walls[index]).time()
        );
        rows.push(figure(run_mode, format!("{what}, {name}"), shown));
    }
    let position = |wanted| methods.iter().position(|(method, _)| *method == wanted);
    let against = format!("{what}: with CUPTI against nsys");
    rows.push(match position(Method::Cupti).zip(position(Method::Nsys)) {
        Some((ours, theirs)) => {
            let fastest =
                |index: usize| Spread::of(&walls[index]).least / Spread::of(&walls[0]).least;
            let shown = format!(
                "fastest runs {:.3} and {:.3} times off, medians {:.3} and {:.3}",
                fastest(ours),
                fastest(theirs),
                ratios(ours).median,
                ratios(theirs).median
            );
            let wanted = format!("fastest run at most nsys's, to {NOISE} of off");
            let good = fastest(ours) <= fastest(theirs) + NOISE;
            performance(run_mode, against, shown, wanted, good)
        }
        None => Row::unavailable(against, "there is no nsys here"),
    });
    Ok(rows)
}

fn set(mut command: Command, method: Method, nsys: Option<&Path>) -> Command {
    command.env("GPUPROF_REPORT", "none");
    match (method, nsys) {
        (Method::Cupti, _) => command
            .env("GPUPROF_CUPTI", "on")
            .env_remove("GPUPROF_SAMPLE"),
        (Method::Stacks, _) => command
            .env("GPUPROF_CUPTI", "on")
            .env("GPUPROF_STACKS", "on")
            .env_remove("GPUPROF_SAMPLE"),
        (Method::Counters, _) => command
            .env("GPUPROF_CUPTI", "on")
            .env("GPUPROF_COUNTERS", "on")
            .env_remove("GPUPROF_SAMPLE"),
        (Method::Memory, _) => command
            .env("GPUPROF_CUPTI", "on")
            .env("GPUPROF_MEMORY", "on")
            .env_remove("GPUPROF_SAMPLE"),
        (Method::On, _) => &mut command,
        (Method::Off | Method::Nsys, _) => command.env("GPUPROF", "off"),
    };
    match (method, nsys) {
        (Method::Nsys, Some(nsys)) => {
            let report = std::env::temp_dir().join(format!("gpu-checks-{}", std::process::id()));
            nsight_tools::under_nsys(nsys, &command, &report, &[])
        }
        _ => command,
    }
}
