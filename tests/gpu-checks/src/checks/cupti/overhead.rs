//! How much longer programs take with CUPTI in gpuprof, beside what Nsight Systems' own CUDA trace
//! makes of the same programs in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::nsight_tools;
use crate::check::{Row, World};
use crate::checks::slowdown;
use crate::checks::statistics::{Spread, figure, performance};
use crate::{process, runner};

const LIMIT: Duration = Duration::from_secs(60);
/// Runs of the launches each way, and of the example, which takes Nsight Systems long.
const REPEATS: usize = 15;
const REPEATS_OF_EXAMPLE: usize = 5;
/// Runs of the launches fall into two groups that are one or two parts in a hundred apart, switched
/// off as under each tool, and the same program is in one at a time and in the other at another. So
/// the fastest are compared, which vary by so much.
const NOISE: f64 = 0.005;

/// One way of running a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Off,
    On,
    Cupti,
    Nsys,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Off, "off"),
    (Way::On, "on"),
    (Way::Cupti, "on, with CUPTI"),
    (Way::Nsys, "off, under nsys -t cuda"),
];

pub(super) fn run(world: &World) -> Result<Vec<Row>, String> {
    let nsys = nsight_tools::find("nsys").filter(|_| !world.simulated);
    let loops = || runner::itself(&["play", slowdown::ANNOTATED], world);
    let inside = |printed: &str, _: Duration| slowdown::wall_of(printed);
    let mut rows = compared(
        world,
        "100,000 launches of 5 µs back to back",
        nsys.as_deref(),
        &loops,
        &inside,
        REPEATS,
    )?;
    let example = slowdown::example();
    if let Some(path) = example {
        let program = || Ok(example_command(&path, world));
        // As the program itself says, without the tool's own start and end; where it says nothing,
        // the whole process.
        let whole = |_: &str, took: Duration| Ok(took.as_nanos() as f64);
        let name = format!("{}, the whole process", slowdown::EXAMPLE);
        let nsys = nsys.as_deref();
        rows.extend(compared(
            world,
            &name,
            nsys,
            &program,
            &whole,
            REPEATS_OF_EXAMPLE,
        )?);
    }
    Ok(rows)
}

fn example_command(path: &PathBuf, world: &World) -> Command {
    let mut command = Command::new(path);
    process::neutral(&mut command);
    if world.simulated {
        command.env("GPUPROF_SIM", "1");
    }
    command
}

type Program<'a> = &'a dyn Fn() -> Result<Command, String>;
type Took<'a> = &'a dyn Fn(&str, Duration) -> Result<f64, String>;

fn compared(
    world: &World,
    what: &str,
    nsys: Option<&Path>,
    program: Program<'_>,
    took: Took<'_>,
    repeats: usize,
) -> Result<Vec<Row>, String> {
    let ways: Vec<_> = WAYS
        .into_iter()
        .filter(|(way, _)| *way != Way::Nsys || nsys.is_some())
        .collect();
    let mut walls: Vec<Vec<f64>> = ways.iter().map(|_| Vec::new()).collect();
    let repeats = if world.short { 1 } else { repeats };
    for repeat in 0..repeats {
        for at in 0..ways.len() {
            let at = (at + repeat) % ways.len();
            let (way, name) = ways[at];
            let command = set(program()?, way, nsys);
            let ended = process::run(command, LIMIT).map_err(|error| error.to_string())?;
            if let Some(trouble) = ended.trouble() {
                return Err(format!("{name}: {trouble}\n{}", ended.tail()));
            }
            walls[at].push(took(&ended.stdout, ended.took)?);
        }
    }
    let ratios = |at: usize| {
        let each = walls[at].iter().zip(&walls[0]).map(|(of, to)| of / to);
        Spread::of(&each.collect::<Vec<_>>())
    };
    let mut rows = vec![figure(
        world,
        format!("{what}, off"),
        Spread::of(&walls[0]).time(),
    )];
    for (at, (_, name)) in ways.iter().enumerate().skip(1) {
        let shown = format!(
            "{} times off: {}",
            ratios(at).ratio(),
            Spread::of(&walls[at]).time()
        );
        rows.push(figure(world, format!("{what}, {name}"), shown));
    }
    let at = |wanted| ways.iter().position(|(way, _)| *way == wanted);
    let against = format!("{what}: with CUPTI against nsys");
    rows.push(match at(Way::Cupti).zip(at(Way::Nsys)) {
        Some((ours, theirs)) => {
            let fastest = |at: usize| Spread::of(&walls[at]).least / Spread::of(&walls[0]).least;
            let shown = format!(
                "fastest runs {:.3} and {:.3} times off, medians {:.3} and {:.3}",
                fastest(ours),
                fastest(theirs),
                ratios(ours).median,
                ratios(theirs).median
            );
            let wanted = format!("fastest run at most nsys's, to {NOISE} of off");
            let good = fastest(ours) <= fastest(theirs) + NOISE;
            performance(world, against, shown, wanted, good)
        }
        None => Row::not_here(against, "there is no nsys here"),
    });
    Ok(rows)
}

fn set(mut command: Command, way: Way, nsys: Option<&Path>) -> Command {
    command.env("GPUPROF_REPORT", "none");
    match (way, nsys) {
        (Way::Cupti, _) => command.env("GPUPROF_CUPTI", "on"),
        (Way::On, _) => &mut command,
        (Way::Off | Way::Nsys, _) => command.env("GPUPROF", "off"),
    };
    match (way, nsys) {
        (Way::Nsys, Some(nsys)) => {
            let report = std::env::temp_dir().join(format!("gpu-checks-{}", std::process::id()));
            nsight_tools::under_nsys(nsys, &command, &report)
        }
        _ => command,
    }
}
