//! What a scene is, and how it tells what it saw.

use std::fmt::Display;
use std::time::{Duration, Instant};

use gpuprof::{Profile, Session};

/// The head of the table that rows belong to.
pub(crate) const HEAD: &str =
    "| scene | calls | what was seen | resident memory | verdict |\n|---|---|---|---|---|";

/// How much of a scene is played.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// What a test suite has the time for.
    Short,
    Full,
}

impl Form {
    pub(crate) fn pick<T>(self, short: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Full => full,
        }
    }
}

/// One kind of load.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// What it is, in the table.
    pub(crate) title: &'static str,
    pub(crate) run: fn(Form) -> Result<Seen, String>,
}

/// What a scene saw.
pub(crate) struct Seen {
    pub(crate) calls: u64,
    pub(crate) what: String,
    pub(crate) memory: Memory,
}

/// How far resident memory grew, and how far it may.
pub(crate) struct Memory {
    pub(crate) growth: u64,
    pub(crate) allowed: u64,
    /// Since when.
    pub(crate) since: &'static str,
}

impl Memory {
    /// Growth after warm-up. A mebibyte is what an allocator and the test's own machinery may come
    /// to.
    pub(crate) fn flat(growth: u64) -> Self {
        Self {
            growth,
            allowed: 1 << 20,
            since: "after warm-up",
        }
    }
}

impl Scene {
    /// Plays it and prints its row; returns whether all held.
    pub(crate) fn play(&self, form: Form) -> bool {
        let seen = (self.run)(form).and_then(|seen| {
            let Memory {
                growth, allowed, ..
            } = seen.memory;
            match growth <= allowed {
                true => Ok(seen),
                false => Err(format!(
                    "resident memory grew by {growth} bytes of {allowed} allowed"
                )),
            }
        });
        let title = self.title;
        match &seen {
            Ok(Seen {
                calls,
                what,
                memory,
            }) => {
                let grew = memory.growth as f64 / f64::from(1 << 20);
                let allowed = memory.allowed >> 20;
                let since = memory.since;
                let calls = grouped(*calls);
                println!(
                    "| {title} | {calls} | {what} | +{grew:.1} MiB {since}, {allowed} allowed | \
                     held |"
                );
            }
            Err(why) => println!("| {title} | – | {why} | – | **failed** |"),
        }
        seen.is_ok()
    }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `Err` where two numbers differ that must not.
pub(crate) fn same<T: PartialEq + Display>(what: &str, is: T, wanted: T) -> Result<(), String> {
    match is == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {is}, not {wanted}")),
    }
}

/// A session that waits for all of its GPU work.
pub(crate) fn session() -> Session {
    Session::builder()
        .exit_wait(Duration::from_secs(60))
        .start()
        .expect("no other session is open")
}

/// The report as the end of a process makes it, table and all, and how long it took.
///
/// # Errors
/// When it takes more than the second it may. An unoptimized build has no limit.
pub(crate) fn report(session: &Session) -> Result<(Profile, Duration), String> {
    let began = Instant::now();
    let profile = session.snapshot();
    let table = profile.to_string();
    let took = began.elapsed();
    if table.is_empty() {
        return Err("the report is empty".to_owned());
    }
    match cfg!(debug_assertions) || took < Duration::from_secs(1) {
        true => Ok((profile, took)),
        false => Err(format!("the report took {took:?}")),
    }
}
