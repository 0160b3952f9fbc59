//! Promise: the profile has the collectives of each step that launched them, in windows of
//! consecutive steps, however late they run and however long the run; none is lost. Merged, they
//! name the rank that is late in some steps.

mod program;

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, gpu_profile};
use gpuprof_report::merge::Merger;
use support::cupti_world::{Tier, tier};
use support::graph_capture::capture;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{assert_consistent, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_collective_counts_in_the_step_that_launched_it_however_late_it_runs,
        windows_double_their_width_and_lose_nothing,
        random_steps_have_the_collectives_that_they_launched,
        a_replayed_collective_counts_in_the_step_that_launched_the_graph,
        a_snapshot_has_the_step_in_progress_apart,
        steps_begin_anew_with_the_window,
        other_kernels_and_programs_without_steps_have_no_windows,
        the_late_rank_of_several_processes_is_named_with_its_steps,
    ]],
)
.with_program(program::run);

const PTX: &str = ".visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL(.param .u64 ns)";

struct Job {
    t: Tier,
    all_reduce: CudaFunction,
}

impl Job {
    fn new() -> Self {
        let t = tier();
        let module = t.gpu.context.load_module(Ptx::from_src(PTX));
        let all_reduce = module
            .and_then(|module| module.load_function("ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
        Self {
            t,
            all_reduce: all_reduce.expect("the simulated device has this kernel"),
        }
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.t.gpu.stream
    }

    fn all_reduce(&self, ns: u64) {
        let mut launch = self.stream().launch_builder(&self.all_reduce);
        launch.arg(&ns);
        // SAFETY: `ns` is the kernel's only parameter.
        unsafe { launch.launch(LaunchConfig::for_num_elems(1)) }.expect("launch");
        // A launch at the time at which a step ends would belong to the next.
        self.t.cpu(1);
    }
}

#[gpu_profile]
fn train(job: &Job, stream: &Arc<CudaStream>, host_ns: u64, collectives: &[u64]) {
    job.t.cpu(host_ns);
    job.t.gpu.kernel_on(stream, 50);
    collectives.iter().for_each(|ns| job.all_reduce(*ns));
}

/// First step, steps, wall time, collectives and their time of each window.
fn windows(profile: &Profile) -> Vec<(u64, u64, u64, u64, u64)> {
    let windows = profile.steps.iter().flat_map(|steps| &steps.windows);
    let rows = windows.map(|of| {
        (
            of.first_step,
            of.steps,
            of.wall_ns,
            of.collectives,
            of.collective_ns,
        )
    });
    rows.collect()
}

fn open(profile: &Profile) -> (u64, u64) {
    let steps = profile.steps.as_ref().expect("steps");
    (steps.open_collectives, steps.open_collective_ns)
}

fn a_collective_counts_in_the_step_that_launched_it_however_late_it_runs() {
    let job = Job::new();
    let session = job.t.session();
    // The first runs long after the host has ended the third step.
    train(&job, job.stream(), 100, &[1_000_000]);
    gpuprof::step();
    train(&job, job.stream(), 200, &[10, 20]);
    gpuprof::step();
    train(&job, job.stream(), 300, &[]);
    gpuprof::step();
    train(&job, job.stream(), 400, &[7]);
    let profile = job.t.finish(session);
    assert_eq!(
        windows(&profile),
        [
            (1, 1, 101, 1, 1_000_000),
            (2, 1, 202, 2, 30),
            (3, 1, 300, 0, 0)
        ]
    );
    assert_eq!(open(&profile), (1, 7));
}

fn windows_double_their_width_and_lose_nothing() {
    let job = Job::new();
    let session = job.t.session();
    for step in 1..=150 {
        train(&job, job.stream(), 99, &[step]);
        gpuprof::step();
        if step % 40 == 0 {
            // What has come so far is in narrower windows.
            job.t.synchronize();
            let read = |profile: &Profile| windows(profile).iter().map(|of| of.3).sum::<u64>();
            until(|| read(&session.snapshot()) == step);
        }
    }
    let profile = job.t.finish(session);
    let windows = windows(&profile);
    assert_eq!(windows.len(), 38);
    for (at, window) in (0..).zip(&windows[..37]) {
        let (first, of_width) = (4 * at + 1, 4 * (4 * at + 1) + 6);
        assert_eq!(window.0, first);
        assert_eq!((window.1, window.3, window.4), (4, 4, of_width));
    }
    let last = windows[37];
    assert_eq!((last.0, last.1, last.3, last.4), (149, 2, 2, 149 + 150));
    assert_eq!(open(&profile), (0, 0));
}

fn random_steps_have_the_collectives_that_they_launched() {
    let job = Job::new();
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let session = job.t.session();
        let mut steps: Vec<Vec<u64>> = Vec::new();
        for _ in 0..random.usize(1..300) {
            let launches = random.usize(0..4);
            let times: Vec<u64> = (0..launches).map(|_| random.u64(1..5_000)).collect();
            train(&job, job.stream(), random.u64(1..1_000), &times);
            if random.u8(0..20) == 0 {
                job.t.synchronize();
                assert_consistent(&gpuprof::collect());
            }
            steps.push(times);
            gpuprof::step();
        }
        let after: Vec<u64> = (0..random.usize(0..3)).map(|_| random.u64(1..99)).collect();
        train(&job, job.stream(), 1, &after);
        let profile = job.t.finish(session);
        let width = steps.len().div_ceil(64).next_power_of_two();
        let expected = steps.chunks(width).map(|window| {
            let times = window.iter().flatten();
            (
                window.len() as u64,
                times.clone().count() as u64,
                times.sum(),
            )
        });
        let found = windows(&profile).into_iter().map(|of| (of.1, of.3, of.4));
        let any = steps.iter().any(|times| !times.is_empty()) || !after.is_empty();
        let expected: Vec<_> = expected.filter(|_| any).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected, "seed {seed}");
        assert_eq!(
            open(&profile),
            (after.len() as u64, after.iter().sum()),
            "seed {seed}"
        );
    }
}

