//! Promise: `GPUPROF_STACKS=on` works for a program as it is: the report at exit has the lines, it
//! says how many launches were sampled, and a budget bounds them, for each window anew.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{KernelStats, LaunchStacks, OTHER_STACKS};
use gpuprof::{Profile, gpu_profile};
use support::cupti_from_environment;
use support::cupti_world::builder;
use support::program::{Ended, Program};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_report_names_lines_and_what_to_annotate,
        the_budget_bounds_how_many_launches_are_sampled,
        the_first_launches_of_each_kernel_on_a_path_are_sampled,
        a_reset_begins_with_first_launches_anew,
        nothing_is_sampled_after_a_session,
        stacks_beyond_the_limit_are_counted_together,
        where_cupti_is_off_the_report_says_what_is_missing,
    ]],
)
.with_program(program);

/// The first launches of a kernel on a call path, which are sampled in any case, and many more.
const FIRST: u64 = 4;
const MANY: u64 = 3_000;
/// What a window begins with, for launches beyond the first ones.
const CREDIT_US: u64 = 100;
/// Launches before a reset.
const BEFORE: u64 = 2_000;

/// Two to the power of it are more distinct stacks than are remembered.
const LEVELS: u32 = 13;
/// Those of a kernel in a function that are told apart.
const KNOWN: u64 = 1_024;

struct Spin {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    other: CudaFunction,
}

impl Spin {
    fn launch(&self) {
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&0_u64);
        let config = LaunchConfig::for_num_elems(1);
        // SAFETY: the duration is the kernel's only parameter.
        unsafe { launch.launch(config) }.expect("a launch");
    }

    fn launch_other(&self) {
        let mut launch = self.stream.launch_builder(&self.other);
        launch.arg(&0_u32).arg(&0_f32).arg(&0_u64).arg(&0_u64);
        let config = LaunchConfig::for_num_elems(1);
        // SAFETY: these are saxpy's parameters, for no element.
        unsafe { launch.launch(config) }.expect("a launch");
    }
}

#[gpu_profile(stream = spin.stream)]
fn many(spin: &Spin) {
    (0..MANY).for_each(|_| spin.launch());
}

#[gpu_profile(stream = spin.stream)]
fn both(spin: &Spin) {
    (0..MANY).for_each(|_| spin.launch());
    (0..FIRST).for_each(|_| spin.launch_other());
}

#[gpu_profile(stream = spin.stream)]
fn repeated(spin: &Spin, count: u64) {
    (0..count).for_each(|_| spin.launch());
}

/// Launches from a stack of its own for each number.
#[inline(never)]
fn from_many_stacks(spin: &Spin, levels: u32, number: u32) -> u32 {
    match (levels, number & 1) {
        (0, _) => {
            spin.launch();
            0
        }
        (_, 0) => from_many_stacks(spin, levels - 1, number >> 1).max(1),
        _ => from_many_stacks(spin, levels - 1, number >> 1).min(2),
    }
}

#[gpu_profile(stream = spin.stream)]
fn all_stacks(spin: &Spin) {
    for number in 0..1 << LEVELS {
        from_many_stacks(spin, LEVELS, number);
    }
}

/// Between two sessions it launches from more stacks than are remembered.
fn print_lines_of_a_second_session(spin: &Spin) {
    let session = |launch: &dyn Fn()| {
        let session = builder().stacks(true).start().expect("no other session");
        launch();
        spin.stream.synchronize().expect("synchronize");
        session.finish()
    };
    session(&|| spin.launch());
    for number in 0..1 << LEVELS {
        from_many_stacks(spin, LEVELS, number);
    }
    // From a stack that is not known yet.
    let second = session(&|| assert_eq!(from_many_stacks(spin, 1, 0), 1));
    for line in &stacks(&second).unattributed {
        println!("{}", line.function);
    }
}

/// A clock by which 1 µs passes from one reading to the next.
extern "C" fn microseconds() -> u64 {
    static NS: AtomicU64 = AtomicU64::new(0);
    NS.fetch_add(1_000, Relaxed)
}

fn program(scenario: &str) -> ExitCode {
    match scenario {
        // A sample takes no time on this clock.
        "stacks" | "sessions" => drop(support::world()),
        // A sample takes 1 µs.
        "budget" => {
            assert!(gpuprof::__private::drive_clock(microseconds));
            simcuda::install().expect("the simulated device is built");
        }
        _ => drop(simcuda::install().expect("the simulated device is built")),
    }
    cupti_from_environment::install();
    let context = CudaContext::new(0).expect("a context");
    let load = |ptx, name| {
        let module = context.load_module(Ptx::from_src(ptx));
        let kernel = module.expect("a module").load_function(name);
        kernel.expect("a kernel")
    };
    let spin = Spin {
        stream: context.new_stream().expect("a stream"),
        kernel: load(kernels::SPIN_PTX, kernels::SPIN),
        other: load(kernels::SAXPY_PTX, kernels::SAXPY),
    };
    match scenario {
        "many" | "budget" => {
            many(&spin);
            spin.launch();
        }
        "both" => {
            both(&spin);
        }
        "reset" => {
            repeated(&spin, BEFORE);
            context.synchronize().expect("synchronize");
            gpuprof::reset();
            repeated(&spin, FIRST + 1);
        }
        "sessions" => print_lines_of_a_second_session(&spin),
        "stacks" => {
            all_stacks(&spin);
        }
        other => panic!("{other}"),
    }
    context.synchronize().expect("synchronize");
    ExitCode::SUCCESS
}

