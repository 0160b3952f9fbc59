//! Promise: what is sampled by default is covered by its interval, and right on average, in the
//! loads of docs/sampling.md when they run as a program on the simulated device.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::profile::Estimate;
use gpuprof::{Profile, Session, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent};

use self::loads::{LOADS, Load, LoadCall};
use crate::automatic_rate::{EVENT_OVERHEAD, settle, with_event_times};

#[allow(dead_code)]
#[path = "../../../gpuprof-runtime/src/stats/sampling_checks/loads.rs"]
mod loads;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        intervals_hold_the_truth_and_estimates_are_right_on_average
    ]],
);

const SEEDS: u64 = 5;
/// Outermost calls of each row, and their time, ns.
const CALLS: u64 = 600;
const NS: u64 = 20_000;

/// Calls a load's function by its number.
fn call(w: &World, stream: &Arc<CudaStream>, load: &Load, next: &LoadCall) {
    let function = [a, b, c, d][load.rows[next.row].site as usize];
    function(w, stream, load, next, next.row);
}

fn body(w: &World, stream: &Arc<CudaStream>, load: &Load, this: &LoadCall) {
    if this.own_ns > 0 {
        w.gpu.kernel_on(stream, this.own_ns);
    }
    (this.nested.iter()).for_each(|next| call(w, stream, load, next));
}

#[gpu_profile(label = row)]
fn a(w: &World, stream: &Arc<CudaStream>, load: &Load, this: &LoadCall, row: usize) {
    body(w, stream, load, this);
}

#[gpu_profile(label = row)]
fn b(w: &World, stream: &Arc<CudaStream>, load: &Load, this: &LoadCall, row: usize) {
    body(w, stream, load, this);
}

#[gpu_profile(label = row)]
fn c(w: &World, stream: &Arc<CudaStream>, load: &Load, this: &LoadCall, row: usize) {
    body(w, stream, load, this);
}

#[gpu_profile(label = row)]
fn d(w: &World, stream: &Arc<CudaStream>, load: &Load, this: &LoadCall, row: usize) {
    body(w, stream, load, this);
}

/// The calls of a run.
fn calls(load: &Load, seed: u64) -> Vec<LoadCall> {
    let mut random = fastrand::Rng::with_seed(seed);
    let outermost = load.rows.iter().filter(|row| row.parent.is_none()).count();
    let of = CALLS * outermost as u64;
    (0..of)
        .map(|at| (load.call)(at, of, NS, &mut random))
        .collect()
}

/// A thread that makes the calls it is sent, one after the other.
fn work(w: &World, load: &Load, seed: u64, next: Receiver<LoadCall>, done: Sender<()>) {
    gpuprof::__private::set_random_seed(seed);
    for next in next {
        call(w, &w.gpu.stream, load, &next);
        done.send(()).expect("the main thread waits");
    }
}

fn measure(w: &World, load: &Load, seed: u64) -> (Profile, Vec<u64>) {
    let session = Session::builder().start().expect("start");
    let mut truth_ns = vec![0; load.rows.len()];
    thread::scope(|scope| {
        let threads: Vec<_> = (0..load.threads)
            .map(|number| {
                let ((send, next), (done, wait)) = (channel(), channel());
                scope.spawn(move || work(w, load, 100 * seed + number, next, done));
                (send, wait)
            })
            .collect();
        for (at, call) in calls(load, seed).into_iter().enumerate() {
            add_truth(&call, &mut truth_ns);
            let (send, wait) = &threads[at % threads.len()];
            send.send(call).expect("the thread runs");
            wait.recv().expect("the thread runs");
            if at % 16 == 15 {
                settle(w, &session);
            }
        }
    });
    (w.finish(session), truth_ns)
}

/// Adds the time of each call with its own events to that of its row. Returns that without.
fn add_truth(call: &LoadCall, truth_ns: &mut [u64]) -> u64 {
    let nested: u64 = (call.nested.iter())
        .map(|call| add_truth(call, truth_ns))
        .sum();
    truth_ns[call.row] += call.own_ns + nested + EVENT_OVERHEAD;
    call.own_ns + nested
}

/// Estimates with the truth about them.
#[derive(Default)]
struct Found {
    all: u32,
    estimated: u32,
    covered: u32,
    relative_errors: f64,
}

impl Found {
    fn add(&mut self, estimate_ns: u64, truth_ns: u64, estimate: Option<&Estimate>) {
        let error_ns = estimate_ns.abs_diff(truth_ns);
        let half_ns = estimate.map_or(Some(0), |estimate| estimate.total_ci95_ns);
        self.all += 1;
        self.estimated += u32::from(estimate.is_some());
        self.covered += u32::from(half_ns.is_none_or(|half_ns| error_ns <= half_ns + 2));
        self.relative_errors += (estimate_ns as f64 - truth_ns as f64) / truth_ns as f64;
    }
}

fn intervals_hold_the_truth_and_estimates_are_right_on_average() {
    let w = with_event_times();
    let mut all = Found::default();
    for load in LOADS {
        let mut found = Found::default();
        for seed in 0..SEEDS {
            let (profile, truth_ns) = measure(&w, load, seed);
            assert_consistent(&profile);
            for row in &profile.tree {
                let label = row.label.as_ref().expect("a row");
                let truth_ns = truth_ns[label.parse::<usize>().expect("its number")];
                let total_ns = row.gpu_total_ns.unwrap_or(0);
                found.add(total_ns, truth_ns, row.gpu_estimate.as_ref());
            }
            for function in &profile.functions {
                let Some(gpu) = function.gpu.as_ref() else {
                    continue;
                };
                let truth_ns = of_function(load, &function.name, &truth_ns);
                found.add(gpu.times.total_ns, truth_ns, gpu.estimate.as_ref());
            }
        }
        let mean = found.relative_errors / f64::from(found.all);
        println!(
            "{}: {} of {} covered, {} estimated, off by {mean:.3}",
            load.name, found.covered, found.all, found.estimated
        );
        assert!(found.estimated > 0, "{}", load.name);
        all.all += found.all;
        all.covered += found.covered;
        all.relative_errors += found.relative_errors;
    }
    // 70 independent runs: 95 % less three standard deviations.
    let covered = f64::from(all.covered) / f64::from(all.all);
    assert!(covered > 0.87, "{covered}");
    let mean = all.relative_errors / f64::from(all.all);
    assert!(mean.abs() < 0.02, "{mean}");
}

/// The time of a function's outermost calls.
fn of_function(load: &Load, name: &str, truth_ns: &[u64]) -> u64 {
    let site = ["a", "b", "c", "d"]
        .iter()
        .position(|known| name.ends_with(known));
    let site = site.expect("a function") as u32;
    let rows = load.rows.iter().zip(truth_ns).filter(|(row, _)| {
        let is_nested = row
            .parent
            .is_some_and(|above| load.rows[above].site == site);
        row.site == site && !is_nested
    });
    rows.map(|(_, ns)| ns).sum()
}
