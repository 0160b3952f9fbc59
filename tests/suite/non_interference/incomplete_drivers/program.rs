//! The program that the tests of `incomplete_drivers.rs` run, by scenario.

use std::any::Any;
use std::panic;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError};
use gpuprof::gpu_profile;
use simcuda::Sim;
use support::independent_saxpy::IndependentSaxpy;

pub(super) const HIDE: &str = "GPUPROF_TEST_HIDE";
pub(super) const FAIL: &str = "GPUPROF_TEST_FAIL";

pub(super) const ROUNDS: u64 = 4;
/// Calls of `outer` and of `add`: two `add` per `outer`, and one on another thread.
pub(super) const CALLS: [u64; 2] = [ROUNDS, 2 * ROUNDS + 1];
pub(super) const KERNEL_NS: u64 = 10_000;

#[gpu_profile]
fn outer(raw: &IndependentSaxpy) -> Result<(), DriverError> {
    add(raw, 0.5)?;
    add(raw, 1.0)
}

#[gpu_profile]
fn add(raw: &IndependentSaxpy, a: f32) -> Result<(), DriverError> {
    // On a fresh thread the context becomes current only after the span has begun.
    raw.make_current()?;
    raw.add(a)
}

#[gpu_profile(cpu)]
fn on_the_cpu() -> u32 {
    6 * 7
}

#[gpu_profile]
fn connect() -> Result<Arc<CudaContext>, DriverError> {
    on_the_cpu();
    CudaContext::new(0)
}

/// A span that starts before any driver is loaded.
#[gpu_profile]
fn whole_program() {
    on_the_cpu();
    simcuda::install().expect("the simulated driver is built");
    let raw = IndependentSaxpy::new().expect("the program's own calls are all there");
    println!("{:?} {:?}", add(&raw, 0.5), raw.read());
}

pub(super) fn run(scenario: &str) -> ExitCode {
    match scenario {
        "no driver" => {
            // Registered before gpuprof's handler, so it runs after gpuprof's report. SAFETY: the
            // handler is a plain function of this program.
            assert_eq!(unsafe { libc::atexit(tell_drivers) }, 0);
            println!("{}", on_the_cpu());
        }
        "cudarc alone" => tell(panic::catch_unwind(connect)),
        "no device" => {
            let options = simcuda::Options {
                no_device: true,
                ..Default::default()
            };
            simcuda::install_with(&options).expect("the simulated driver is built");
            tell(panic::catch_unwind(connect));
        }
        "late" => whole_program(),
        "torn down" => torn_down(),
        "rounds" => return rounds(),
        _ => panic!("no scenario {scenario}"),
    }
    ExitCode::SUCCESS
}

/// The whole driver shuts down in the middle of the program.
fn torn_down() {
    let sim = simcuda::install().expect("the simulated driver is built");
    let raw = IndependentSaxpy::new().expect("the program's own calls are all there");
    for _ in 0..ROUNDS {
        println!("{:?} {:?}", outer(&raw), raw.read());
    }
    drop(gpuprof::collect());
    sim.shut_down();
    for _ in 0..ROUNDS {
        println!("{:?} {:?}", outer(&raw), raw.read());
    }
}

/// Prints which driver libraries the process has loaded.
extern "C" fn tell_drivers() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux tells what is loaded");
    let drivers: Vec<&str> = maps.lines().filter(|line| line.contains("cuda")).collect();
    println!("drivers: {drivers:?}");
}

/// Prints the outcome of [`connect`].
fn tell(outcome: Result<Result<Arc<CudaContext>, DriverError>, Box<dyn Any + Send>>) {
    match outcome {
        Ok(answer) => println!("{:?}", answer.map(drop)),
        Err(panic) => println!("panicked: {:?}", panic.downcast_ref::<String>()),
    }
}

/// Installs the simulator without the functions that the environment variable names.
fn simulator() -> Sim {
    let hide = std::env::var(HIDE)
        .map(|hide| hide.split(',').map(str::to_owned).collect())
        .unwrap_or_default();
    let options = simcuda::Options {
        virtual_clock: true,
        hide,
        ..Default::default()
    };
    simcuda::install_with(&options).expect("the simulated driver is built")
}

/// Prints every result and every number that the program gets from the driver.
fn rounds() -> ExitCode {
    let sim = simulator();
    assert!(gpuprof::__private::drive_clock(sim.clock()));
    sim.set_kernel_ns(kernels::SAXPY, KERNEL_NS);
    let raw = IndependentSaxpy::new().expect("the program's own calls are all there");
    let ordered: Vec<String> = std::env::var(FAIL)
        .map(|fail| fail.split(',').map(order(sim)).collect())
        .unwrap_or_default();
    for _ in 0..ROUNDS {
        println!("{} {:?} {:?}", on_the_cpu(), outer(&raw), raw.read());
    }
    let elsewhere = std::thread::spawn(move || (add(&raw, 0.25), raw.read()));
    println!("{:?}", elsewhere.join().expect("no panic"));
    drop(gpuprof::collect());
    for symbol in ordered {
        eprintln!("called {symbol} {}", sim.calls(&symbol));
    }
    ExitCode::SUCCESS
}

/// Requests the failure `symbol:nth:times:code` and returns the symbol.
fn order(sim: Sim) -> impl Fn(&str) -> String {
    sim.reset_calls();
    move |text| {
        let mut parts = text.split(':');
        let symbol = parts.next().expect("a symbol").to_owned();
        let numbers: Vec<u64> = parts.map(|part| part.parse().expect("a number")).collect();
        let &[nth, times, code] = &numbers[..] else {
            panic!("{text}")
        };
        sim.fail(
            &symbol,
            nth,
            times,
            i32::try_from(code).expect("a CUresult"),
        );
        symbol
    }
}
