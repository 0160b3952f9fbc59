//! The time of a report on many functions that many threads have called.
//!
//! The sites are made at run time, because a program of so many annotated functions takes minutes
//! to build; the package `load` has one.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use gpuprof::__private::{
    CallArguments, LabelNumber, Meta, Payload, Site, Span, StatedWork, Streams,
};

use crate::host_memory;
use crate::outcome::Quartiles;

/// Reports in a row, of which the median counts.
const REPORTS: usize = 5;

/// Has `functions` functions called on each of `threads` threads at once, and reports on them.
/// Returns the times of snapshot, table and JSON in ms, the growth of resident memory by the
/// counters in bytes, and the calls that were dropped.
///
/// # Errors
/// A thread panicked, or resident memory cannot be read.
pub(crate) fn measure(functions: u64, threads: u64) -> Result<String, String> {
    let sites: Vec<&'static Site> = (0..functions).map(site).collect();
    let before = host_memory::resident()?;
    let together = Barrier::new(threads as usize);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                sites.iter().for_each(|site| call(site));
                // A thread that ends hands its counters to the next one.
                together.wait();
            });
        }
    });
    let after = host_memory::resident()?;
    let mut times = [const { Vec::new() }; 3];
    let mut dropped = 0;
    for _ in 0..REPORTS {
        let began = Instant::now();
        let profile = gpuprof::snapshot();
        let snapshot = began.elapsed();
        let table = profile.to_string();
        let with_table = began.elapsed();
        let json = gpuprof_report::json::to_string(&profile);
        let all = began.elapsed();
        black_box((table, json));
        dropped = profile.diagnostics.dropped + profile.diagnostics.histogram_dropped;
        let parts = [snapshot, with_table - snapshot, all - with_table];
        for (times, part) in times.iter_mut().zip(parts) {
            times.push(milliseconds(part));
        }
    }
    let [snapshot, table, json] = times.map(|times| Quartiles::of(&times).median);
    let growth = after.saturating_sub(before);
    Ok(format!("{snapshot} {table} {json} {growth} {dropped}"))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn site(number: u64) -> &'static Site {
    let name = format!("application::module_{}::function_{number}", number / 100);
    Box::leak(Box::new(Site::new(Meta {
        cpu: true,
        ..Meta::named(name.leak(), module_path!(), file!(), line!())
    })))
}

/// What the attribute generates.
fn call(site: &'static Site) {
    let mut span = Span::off();
    if !site.active() {
        return;
    }
    span.enter(
        site,
        || LabelNumber::NONE,
        || Streams::Inherit,
        || StatedWork::NONE,
        || Payload::None,
        CallArguments::default,
    );
}
