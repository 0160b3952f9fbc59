//! GPU spans compared with the kernel durations of Nsight Compute for the same launches. Each
//! measurement has its own process, because the tool serializes kernels, which would lengthen
//! gpuprof's spans.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use super::{ANNOTATED, LONG_NS, WANTED, annotated, one_more, subjects, text};
use crate::check::{Row, RunMode};
use crate::checks::TestProgram;
use crate::hand_timed::{self, Kernel};
use crate::session::every_call;
use crate::statistics::{Spread, figure, off, percent, performance, time};
use crate::{device, process, runner};

pub(super) const DURATIONS: TestProgram = (PROGRAM, durations);

const PROGRAM: &str = "durations";
/// Where the CUDA toolkit installs the tool.
const USUAL: &str = "/usr/local/cuda/bin";
/// Time limit of the tool, which stops at each of several hundred launches.
const LIMIT: Duration = Duration::from_secs(240);
const METRIC: &str = "gpu__time_duration.sum";
/// The first launches of a kernel, which load its code.
const FIRST: usize = 3;

pub(super) fn kernel_time(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "spans against Nsight Compute";
    if run_mode.simulated {
        let why = "simulated device: Nsight Compute sees no kernels on it";
        run_for_durations(runner::own_command(&["program", PROGRAM], run_mode)?)?;
        return Ok(vec![Row::unavailable(what, why)]);
    }
    let Some(ncu) = find() else {
        let why = format!("there is no ncu in PATH or in {USUAL}");
        return Ok(vec![Row::unavailable(what, why)]);
    };
    let spans = run_for_durations(runner::own_command(&["program", PROGRAM], run_mode)?)?;
    let traced = process::run(under(&ncu, run_mode)?, LIMIT).map_err(text)?;
    let printed = format!("{}\n{}", traced.stdout, traced.stderr);
    let launches = match (traced.failure(), refusal(&printed)) {
        (_, Some(refusal)) => return Ok(vec![Row::unavailable(what, refusal)]),
        (Some(trouble), None) => return Err(format!("ncu: {trouble}\n{}", traced.tail())),
        (None, None) => launches(&traced.stdout)?,
    };
    spans
        .iter()
        .zip(&kernels_of(&launches, &spans)?)
        .map(|((name, spans), kernels)| Ok(compared(run_mode, name, spans, kernels)))
        .collect::<Result<Vec<_>, String>>()
        .map(|rows| rows.concat())
}

/// The test program: prints each kernel's name and spans in ns, as JSON. Each span begins on a busy
/// stream, so that it contains no launch latency.
fn durations(run_mode: &RunMode) -> Result<ExitCode, String> {
    device::open(run_mode)?;
    let stream = hand_timed::stream().map_err(text)?;
    let before = Kernel::spin(100_000).map_err(text)?;
    let session = every_call().start().map_err(text)?;
    let mut found = Vec::new();
    for (name, kernel) in subjects(&stream, run_mode).map_err(text)? {
        gpuprof::reset();
        let mut spans = Vec::new();
        for _ in 0..FIRST + calls(run_mode) {
            before.launch(&stream).map_err(text)?;
            annotated(&stream, &kernel).map_err(text)?;
            spans.push(one_more(&stream, ANNOTATED, &spans)?);
        }
        found.push((name, spans.split_off(FIRST)));
    }
    drop(session);
    println!("{}", serde_json::to_string(&found).map_err(text)?);
    Ok(ExitCode::SUCCESS)
}

fn calls(run_mode: &RunMode) -> usize {
    if run_mode.short { 3 } else { 20 }
}

type Named = (String, Vec<f64>);

