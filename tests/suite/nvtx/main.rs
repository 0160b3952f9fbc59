//! Promise: an NVTX tool shows the calls that the report counts, by name, nested in the same way,
//! with everything that the attribute states.
//!
//! The program that the tests run is here, so that its functions have names without a module.
//! `recorded_calls` runs its scenarios under the NVTX recorder, `nsight` under Nsight Systems: that
//! one expects what `attributes` passes, and that `fails` of `calls` calls `inner` once.

mod nsight;
mod recorded_calls;

use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{panic, thread};

use gpuprof::{Session, gpu_profile};
use support::executor::{pause, poll};
use support::suite::Module;

const MODULE: Module = Module::new(module_path!(), &[recorded_calls::TESTS]).with_program(program);

fn main() -> ExitCode {
    support::suite::run(&[MODULE, nsight::MODULE])
}

#[gpu_profile(cpu)]
fn outer(rounds: u32) {
    (0..rounds).for_each(inner);
    gpuprof::scope!("the rest");
    inner(rounds);
}

#[gpu_profile(cpu, payload = n)]
fn inner(n: u32) {
    if n == 1 {
        recursive(3);
    }
}

#[gpu_profile(cpu)]
fn recursive(depth: u32) {
    if depth > 0 {
        recursive(depth - 1);
    }
}

#[gpu_profile(cpu)]
fn fails() {
    inner(0);
    panic!("as planned");
}

static COMPUTED: AtomicU32 = AtomicU32::new(0);

#[gpu_profile(cpu, payload = COMPUTED.fetch_add(1, Ordering::Relaxed))]
fn counted() {}

#[gpu_profile(cpu, color = 0x76B900, category = "forward", payload = n)]
fn green(n: u64) -> u64 {
    n
}

#[gpu_profile(cpu, category = "forward", payload = n)]
fn forward(n: i64) -> i64 {
    n
}

#[gpu_profile(cpu, category = "вперёд", payload = n)]
fn backward(n: i8) -> i8 {
    n
}

#[gpu_profile(cpu, payload = x)]
fn double(x: f64) -> f64 {
    x
}

#[gpu_profile(cpu, payload = x)]
fn single(x: f32) -> f32 {
    x
}

#[gpu_profile(cpu, payload = *yes)]
fn truth(yes: &bool) -> bool {
    *yes
}

#[gpu_profile(cpu, payload = text.len())]
fn length(text: &str) -> usize {
    text.len()
}

#[gpu_profile(cpu, name = "畳み込み/naïve 🙂")]
fn not_ascii() {}

#[gpu_profile(cpu, label = layer, color = 0x76B900)]
fn block(layer: u32) {
    inner(0);
    gpuprof::scope!("half", label = ["a", "b"][layer as usize]);
}

#[gpu_profile(cpu, label = of)]
async fn request(of: &str) {}

#[gpu_profile(cpu, payload = 7_u32, color = 0x0000FF)]
async fn waits() {
    inner(0);
    pause().await;
}

fn program(scenario: &str) -> ExitCode {
    match scenario {
        "labels" => {
            [0, 1, 0].into_iter().for_each(block);
            assert!(poll(pin!(request("long"))).is_ready());
        }
        "calls" => {
            outer(2);
            let threads = [3, 4].map(|rounds| thread::spawn(move || outer(rounds)));
            threads
                .into_iter()
                .for_each(|thread| thread.join().expect("no panic"));
            assert!(panic::catch_unwind(fails).is_err());
            outer(1);
            (0..3).for_each(|_| counted());
            println!("computed {}", COMPUTED.load(Ordering::Relaxed));
        }
        "async" => {
            let (mut moved, mut dropped) = (Box::pin(waits()), Box::pin(waits()));
            assert!(poll(moved.as_mut()).is_pending() && poll(dropped.as_mut()).is_pending());
            thread::spawn(move || assert!(poll(moved.as_mut()).is_ready()))
                .join()
                .expect("no panic");
            drop(dropped);
        }
        "attributes" => {
            assert_eq!(
                (green(u64::MAX), forward(i64::MIN), backward(-1)),
                (u64::MAX, i64::MIN, -1)
            );
            assert_eq!(
                (double(0.1), single(0.1), truth(&true), length("four")),
                (0.1, 0.1, true, 4)
            );
            not_ascii();
        }
        "sessions" => {
            for filter in ["inner", "outer"] {
                let session = Session::builder()
                    .filter(filter)
                    .start()
                    .expect("no other session is open");
                outer(1);
                drop(session.finish());
            }
        }
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}
