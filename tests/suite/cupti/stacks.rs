//! Promise: with `GPUPROF_STACKS=on` each kernel has the source lines of the program that launched
//! it, also outside any profiled function; launches that are not sampled are counted.

use std::path::Path;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchArgs, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpuprof::profile::{LaunchLine, LaunchStacks, add_lines};
use gpuprof::{Profile, Session, gpu_profile};
use support::cupti_world::{Tier, builder, tier, work};
use support::graph_capture::capture;
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_kernel_has_the_line_and_the_function_that_launched_it,
        two_lines_of_one_kernel_have_their_counts,
        unattributed_work_has_the_lines_to_annotate,
        a_helper_that_launches_has_its_callers,
        a_line_in_a_closure_is_that_of_its_function,
        a_recursion_deeper_than_the_bound_has_its_line,
        a_replayed_kernel_has_the_line_that_captured_it,
        launches_of_all_threads_are_sampled,
        a_session_has_the_launches_of_its_own_window,
        nothing_is_sampled_unless_it_is_asked_for,
    ]],
);

/// Every launch in this file is at a line that is the program's: cudarc's and gpuprof's frames are
/// inside of it. From the folder of the package on.
fn file() -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).file_name();
    let package = package.expect("a folder").to_string_lossy();
    format!("{package}/tests/suite/cupti/stacks.rs")
}

/// The arguments of a kernel, so that a test can launch it at a line of its own.
struct Saxpy {
    stream: Arc<CudaStream>,
    function: CudaFunction,
    _buffer: CudaSlice<f32>,
    pointer: u64,
    scale: f32,
    len: u32,
}

const ONE_BLOCK: LaunchConfig = LaunchConfig {
    grid_dim: (1, 1, 1),
    block_dim: (32, 1, 1),
    shared_mem_bytes: 0,
};

impl Saxpy {
    fn new(t: &Tier) -> Self {
        let stream = Arc::clone(&t.gpu.stream);
        let module = t.gpu.context.load_module(Ptx::from_src(kernels::SAXPY_PTX));
        let function = module.expect("a module").load_function(kernels::SAXPY);
        let buffer = stream.alloc_zeros(4).expect("memory");
        let pointer = buffer.device_ptr(&stream).0;
        t.sim.set_kernel_ns(kernels::SAXPY, 1_000);
        t.synchronize();
        Self {
            stream,
            function: function.expect("a kernel"),
            _buffer: buffer,
            pointer,
            scale: 1.0,
            len: 4,
        }
    }

    fn arguments<'a>(&'a self, stream: &'a CudaStream) -> LaunchArgs<'a> {
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&self.len).arg(&self.scale);
        launch.arg(&self.pointer).arg(&self.pointer);
        launch
    }
}

/// Launches a kernel at this line, and gives its number.
// Otherwise the line would be one of the macro's.
#[collapse_debuginfo(yes)]
macro_rules! launch {
    ($saxpy:expr, $stream:expr) => {{
        // SAFETY: these are saxpy's parameters, and the buffer has as many elements.
        unsafe { $saxpy.arguments($stream).launch(ONE_BLOCK) }.expect("a launch");
        line!()
    }};
    ($saxpy:expr) => {
        launch!($saxpy, &$saxpy.stream)
    };
}

fn session(t: &Tier) -> Session {
    t.cpu(1_000);
    builder().stacks(true).start().expect("no other session")
}

fn stacks(profile: &Profile) -> &LaunchStacks {
    let notes = &profile.diagnostics.notes;
    let stacks = profile.stacks.as_ref();
    stacks.unwrap_or_else(|| panic!("no stacks: {notes:?}"))
}

/// A line of this file, as a function of this name has it.
fn line(function: &str, line: u32, calls: u64) -> LaunchLine {
    let mut of = LaunchLine::default();
    function.clone_into(&mut of.function);
    (of.file, of.line) = (Some(file()), Some(line));
    (of.calls, of.total_ns) = (calls, 1_000 * calls);
    of
}