fn run_for_durations(command: Command) -> Result<Vec<Named>, String> {
    let ended = process::run(command, Duration::from_secs(60)).map_err(text)?;
    match ended.failure() {
        Some(trouble) => Err(format!("{PROGRAM}: {trouble}\n{}", ended.tail())),
        None => serde_json::from_str(ended.stdout.trim()).map_err(text),
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([USUAL.into()]);
    let mut tools = folders.map(|folder| folder.join("ncu"));
    tools.find(|tool| tool.is_file())
}

/// The command that runs the test program under the tool, with clocks and caches unchanged.
fn under(ncu: &PathBuf, run_mode: &RunMode) -> Result<Command, String> {
    let program = runner::own_command(&["program", PROGRAM], run_mode)?;
    let mut command = Command::new(ncu);
    process::clear_settings(&mut command);
    command
        .args(["--csv", "--print-units", "base", "--metrics", METRIC])
        .args(["--clock-control", "none", "--cache-control", "none"])
        .args(["--kernel-name", "regex:^(spin|saxpy|matmul_tiled)$"])
        .arg(program.get_program())
        .args(program.get_args().map(OsStr::to_owned));
    Ok(command)
}

/// The tool's error message, usually that counters need administrator rights.
fn refusal(printed: &str) -> Option<String> {
    let mut lines = printed.lines();
    lines
        .find(|line| line.starts_with("==ERROR==") || line.contains("ERR_NVGPUCTRPERM"))
        .map(|line| format!("ncu: {}", line.trim_start_matches("==ERROR==").trim()))
}

/// A launch that the tool measured: kernel name and duration in ns.
type Launch = (String, f64);

/// The launches in the tool's CSV, in order. Every field is quoted.
fn launches(csv: &str) -> Result<Vec<Launch>, String> {
    let mut lines = csv
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'))
        .map(|line| line.split("\",\"").collect::<Vec<_>>());
    let head = lines.next().ok_or("ncu printed no table")?;
    let column = |name: &str| {
        let index = head.iter().position(|field| *field == name);
        index.ok_or_else(|| format!("ncu's table has no column {name}: {head:?}"))
    };
    let kernel = column("Kernel Name")?;
    let [metric, unit, value] = [
        column("Metric Name")?,
        column("Metric Unit")?,
        column("Metric Value")?,
    ];
    lines
        .filter(|line| line.get(metric) == Some(&METRIC))
        .map(|line| {
            let field = |index: usize| line.get(index).copied().unwrap_or_default();
            if !["ns", "nsecond"].contains(&field(unit)) {
                return Err(format!("ncu gives durations in {}", field(unit)));
            }
            let digits = field(value).replace(',', "");
            let ns: f64 = digits
                .parse()
                .map_err(|_| format!("no duration: {digits}"))?;
            Ok((field(kernel).to_owned(), ns))
        })
        .collect()
}

/// The kernel durations that correspond to each subject's spans. Launches come in pairs, of which
/// the first keeps the stream busy. The launches that determined the problem sizes precede them.
fn kernels_of(launches: &[Launch], subjects: &[Named]) -> Result<Vec<Vec<f64>>, String> {
    let wanted: usize = subjects.iter().map(|(_, spans)| spans.len() + FIRST).sum();
    let first = launches.len().checked_sub(2 * wanted);
    let pairs = first.and_then(|first| launches.get(first..));
    let Some(pairs) = pairs else {
        let seen = launches.len();
        return Err(format!("ncu saw {seen} launches instead of {}", 2 * wanted));
    };
    let mut pairs = pairs.as_chunks::<2>().0.iter();
    let of_subject = |(subject, spans): &Named| {
        let kernel = subject.split(' ').next().unwrap_or_default();
        let launches = pairs.by_ref().take(FIRST + spans.len());
        let durations = launches.map(|[before, launch]| {
            if before.0.starts_with("spin") && launch.0.starts_with(kernel) {
                Ok(launch.1)
            } else {
                Err(format!("ncu saw {} where {kernel} ran", launch.0))
            }
        });
        let mut durations = durations.collect::<Result<Vec<_>, _>>()?;
        Ok(durations.split_off(FIRST))
    };
    subjects.iter().map(of_subject).collect()
}

fn compared(run_mode: &RunMode, name: &str, spans: &[f64], kernels: &[f64]) -> [Row; 2] {
    let (span, kernel) = (Spread::of(spans), Spread::of(kernels));
    let apart = off(span.median, kernel.median);
    let what = format!("{name}, busy stream, {} launches", spans.len());
    let shown = format!(
        "span {}, ncu {}: {}",
        time(span.median),
        time(kernel.median),
        percent(apart)
    );
    let median = format!("{what}: median");
    [
        if kernel.median > LONG_NS {
            performance(run_mode, median, shown, "within 2 %", apart.abs() <= WANTED)
        } else {
            figure(run_mode, median, shown)
        },
        figure(
            run_mode,
            format!("{what}: spread"),
            format!("span {}, ncu {}", span.time(), kernel.time()),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = concat!(
        r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","#,
        r#""Block Size","Grid Size","Device","CC","Section Name","Metric Name","#,
        r#""Metric Unit","Metric Value""#,
    );

    fn line(kernel: &str, value: &str) -> String {
        format!(
            "\"0\",\"1\",\"gpu-checks\",\"127.0.0.1\",\"{kernel}\",\"1\",\"13\",\
             \"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",\
             \"{METRIC}\",\"ns\",\"{value}\""
        )
    }

    #[test]
    fn durations_are_read_from_the_tools_table() {
        let csv = [
            "==PROF== Connected to process 1".to_owned(),
            HEAD.into(),
            line("spin", "100,032"),
            line("saxpy", "301,504.50"),
        ];
        let found = launches(&csv.join("\n"));
        assert_eq!(
            found,
            Ok(vec![
                ("spin".into(), 100_032.0),
                ("saxpy".into(), 301_504.5)
            ])
        );
        assert!(launches("").is_err_and(|error| error.contains("no table")));
    }

    #[test]
    fn durations_go_to_the_kernels_they_are_of() {
        let pair = |ns| [("spin".to_owned(), 1.0), ("saxpy".to_owned(), ns)];
        let launches: Vec<_> = (0..FIRST + 2).flat_map(|i| pair(i as f64)).collect();
        let subjects = [("saxpy".to_owned(), vec![0.0; 2])];
        assert_eq!(kernels_of(&launches, &subjects), Ok(vec![vec![3.0, 4.0]]));
        let wrong = [("matmul_tiled".to_owned(), vec![0.0; 2])];
        assert!(kernels_of(&launches, &wrong).is_err());
        assert!(kernels_of(&launches[1..], &subjects).is_err());
    }

    #[test]
    fn a_refusal_is_told_in_the_tools_own_words() {
        let printed =
            "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n";
        assert_eq!(
            refusal(printed).as_deref(),
            Some("ncu: ERR_NVGPUCTRPERM - The user does not have permission")
        );
        assert_eq!(refusal("==WARNING== x"), None);
    }
}