fn a_replayed_collective_counts_in_the_step_that_launched_the_graph() {
    let job = Job::new();
    let graph = capture(job.stream(), || {
        job.all_reduce(30);
        job.all_reduce(40);
    });
    let session = job.t.session();
    for launches in [1, 0, 2] {
        for _ in 0..launches {
            graph.launch().expect("launch");
            job.t.cpu(1);
        }
        gpuprof::step();
    }
    let profile = job.t.finish(session);
    let of_steps: Vec<_> = windows(&profile).iter().map(|of| (of.3, of.4)).collect();
    assert_eq!(of_steps, [(2, 70), (0, 0), (4, 140)]);
}

fn a_snapshot_has_the_step_in_progress_apart() {
    let job = Job::new();
    let session = job.t.session();
    gpuprof::step();
    for _ in 0..2 {
        train(&job, job.stream(), 9, &[100]);
        job.t.synchronize();
        until(|| open(&session.snapshot()) == (1, 100));
        gpuprof::step();
        // Now it is of a step that has ended, without another record.
        let profile = session.snapshot();
        assert_eq!(open(&profile), (0, 0));
        assert_consistent(&profile);
    }
    let profile = job.t.finish(session);
    let of_steps: Vec<_> = windows(&profile).iter().map(|of| (of.3, of.4)).collect();
    assert_eq!(of_steps, [(0, 0), (1, 100), (1, 100)]);
}

fn steps_begin_anew_with_the_window() {
    let job = Job::new();
    let session = job.t.session();
    train(&job, job.stream(), 9, &[100]);
    gpuprof::step();
    train(&job, job.stream(), 9, &[1_000]);
    gpuprof::reset();
    job.t.cpu(1);
    train(&job, job.stream(), 9, &[10_000]);
    gpuprof::step();
    let profile = job.t.finish(session);
    let of_steps: Vec<_> = windows(&profile)
        .iter()
        .map(|of| (of.0, of.3, of.4))
        .collect();
    assert_eq!(of_steps, [(1, 1, 10_000)]);
}

fn other_kernels_and_programs_without_steps_have_no_windows() {
    let job = Job::new();
    let session = job.t.session();
    train(&job, job.stream(), 9, &[]);
    gpuprof::step();
    let profile = job.t.finish(session);
    assert_eq!((windows(&profile), open(&profile)), (vec![], (0, 0)));
    let session = job.t.session();
    train(&job, job.stream(), 9, &[100]);
    assert_eq!(job.t.finish(session).steps, None);
    // Without CUPTI collectives are not told apart.
    let session = job.t.w.session();
    train(&job, job.stream(), 9, &[100]);
    gpuprof::step();
    let profile = job.t.w.finish(session);
    assert_eq!((windows(&profile), open(&profile)), (vec![], (0, 0)));
}

fn the_late_rank_of_several_processes_is_named_with_its_steps() {
    let mut merger = Merger::default();
    for rank in ["0", "1", "2"] {
        let program = Program::new("rank").env("GPUPROF_CUPTI", "on");
        let (ended, profile) = program.env("RANK", rank).profiled();
        assert!(ended.status.success(), "{}", ended.stderr);
        assert_consistent(&profile);
        merger.add(&profile);
    }
    let job = merger.finish();
    let evidence = job.findings.iter().map(|finding| &*finding.evidence);
    let expected = "rank 1 was late in steps 41 to 60: the others waited 300 ns a step for it in \
                    AllReduce";
    assert_eq!(evidence.collect::<Vec<_>>(), [expected]);
    let ranks = job.ranks.expect("merged");
    let found = ranks
        .late_steps
        .iter()
        .map(|part| (part.first_step, part.late_ns));
    assert_eq!(found.collect::<Vec<_>>(), [(41, 20 * 300)]);
    let times = ranks
        .collective_processes
        .iter()
        .map(|of| (of.window_ns[0], of.window_ns[20]));
    assert_eq!(times.collect::<Vec<_>>(), [(40, 640), (40, 40), (40, 640)]);
}
