//! Promise: the main function of a benchmark target runs what its arguments choose, writes what
//! they ask for, and ends with a status that says whether everything is as required.

use std::env;
use std::error::Error;
use std::fs;
use std::process::ExitCode;

use cudarc::driver::DriverError;
use gpuprof::bench::{Bench, Comparison, Results, Variant};
use gpuprof::{Profile, gpu_bench, gpu_profile};
use support::program::{Ended, Folder, Program};
use support::suite::Module;
use support::tests;

use self::work::Saxpy;

mod work;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        benchmarks_are_listed_and_chosen,
        a_table_has_the_times_of_each_in_each_mode,
        formats_and_files_have_the_same_figures,
        a_page_has_the_results,
        a_baseline_is_kept_and_compared_with,
        a_candidate_that_is_slower_or_wrong_fails,
        a_benchmark_that_fails_does_not_stop_the_others,
        as_a_test_each_runs_once_and_outputs_are_compared,
        wrong_arguments_are_refused_with_what_to_do,
        arguments_for_other_targets_are_no_failure,
        a_profiled_function_in_a_benchmark_is_noted,
    ]],
)
.with_program(run);

/// What spoils the candidate.
const CANDIDATE: &str = "TEST_CANDIDATE";
/// ns that a launch of saxpy takes.
const KERNEL_NS: &str = "TEST_KERNEL_NS";

fn run(_scenario: &str) -> ExitCode {
    let ns = env::var(KERNEL_NS).ok().and_then(|ns| ns.parse().ok());
    let sim = work::install();
    sim.set_kernel_ns("saxpy", ns.unwrap_or(10_000));
    gpuprof::bench::main()
}

#[gpu_bench(n = [256, 1024])]
fn saxpy(mut bench: Bench, n: usize) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let mut saxpy = Saxpy::new(&stream, n)?;
    let bench = bench.bytes(12 * n as u64).flops(2 * n as u64);
    Ok(bench.run(|| saxpy.launch())?)
}

#[gpu_bench]
fn twice_against_once(mut bench: Bench) -> Result<Comparison, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let variant = |name: &str, launches: u32, error: f32| {
        let stream = stream.clone();
        Variant::new(
            name,
            move || Saxpy::new(&stream, 256),
            move |saxpy| (0..launches).try_for_each(|_| saxpy.launch()),
            move |saxpy| saxpy.output(error),
        )
    };
    let (launches, error) = match env::var(CANDIDATE).as_deref() {
        Ok("slower") => (2, 0.0),
        Ok("wrong") => (1, 0.5),
        _ => (1, 0.0),
    };
    let comparing = bench.compare(variant("twice", 2, 0.0), variant("once", launches, error));
    Ok(comparing.require_speedup(1.5).run()?)
}

#[gpu_profile]
fn launch(saxpy: &mut Saxpy) -> Result<(), DriverError> {
    saxpy.launch()
}

#[gpu_bench]
fn profiled(mut bench: Bench) -> Result<Results, Box<dyn Error>> {
    let stream = bench.own_stream()?;
    let mut saxpy = Saxpy::new(&stream, 256)?;
    Ok(bench.run(|| gpuprof::with_stream(&stream, || launch(&mut saxpy)))?)
}

#[gpu_bench]
fn fails(mut bench: Bench) -> Result<Results, Box<dyn Error>> {
    if env::var(CANDIDATE).as_deref() == Ok("failing") {
        return Err("no input file".into());
    }
    let stream = bench.own_stream()?;
    let mut saxpy = Saxpy::new(&stream, 256)?;
    Ok(bench.run(|| saxpy.launch())?)
}

fn program(arguments: &[&str]) -> Program {
    Program::new("benchmarks").arguments(arguments)
}

fn bench(arguments: &[&str]) -> Ended {
    program(&[&["--bench"], arguments].concat()).run()
}