fn ended(scenario: &str, settings: &[(&str, &str)]) -> (Ended, Profile) {
    let program = Program::new(scenario).env("GPUPROF_STACKS", "on");
    let with = |program: Program, (name, value): &(&str, &str)| program.env(name, value);
    settings.iter().fold(program, with).profiled()
}

fn stacks(profile: &Profile) -> &LaunchStacks {
    let notes = &profile.diagnostics.notes;
    let stacks = profile.stacks.as_ref();
    stacks.unwrap_or_else(|| panic!("no stacks: {notes:?}"))
}

fn the_report_names_lines_and_what_to_annotate() {
    let (ended, profile) = ended("many", &[("GPUPROF_CUPTI", "on")]);
    let [line] = &stacks(&profile).unattributed[..] else {
        panic!("{:?}", stacks(&profile));
    };
    let place = line.place().expect("line tables");
    assert!(
        place.contains("/tests/suite/cupti/stacks_at_exit.rs:"),
        "{place}"
    );
    assert_eq!(line.calls, 1);
    let advice = "annotate what launches outside any profiled function:";
    let mut shown = ended
        .stderr
        .lines()
        .skip_while(|shown| !shown.starts_with(advice));
    let shown = format!(
        "{}{}",
        shown.next().expect("advice"),
        shown.next().unwrap_or_default()
    );
    assert!(shown.contains(&place), "{shown}");
}

/// The calls of a kernel and those of them that were sampled.
fn counts(kernel: &KernelStats) -> (u64, u64) {
    let sampled = kernel.launch_lines.iter().map(|line| line.calls).sum();
    (kernel.times.calls, sampled)
}

fn the_budget_bounds_how_many_launches_are_sampled() {
    let (ended, profile) = ended("budget", &[("GPUPROF_CUPTI", "on")]);
    let [kernel] = &profile.kernels[..] else {
        panic!("{:?}", profile.kernels);
    };
    let (_, of_kernel) = counts(kernel);
    let stacks = stacks(&profile);
    assert_eq!((stacks.calls, stacks.sampled_calls), (MANY + 1, of_kernel));
    // 1 % of the time, which a thread of gpuprof's own may lengthen by a reading of the clock.
    let paid = FIRST + CREDIT_US + profile.wall_ns / 100_000;
    assert!((CREDIT_US..=paid + 1).contains(&of_kernel), "{stacks:?}");
    let shown = format!("{of_kernel} of 3,001 kernels were sampled");
    assert!(ended.stderr.contains(&shown), "{}", ended.stderr);
}

fn the_first_launches_of_each_kernel_on_a_path_are_sampled() {
    let (_, profile) = ended("both", &[("GPUPROF_CUPTI", "on")]);
    let of = |calls| {
        let mut kernels = profile.kernels.iter().map(counts);
        kernels.find(|(all, _)| *all == calls)
    };
    assert_eq!(of(FIRST), Some((FIRST, FIRST)));
    assert!(of(MANY).is_some_and(|(_, sampled)| sampled < MANY / 2));
}

fn a_reset_begins_with_first_launches_anew() {
    let (_, profile) = ended("reset", &[("GPUPROF_CUPTI", "on")]);
    let counts: Vec<_> = profile.kernels.iter().map(counts).collect();
    // The credit that a window begins with pays for one more.
    assert_eq!(counts, [(FIRST + 1, FIRST + 1)]);
}

fn last_line(text: &str) -> Option<&str> {
    let line = text.lines().next_back()?;
    Some(line.rsplit("::").next().unwrap_or(line))
}

fn nothing_is_sampled_after_a_session() {
    let ended = Program::new("sessions").env("GPUPROF_REPORT", "none").run();
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(last_line(&stdout), Some("launch"), "{ended:?}");
}

fn stacks_beyond_the_limit_are_counted_together() {
    let (ended, profile) = ended("stacks", &[("GPUPROF_CUPTI", "on")]);
    let [kernel] = &profile.kernels[..] else {
        panic!("{:?}", profile.kernels);
    };
    let lines = kernel.launch_lines.iter();
    let lines: Vec<(&str, u64)> = lines.map(|of| (of.function.as_str(), of.calls)).collect();
    let launch = concat!(module_path!(), "::Spin::launch");
    assert_eq!(
        lines,
        [(OTHER_STACKS, (1 << LEVELS) - KNOWN), (launch, KNOWN)]
    );
    assert_eq!(stacks(&profile).sampled_calls, 1 << LEVELS);
    let note = "more than 4096 distinct stacks of launches, or 1024 of a kernel";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

fn where_cupti_is_off_the_report_says_what_is_missing() {
    let (ended, profile) = ended("many", &[("GPUPROF_CUPTI", "off")]);
    assert_eq!(profile.stacks, None);
    let note = "GPUPROF_CUPTI is off, whose callbacks say when something is launched";
    assert_eq!(ended.stderr.matches(note).count(), 1, "{}", ended.stderr);
}
