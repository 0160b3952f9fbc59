//! A worker process under one setting: it answers requests, one line each, until its standard input
//! ends.
//!
//! | request | answer |
//! |---|---|
//! | `measure ROW THREADS CALLS` | `ok NS_PER_CALL` |
//! | `memory ROW THREADS WARM CALLS` | `ok ALLOCATIONS BYTES RESIDENT_WARM RESIDENT_END` |
//! | `report FUNCTIONS THREADS` | `ok SNAPSHOT_MS TABLE_MS JSON_MS COUNTER_BYTES DROPPED_CALLS` |
//! | `kernels KERNELS` | `ok FUNCTIONS SNAPSHOT_MS PEAK_BYTES`, with CUPTI |
//! | `driver-calls ROW CALLS` | `ok HERE ELSEWHERE`: per call, on its thread and on others |
//! | `device` | `ok real` or `ok simulated` |
//! | `switched` | `ok on` or `ok off` |
//!
//! A failure is answered with `error TEXT`.

use std::io::{BufRead, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::row_runner::{Runner, runner};
use crate::{driver_calls, host_memory, other_profilers};
#[cfg(feature = "enable")]
use crate::{kernel_report, report_time};

/// Warm-up calls of each thread before the clock starts, at most.
const WARM_UP: u64 = 2_000;

/// Answers requests until standard input ends.
///
/// # Errors
/// Standard input or output cannot be used.
pub(crate) fn serve() -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let answer = match answer(&line) {
            Ok(answer) => format!("ok {answer}\n"),
            Err(error) => format!("error {}\n", error.replace('\n', " ")),
        };
        let written = output.write_all(answer.as_bytes());
        written
            .and_then(|()| output.flush())
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Runs only one row on this thread; the first calls, which are slow, run before the loop.
///
/// # Errors
/// The row is unknown, or its device cannot be used.
pub(crate) fn run_loop(row: &str, calls: &str) -> Result<(), String> {
    let calls = number(calls)?;
    let warm_up = WARM_UP.min(calls / 2);
    warmed_loop(&mut warm(row, 1, warm_up)?, calls - warm_up)
}

/// callgrind counts only inside this function, by its name.
#[inline(never)]
fn warmed_loop(run: &mut Runner, calls: u64) -> Result<(), String> {
    run(calls).map(drop)
}

fn answer(line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["measure", row, threads, calls] => {
            let calls = number(calls)?;
            let took = measure(row, number(threads)?, calls)?;
            wait_until_idle(row);
            Ok((took.as_secs_f64() * 1e9 / calls as f64).to_string())
        }
        ["memory", row, threads, warm, calls] => {
            let measured = measure_memory(row, number(threads)?, number(warm)?, number(calls)?);
            wait_until_idle(row);
            measured
        }
        #[cfg(feature = "enable")]
        ["report", functions, threads] => {
            report_time::measure(number(functions)?, number(threads)?)
        }
        #[cfg(feature = "enable")]
        ["kernels", kernels] => kernel_report::measure(number(kernels)?),
        ["driver-calls", row, calls] => {
            let calls = number(calls)?;
            let mut run = warm(row, 1, WARM_UP.min(calls))?;
            let before = driver_calls::so_far()?;
            run(calls)?;
            wait_until_idle(row);
            let [here, elsewhere] = driver_calls::so_far()?.since(before);
            let per_call = |count: u64| count as f64 / calls as f64;
            Ok(format!("{} {}", per_call(here), per_call(elsewhere)))
        }
        ["device"] => Ok(match simcuda::real_or_simulated() {
            simcuda::Device::Real => "real".into(),
            simcuda::Device::Simulated(_) => "simulated".into(),
        }),
        ["switched"] => Ok(if cfg!(feature = "enable") {
            "on"
        } else {
            "off"
        }
        .into()),
        _ => Err(format!("unknown request: {line}")),
    }
}

fn number(word: &str) -> Result<u64, String> {
    let number = word.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| format!("{word} is not a number of calls or threads"))
}

/// The longest time of any thread for `calls` calls each. All threads start together.
fn measure(row: &str, threads: u64, calls: u64) -> Result<Duration, String> {
    let start = Barrier::new(threads as usize);
    let run_thread = || {
        let ready = warm(row, threads, WARM_UP.min(calls / 4));
        // Also after a failure, because the other threads wait here.
        start.wait();
        ready?(calls)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run_thread)).collect();
        let mut times = threads.into_iter().map(|thread| {
            let died = |_| Err(format!("{row}: a thread panicked"));
            thread.join().unwrap_or_else(died)
        });
        times.try_fold(Duration::ZERO, |longest, time| Ok(longest.max(time?)))
    })
}

fn warm(row: &str, threads: u64, calls: u64) -> Result<Runner, String> {
    let mut run = runner(row, threads)?;
    run(calls)?;
    Ok(run)
}

/// Allocations and resident memory of `calls` calls, divided among the threads, excluding the first
/// `warm_up` of each.
fn measure_memory(row: &str, threads: u64, warm_up: u64, calls: u64) -> Result<String, String> {
    let share = (calls / threads).saturating_sub(warm_up).max(1);
    let gate = Barrier::new(threads as usize + 1);
    let run_thread = || {
        let ready = warm(row, threads, warm_up);
        gate.wait();
        gate.wait();
        let done = ready.and_then(|mut run| run(share));
        gate.wait();
        // This thread keeps its memory until it has been measured.
        gate.wait();
        done
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run_thread)).collect();
        gate.wait();
        let before = host_memory::resident();
        host_memory::start_counting();
        gate.wait();
        gate.wait();
        let (allocations, bytes) = host_memory::stop_counting();
        let after = host_memory::resident();
        gate.wait();
        for thread in threads {
            thread
                .join()
                .map_err(|_| format!("{row}: a thread panicked"))??;
        }
        Ok(format!("{allocations} {bytes} {} {}", before?, after?))
    })
}

/// Waits until a row's background threads are idle, so that their work does not fall into the time
/// of the next row in another process.
fn wait_until_idle(row: &str) {
    const LONGEST: u32 = 100;
    const IDLE: Duration = Duration::from_millis(1);
    // Longer than the pauses of these threads: hotpath's collects every 50 ms, gpuprof's looks at
    // its events every 8 ms.
    let look = Duration::from_millis(if row.starts_with("gpu") { 10 } else { 60 });
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1) {
        return;
    }
    other_profilers::flush(row);
    for _ in 0..LONGEST {
        let before = cpu_time();
        thread::sleep(look);
        if cpu_time().saturating_sub(before) < IDLE {
            return;
        }
    }
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered() {
        let ns: f64 = answer("measure raw-tsc 2 1000")
            .expect("ns")
            .parse()
            .expect("a number");
        assert!(ns > 0.0);
        let figures = answer("memory nothing 2 100 1000").expect("memory");
        assert_eq!(figures.split(' ').count(), 4);
    }

    #[test]
    fn what_cannot_be_answered_is_said() {
        for request in ["measure nonsense 1 10", "measure nothing 0 10", "nonsense"] {
            assert!(answer(request).is_err(), "{request}");
        }
        assert!(answer("measure nonsense 2 10").is_err());
    }
}
