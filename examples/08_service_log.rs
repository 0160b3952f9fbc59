//! The log of a service: what gpuprof says about itself goes into `tracing` and into `log`.
//!
//! Run `GPUPROF_SORT=colour cargo run --release --example 08_service_log`. Look at the first lines:
//! the wrong setting is a warning of both logs, and no line of gpuprof's own. A service takes one
//! of `to_tracing` and `to_log`. Neither needs a feature of gpuprof.
//!
//! With `GPUPROF=standby` and a number of requests as argument, such as 100000, it is a service to
//! look at while it runs, which prints how many requests it answers in a second:
//! docs/production.md.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaFunction, CudaStream};
use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpuprof::{Diagnostic, Severity, gpu_profile};

fn to_tracing(line: &Diagnostic) {
    match line.severity {
        Severity::Error => tracing::error!(target: "gpuprof", "{line}"),
        Severity::Warning => tracing::warn!(target: "gpuprof", "{line}"),
        _ => tracing::info!(target: "gpuprof", "{line}"),
    }
}

fn to_log(line: &Diagnostic) {
    let level = match line.severity {
        Severity::Error => log::Level::Error,
        Severity::Warning => log::Level::Warn,
        _ => log::Level::Info,
    };
    log::log!(target: "gpuprof", level, "{line}");
}

/// Stands for the service's logger, such as that of `env_logger`.
struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let (level, target) = (record.level(), record.target());
        eprintln!("{level} [{target}] {}", record.args());
    }

    fn flush(&self) {}
}

/// Adds `0.5 * x` to `y`.
#[gpu_profile(bytes = 12 * x.len(), items = 1)]
fn request(
    stream: &Arc<CudaStream>,
    saxpy: &CudaFunction,
    x: &[f32],
    y: &mut [f32],
) -> Result<(), DriverError> {
    let (n, a) = (x.len() as u32, 0.5_f32);
    let x = stream.clone_htod(x)?;
    let mut sum = stream.clone_htod(&*y)?;
    let mut launch = stream.launch_builder(saxpy);
    launch.arg(&n).arg(&a).arg(&x).arg(&mut sum);
    // SAFETY: these are the kernel's parameters, and both slices hold n elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
    stream.memcpy_dtoh(&sum, y)?;
    stream.synchronize()
}

fn main() -> Result<(), Box<dyn Error>> {
    simcuda::real_or_simulated();
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr);
    tracing::subscriber::set_global_default(subscriber.without_time().finish())?;
    log::set_logger(&Logger).map(|()| log::set_max_level(log::LevelFilter::Info))?;
    // Before the first call that is profiled: nothing is printed then.
    gpuprof::on_diagnostic(|line| {
        to_tracing(line);
        to_log(line);
    });

    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(kernels::SAXPY_PTX))?;
    let saxpy = module.load_function(kernels::SAXPY)?;
    let x: Vec<f32> = (0..1 << 20).map(|i| (i % 100) as f32).collect();
    let mut y = vec![0.0; x.len()];
    let requests: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(10), |text| text.parse())?;
    let (mut since, mut answered) = (Instant::now(), 0);
    for _ in 0..requests {
        y.fill(1.0);
        request(&stream, &saxpy, &x, &mut y)?;
        // Small halves have no rounding in f32, so the result must be exact.
        let is_right = |(x, y): (&f32, &f32)| *y == 1.0 + 0.5 * x;
        assert!(x.iter().zip(&y).all(is_right), "saxpy is wrong");
        answered += 1;
        if since.elapsed() >= Duration::from_secs(1) {
            println!("{answered} requests/s");
            (since, answered) = (Instant::now(), 0);
        }
    }
    println!("{requests} requests are answered");
    Ok(())
}
