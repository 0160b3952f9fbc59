//! Promise: the profile has the collectives of each step that launched them, in windows of
//! consecutive steps, however late they run and however long the run; none is lost.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::{Profile, gpu_profile};
use support::cupti_world::{Tier, tier};
use support::graph_capture::capture;
use support::suite::Module;
use support::tests;
use support::{assert_consistent, until};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_collective_counts_in_the_step_that_launched_it_however_late_it_runs,
        windows_double_their_width_and_lose_nothing,
        a_replayed_collective_counts_in_the_step_that_launched_the_graph,
        a_snapshot_has_the_step_in_progress_apart,
        steps_begin_anew_with_the_window,
        other_kernels_and_programs_without_steps_have_no_windows,
    ]],
);

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