/// Lines by whomever they are called, without the paths of their functions, which line tables alone
/// have for some only.
fn short(lines: &[LaunchLine]) -> Vec<LaunchLine> {
    let mut short = Vec::new();
    for line in lines {
        let mut line = line.clone();
        line.function = last(&line.function).to_owned();
        line.caller = None;
        add_lines(&mut short, &[line]);
    }
    short
}

fn last(path: &str) -> &str {
    path.rsplit_once("::").map_or(path, |(_, name)| name)
}

fn unattributed(profile: &Profile) -> Vec<LaunchLine> {
    short(&stacks(profile).unattributed)
}

/// The lines of the one kernel of the program.
fn of_program(profile: &Profile) -> Vec<LaunchLine> {
    let [kernel] = &profile.kernels[..] else {
        panic!("{:?}", profile.kernels);
    };
    short(&kernel.launch_lines)
}

/// The lines of the one kernel of a function.
fn of(profile: &Profile, name: &str) -> Vec<LaunchLine> {
    let [kernel] = &work(profile, name).kernels[..] else {
        panic!("{name} has several kernels, or none");
    };
    short(&kernel.launch_lines)
}

#[gpu_profile(stream = saxpy.stream)]
fn annotated(saxpy: &Saxpy) -> u32 {
    launch!(saxpy)
}

fn helper(saxpy: &Saxpy) -> u32 {
    launch!(saxpy)
}

#[gpu_profile(stream = saxpy.stream)]
fn outer(saxpy: &Saxpy) -> u32 {
    annotated(saxpy);
    helper(saxpy)
}

fn a_kernel_has_the_line_and_the_function_that_launched_it() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let (of_annotated, of_helper) = (annotated(&saxpy), outer(&saxpy));
    let profile = t.finish(session);
    assert_eq!(
        of(&profile, "annotated"),
        [line("annotated", of_annotated, 2)]
    );
    assert_eq!(of(&profile, "outer"), [line("helper", of_helper, 1)]);
    assert_eq!(
        of_program(&profile),
        [
            line("annotated", of_annotated, 2),
            line("helper", of_helper, 1)
        ]
    );
    let stacks = stacks(&profile);
    assert_eq!((stacks.calls, stacks.sampled_calls), (3, 3));
    assert!(stacks.unattributed.is_empty());
}

#[gpu_profile(stream = saxpy.stream)]
fn two_lines(saxpy: &Saxpy) -> (u32, u32) {
    let first = launch!(saxpy);
    for _ in 0..4 {
        launch!(saxpy);
    }
    (first, line!() - 2)
}

fn two_lines_of_one_kernel_have_their_counts() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let (once, often) = two_lines(&saxpy);
    let profile = t.finish(session);
    let expected = [line("two_lines", often, 4), line("two_lines", once, 1)];
    assert_eq!(of(&profile, "two_lines"), expected);
}

fn unattributed_work_has_the_lines_to_annotate() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let of_annotated = annotated(&saxpy);
    let outside = [helper(&saxpy), helper(&saxpy)];
    t.gpu
        .stream
        .memset_zeros(&mut t.gpu.stream.alloc_zeros::<u8>(1).expect("memory"))
        .expect("a memset");
    let of_memset = line!() - 2;
    let profile = t.finish(session);
    let unattributed = unattributed(&profile);
    let shown: Vec<(String, u64)> = unattributed
        .iter()
        .map(|line| (line.to_string(), line.calls))
        .collect();
    let here = "unattributed_work_has_the_lines_to_annotate";
    let expected = [
        (line("helper", outside[0], 2).to_string(), 2),
        (format!("{here} at {}:{of_memset}", file()), 2),
    ];
    assert_eq!(shown, expected);
    assert!(unattributed.iter().all(LaunchLine::is_of_program));
    assert_eq!(unattributed[0].total_ns, 2_000);
    assert_eq!(
        of(&profile, "annotated"),
        [line("annotated", of_annotated, 1)]
    );
}

fn first_caller(saxpy: &Saxpy) -> u32 {
    helper(saxpy);
    line!() - 1
}

fn second_caller(saxpy: &Saxpy) -> u32 {
    (0..2).for_each(|_| assert!(helper(saxpy) > 0));
    line!() - 1
}

