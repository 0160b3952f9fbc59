//! A load scenario, its result, and the row that it prints.

use std::fmt::Display;
use std::time::{Duration, Instant};

use gpuprof::{Profile, Sampling, Session};

/// The header of the table.
pub(crate) const HEADER: &str =
    "| scenario | calls | result | resident memory | verdict |\n|---|---|---|---|---|";

/// The argument for short versions.
pub(crate) const SHORT: &str = "--short";

/// The size of a scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Short enough for a test suite.
    Short,
    Full,
}

impl Size {
    pub(crate) fn pick<T>(self, short: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Full => full,
        }
    }
}

/// One kind of load.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The description in the table.
    pub(crate) title: &'static str,
    pub(crate) run: fn(Size) -> Result<Outcome, String>,
}

/// The result of a scenario.
pub(crate) struct Outcome {
    pub(crate) calls: u64,
    pub(crate) what: String,
    pub(crate) memory: Memory,
}

/// The growth of resident memory, and its limit, in bytes.
pub(crate) struct Memory {
    pub(crate) growth: u64,
    pub(crate) allowed: u64,
    /// The start of the growth, as text.
    pub(crate) since: &'static str,
}

impl Memory {
    /// Growth after warm-up. One MiB is allowed for the allocator and the test's own data.
    pub(crate) fn flat(growth: u64) -> Self {
        Self {
            growth,
            allowed: 1 << 20,
            since: "after warm-up",
        }
    }
}

impl Scenario {
    /// Runs the scenario and prints its row. Returns whether it passed.
    pub(crate) fn execute(&self, size: Size) -> bool {
        let outcome = (self.run)(size).and_then(|outcome| {
            let Memory {
                growth, allowed, ..
            } = outcome.memory;
            if growth <= allowed {
                Ok(outcome)
            } else {
                Err(format!(
                    "resident memory grew by {growth} bytes, {allowed} allowed"
                ))
            }
        });
        let title = self.title;
        match &outcome {
            Ok(Outcome {
                calls,
                what,
                memory,
            }) => {
                let growth = memory.growth as f64 / f64::from(1 << 20);
                let allowed = memory.allowed >> 20;
                let since = memory.since;
                let calls = with_separators(*calls);
                println!(
                    "| {title} | {calls} | {what} | +{growth:.1} MiB {since}, {allowed} allowed \
                     | pass |"
                );
            }
            Err(why) => println!("| {title} | – | {why} | – | **FAIL** |"),
        }
        outcome.is_ok()
    }
}

/// A number with thousands separators.
pub(crate) fn with_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// An error if two values differ.
pub(crate) fn check_equal<T: PartialEq + Display>(
    what: &str,
    is: T,
    wanted: T,
) -> Result<(), String> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{what}: {is}, expected {wanted}"))
    }
}

/// A session that waits for all of its GPU work.
pub(crate) fn session() -> Session {
    Session::builder()
        .sampling(Sampling::EveryCall)
        .exit_wait(Duration::from_secs(60))
        .start()
        .expect("no other session is open")
}

/// The profile and its table, as at the end of a process, and the time that they took.
///
/// # Errors
/// It takes more than one second. An unoptimized build has no limit.
pub(crate) fn report(session: &Session) -> Result<(Profile, Duration), String> {
    let began = Instant::now();
    let profile = session.snapshot();
    let table = profile.to_string();
    let elapsed = began.elapsed();
    if table.is_empty() {
        return Err("the report is empty".to_owned());
    }
    if cfg!(debug_assertions) || elapsed < Duration::from_secs(1) {
        Ok((profile, elapsed))
    } else {
        Err(format!("the report took {elapsed:?}"))
    }
}