fn stdout(ended: &Ended) -> String {
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn benchmarks_are_listed_and_chosen() {
    let list = |arguments: &[&str]| {
        let ended = bench(&[&["--list"], arguments].concat());
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        let text = stdout(&ended);
        let names = text
            .lines()
            .map(|line| line.trim_end_matches(": benchmark"));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let all = [
        "fails",
        "profiled",
        "saxpy n=256",
        "saxpy n=1024",
        "twice_against_once",
    ];
    assert_eq!(list(&[]), all);
    assert_eq!(list(&["sax"]), all[2..4]);
    assert_eq!(list(&["saxpy n=256", "--exact"]), all[2..3]);
    assert_eq!(list(&["--axis", "n=1024", "saxpy"]), all[3..4]);
}

fn a_table_has_the_times_of_each_in_each_mode() {
    let ended = bench(&["saxpy", "--modes", "cold,hot,graph"]);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let text = stdout(&ended);
    for name in ["saxpy n=256", "saxpy n=1024"] {
        for mode in ["cold", "hot", "graph"] {
            let row = text
                .lines()
                .find(|line| line.starts_with(name) && line.contains(mode));
            let row = row.unwrap_or_else(|| panic!("no {name}, {mode} in\n{text}"));
            assert!(row.contains("10.00 µs"), "{row}");
        }
    }
    // 12 bytes for each of 1,024 elements in 10 µs.
    assert!(text.contains("1.229"), "{text}");
    assert!(text.contains("simulated device"), "{text}");
}

fn formats_and_files_have_the_same_figures() {
    let folder = Folder::create();
    let file = folder.path("profile.json");
    let json = file.display().to_string();
    let ended = bench(&[
        "saxpy", "--modes", "cold", "--format", "csv", "--json", &json,
    ]);
    let csv = stdout(&ended);
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert_eq!((rows[0][5], rows[1][5]), ("median_ns", "10000"));
    assert!(
        ended.stderr.contains("simulated device, driver"),
        "{ended:#?}"
    );
    let profile: Profile =
        gpuprof::json::read(fs::File::open(file).expect("a file")).expect("a profile");
    let medians = profile.benchmarks.iter().map(|one| one.median_ns);
    assert_eq!(medians.collect::<Vec<_>>(), [10_000.0; 2]);
    let last = &profile.benchmarks[1];
    assert_eq!((last.name.as_str(), last.mode.as_str()), ("saxpy", "cold"));
    assert_eq!(
        (
            last.parameters[0].name.as_str(),
            last.parameters[0].value.as_str()
        ),
        ("n", "1024")
    );
    assert_eq!(
        (last.bytes, last.flops),
        (Some(12 * 1_024), Some(2 * 1_024))
    );
    let ended = bench(&["saxpy", "--modes", "cold", "--format", "markdown"]);
    assert!(
        stdout(&ended).contains("| saxpy n=256 | cold | 30 | 10.00 µs |"),
        "{ended:#?}"
    );
}

fn a_page_has_the_results() {
    let folder = Folder::create();
    let page = folder.path("page.html");
    let ended = bench(&["--modes", "cold", "--html", &page.display().to_string()]);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    for name in ["saxpy n=256, cold", "saxpy n=1024, cold"] {
        assert!(page.contains(name), "{name}: {page}");
    }
}

fn a_baseline_is_kept_and_compared_with() {
    let name = format!("test-{}", std::process::id());
    let ended = bench(&["saxpy", "--save-baseline", &name]);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let kept = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix(&format!("baseline {name}: ")));
    let kept = kept.expect("the file is named").to_owned();
    let compare = |ns: &str| {
        let ended = program(&["--bench", "saxpy", "--baseline", &name])
            .env(KERNEL_NS, ns)
            .run();
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        stdout(&ended)
    };
    assert_eq!(compare("11000").matches("+10.0 % SLOWER").count(), 4);
    let asked = ["--bench", "saxpy", "--baseline", &name, "--fail-on-slower"];
    let fails = |ns: &str| program(&asked).env(KERNEL_NS, ns).run().status.code();
    assert_eq!((fails("11000"), fails("9000")), (Some(1), Some(0)));
    assert_eq!(compare("9000").matches("-10.0 % FASTER").count(), 4);
    assert_eq!(compare("10000").matches("+0.0 % SAME").count(), 4);
    fs::remove_file(kept).expect("it was kept");
    let ended = bench(&["saxpy", "--baseline", &name]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(
        ended
            .stderr
            .contains(&format!("`--save-baseline {name}` makes one")),
        "{ended:#?}"
    );
}

fn a_candidate_that_is_slower_or_wrong_fails() {
    let compare = |candidate: &str| {
        let ended = program(&["--bench", "twice"])
            .env(CANDIDATE, candidate)
            .run();
        (ended.status.code(), stdout(&ended), ended.stderr)
    };
    let (status, text, told) = compare("");
    assert_eq!(status, Some(0), "{told}");
    assert!(
        text.contains("cold  speed-up 2.000 (95 %: 2.000 to 2.000)"),
        "{text}"
    );
    assert!(
        text.contains("required, shown: speed-up above 1.5"),
        "{text}"
    );
    let (status, text, told) = compare("slower");
    assert_eq!(status, Some(1), "{text}");
    assert!(
        told.contains("FAILED: not shown: speed-up above 1.5: at least 1.000 cold"),
        "{told}"
    );
    let (status, text, told) = compare("wrong");
    assert_eq!(status, Some(1), "{text}");
    assert!(
        told.contains("FAILED: outputs DIFFER: 1 of 256 values"),
        "{told}"
    );
    assert!(!text.contains("cold"), "{text}");
}

fn a_benchmark_that_fails_does_not_stop_the_others() {
    let ended = program(&["--bench", "--modes", "cold"])
        .env(CANDIDATE, "failing")
        .run();
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    assert!(
        ended.stderr.contains("fails: FAILED: no input file"),
        "{ended:#?}"
    );
    assert!(stdout(&ended).contains("saxpy n=1024"), "{ended:#?}");
}

fn as_a_test_each_runs_once_and_outputs_are_compared() {
    let ended = program(&[]).run();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    let text = stdout(&ended);
    assert!(
        text.contains("saxpy n=256 ... ok\nsaxpy n=1024 ... ok\n"),
        "{text}"
    );
    assert!(
        text.ends_with("5 benchmarks ran once, 0 failed\n"),
        "{text}"
    );
    // Times mean nothing here, but outputs do.
    let slower = program(&[]).env(CANDIDATE, "slower").run();
    assert_eq!(slower.status.code(), Some(0), "{slower:#?}");
    let wrong = program(&[]).env(CANDIDATE, "wrong").run();
    assert_eq!(wrong.status.code(), Some(1), "{wrong:#?}");
    assert!(
        wrong
            .stderr
            .contains("twice_against_once: FAILED: outputs DIFFER"),
        "{wrong:#?}"
    );
}

fn wrong_arguments_are_refused_with_what_to_do() {
    let told = |arguments: &[&str]| {
        let ended = bench(arguments);
        assert_eq!(ended.status.code(), Some(2), "{ended:#?}");
        ended.stderr
    };
    assert!(told(&["--axis", "n=7"]).contains("`n` is never 7; there are 256, 1024"));
    assert!(told(&["--error", "0"]).contains("--error takes a percentage above 0"));
    assert!(told(&["--format", "xml"]).contains("[possible values: table, markdown, csv]"));
    assert!(told(&["--device", "9"]).contains("cannot use device 9"));
    assert!(told(&["--baseline", "../x"]).contains("a baseline's name has letters"));
}

/// cargo passes the same arguments to every target of a package.
fn arguments_for_other_targets_are_no_failure() {
    for (arguments, told) in [
        (&["nothing"][..], "no benchmark here has such a name"),
        (&["--axis", "m=1"], "no benchmark here has a parameter `m`"),
    ] {
        let ended = bench(arguments);
        assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
        assert!(ended.stderr.contains(told), "{ended:#?}");
    }
    let of_test_runners = [
        "-q",
        "--test-threads=1",
        "--show-output",
        "--color",
        "never",
    ];
    let ended = program(&[&of_test_runners[..], &["--skip", "saxpy"]].concat()).run();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert!(
        stdout(&ended).ends_with("3 benchmarks ran once, 0 failed\n"),
        "{ended:#?}"
    );
    // As cargo-nextest asks for the tests, and for the ignored ones.
    let ended = program(&["--list", "--format", "terse"]).run();
    assert!(
        stdout(&ended).starts_with("fails: benchmark\n"),
        "{ended:#?}"
    );
    let ended = program(&["--list", "--format", "terse", "--ignored"]).run();
    assert_eq!(
        (ended.status.code(), stdout(&ended).as_str()),
        (Some(0), "")
    );
}

fn a_profiled_function_in_a_benchmark_is_noted() {
    let note = "its events are a part of these times";
    // The harness leaves the profiler off unless it is asked for.
    let ended = program(&["--bench", "profiled", "--modes", "cold"]).run();
    assert!(!stdout(&ended).contains(note), "{ended:#?}");
    let asked = program(&["--bench", "profiled", "--modes", "cold"]).env("GPUPROF", "on");
    let ended = asked.run();
    assert!(stdout(&ended).contains(note), "{ended:#?}");
}