fn a_helper_that_launches_has_its_callers() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let (first, second) = (first_caller(&saxpy), second_caller(&saxpy));
    let profile = t.finish(session);
    let lines = profile.kernels[0].launch_lines.iter();
    let callers: Vec<(&str, u64)> = lines
        .map(|line| (last(line.caller.as_deref().expect("a caller")), line.calls))
        .collect();
    let file = file();
    let expected = [
        (format!("second_caller at {file}:{second}"), 2),
        (format!("first_caller at {file}:{first}"), 1),
    ];
    let expected = expected
        .each_ref()
        .map(|(name, calls)| (name.as_str(), *calls));
    assert_eq!(callers, expected);
}

fn a_line_in_a_closure_is_that_of_its_function() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let launched = gpuprof::with_stream(&saxpy.stream, || [1, 2].map(|_| launch!(saxpy)));
    let profile = t.finish(session);
    let name = "a_line_in_a_closure_is_that_of_its_function";
    assert_eq!(of_program(&profile), [line(name, launched[0], 2)]);
}

#[inline(never)]
fn descend(saxpy: &Saxpy, depth: u32) -> u32 {
    match depth {
        0 => launch!(saxpy),
        _ => descend(saxpy, depth - 1).max(1),
    }
}

fn a_recursion_deeper_than_the_bound_has_its_line() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    // Two stacks that differ only beyond the recorded frames.
    let launched = [descend(&saxpy, 300), descend(&saxpy, 301)];
    let profile = t.finish(session);
    assert_eq!(of_program(&profile), [line("descend", launched[0], 2)]);
}

#[gpu_profile]
fn captured(saxpy: &Saxpy, stream: &Arc<CudaStream>) -> u32 {
    launch!(saxpy, stream)
}

fn a_replayed_kernel_has_the_line_that_captured_it() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let stream = t.gpu.another_stream();
    let session = session(&t);
    let (mut inside, mut outside) = (0, 0);
    let graph = capture(&stream, || {
        inside = captured(&saxpy, &stream);
        outside = launch!(saxpy, &stream);
    });
    for _ in 0..3 {
        graph.launch().expect("a launch");
    }
    let profile = t.finish(session);
    let here = "a_replayed_kernel_has_the_line_that_captured_it";
    assert_eq!(of(&profile, "captured"), [line("captured", inside, 3)]);
    assert_eq!(
        of_program(&profile),
        [line("captured", inside, 3), line(here, outside, 3)]
    );
    assert_eq!(unattributed(&profile), [line(here, outside, 3)]);
}

fn launches_of_all_threads_are_sampled() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let session = session(&t);
    let launched = std::thread::scope(|scope| {
        let threads = [(); 3].map(|()| scope.spawn(|| annotated(&saxpy)));
        threads.map(|thread| thread.join().expect("it ends"))
    });
    let profile = t.finish(session);
    assert_eq!(
        of(&profile, "annotated"),
        [line("annotated", launched[0], 3)]
    );
}

fn a_session_has_the_launches_of_its_own_window() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let first = session(&t);
    let of_annotated = annotated(&saxpy);
    assert_eq!(
        of(&t.finish(first), "annotated"),
        [line("annotated", of_annotated, 1)]
    );
    let second = session(&t);
    helper(&saxpy);
    t.cpu(1_000);
    gpuprof::reset();
    t.cpu(1_000);
    let of_helper = helper(&saxpy);
    let profile = t.finish(second);
    assert_eq!(of_program(&profile), [line("helper", of_helper, 1)]);
    assert_eq!(unattributed(&profile), [line("helper", of_helper, 1)]);
}

fn nothing_is_sampled_unless_it_is_asked_for() {
    let t = tier();
    let saxpy = Saxpy::new(&t);
    let with = session(&t);
    annotated(&saxpy);
    drop(t.finish(with));
    let session = t.session();
    annotated(&saxpy);
    helper(&saxpy);
    let profile = t.finish(session);
    assert_eq!(profile.stacks, None);
    assert!(of(&profile, "annotated").is_empty() && of_program(&profile).is_empty());
    let json = serde_json::to_string(&profile).expect("JSON");
    for field in ["stacks", "launch_lines"] {
        assert!(!json.contains(&format!("\"{field}\":")), "{field}");
    }
}
