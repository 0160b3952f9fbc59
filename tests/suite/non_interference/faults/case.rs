//! One case of the fault matrix: which call of gpuprof fails and how, the run, and the comparison
//! with the run without failures.

use std::collections::BTreeMap;

use gpuprof::Profile;
use gpuprof::profile::Function;
use support::profile_lookups::{functions, local_name};
use support::program::{Ended, Program};

use super::FAIL;
use super::reported_times;
use super::stand_ins::{LAST_RESORT, NO_STAND_IN};

/// A `CUresult` and its name.
pub(crate) type Error = (u32, &'static str);

/// `CUresult`s that a driver may return from any call.
pub(crate) const ERRORS: [Error; 5] = [
    (2, "CUDA_ERROR_OUT_OF_MEMORY"),
    (400, "CUDA_ERROR_INVALID_HANDLE"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED"),
    (800, "CUDA_ERROR_NOT_PERMITTED"),
];

/// The start of the program's own lines on standard error.
const CALLED: &str = "gpuprof called ";

/// The driver has shut down: not an error, but GPU timing ends.
const DEINITIALIZED: u32 = 4;

/// Functions that gpuprof calls only after another call has failed.
const NAMES_ERRORS: &str = "cuGetErrorName";
const DESTROYS: &str = "cuEventDestroy_v2";
const POPS: &str = "cuCtxPopCurrent_v2";

/// This function sets a thread's capture mode and restores it. If the first call succeeds and all
/// later ones fail, nobody can restore the mode: the only case that is omitted.
const TO_AND_FRO: &str = "cuThreadExchangeStreamCaptureMode";

/// The program's output without gpuprof, and gpuprof's calls of each function in a run without
/// failures.
pub(crate) struct Undisturbed {
    pub(crate) ended: Ended,
    calls: BTreeMap<String, u64>,
}

impl Undisturbed {
    pub(crate) fn new() -> Self {
        let ended = Program::new("faults").env("GPUPROF", "off").run();
        let (with, profile) = Program::new("faults").profiled_in_full();
        assert_same(&with, &ended).expect("nothing fails");
        reported_times::checked(&with, &profile).expect("nothing fails");
        reported_times::whole(&profile).expect("nothing fails");
        every_function_has_a_stand_in(&with);
        let calls = called(&with);
        Self {
            calls: calls
                .into_iter()
                .map(|(symbol, calls, _)| (symbol, calls))
                .collect(),
            ended,
        }
    }

    /// The first call, the second, one in the middle of the run, and the last two.
    pub(crate) fn calls_to_fail(&self, symbol: &str) -> [u64; 5] {
        let calls = self.calls.get(symbol).copied().unwrap_or(0);
        let middle = (calls / 2).clamp(3, 200);
        // The last two calls are one pair if a function is called for start and end.
        let last = match calls {
            // The function is called only after a failure, so the number of its calls is unknown.
            0 => u64::MAX,
            calls => calls.max(middle + 2),
        };
        [1, 2, middle, last - 1, last]
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) symbol: &'static str,
    pub(crate) nth: u64,
    pub(crate) times: u64,
    pub(crate) error: Error,
}

/// The outcome of a case.
pub(crate) enum Seen {
    /// The call that was to fail was never made.
    NotReached,
    Ok,
    Wrong(String),
}

impl Case {
    pub(crate) fn order(&self) -> String {
        let Self {
            symbol,
            nth,
            times,
            error,
        } = self;
        let order = format!("{symbol}:{nth}:{times}:{}", error.0);
        match *symbol {
            // Error names are only requested after a failure: the third record fails with another
            // code.
            NAMES_ERRORS => format!("{order},cuEventRecord:3:1:1"),
            // Events are destroyed after the second event of a pair could not be created.
            DESTROYS => {
                format!("{order},cuEventCreate:2:1:1,cuEventCreate:4:1:1,cuEventCreate:80:1:1")
            }
            _ => order,
        }
    }

    fn can_be_mended(&self) -> bool {
        self.symbol != TO_AND_FRO || self.times == 1 || self.nth == 1
    }

    pub(crate) fn run(&self, undisturbed: &Undisturbed) -> Seen {
        if !self.can_be_mended() {
            return Seen::NotReached;
        }
        let (ended, profile) = Program::new("faults")
            .env(FAIL, self.order())
            .profiled_in_full();
        let verdict = assert_same(&ended, &undisturbed.ended).and_then(|()| {
            reported_times::checked(&ended, &profile)?;
            self.told(&ended, &profile)
        });
        match verdict {
            Err(what) => Seen::Wrong(what),
            Ok(reached) if reached => Seen::Ok,
            Ok(_) => Seen::NotReached,
        }
    }

    /// Whether the report may show `shown` failures if `failed` occurred: a function that keeps
    /// failing also fails between the report and the end of the program, because the resolver
    /// continues.
    fn counted(&self, shown: u64, failed: u64) -> bool {
        let goes_on = self.times > 1 && shown < failed;
        shown == failed || goes_on || self.symbol == NAMES_ERRORS
    }

    /// Whether the failure occurred; `Err` if the report does not show it.
    fn told(&self, ended: &Ended, profile: &Profile) -> Result<bool, String> {
        let failed = called(ended)
            .into_iter()
            .find(|(symbol, ..)| symbol == self.symbol);
        let failed = failed.map_or(0, |(_, _, failed)| failed);
        let errors = &profile.diagnostics.errors;
        let told = errors
            .iter()
            .find(|error| error.call == self.symbol && error.code == self.error.0);
        if self.error.0 == DEINITIALIZED {
            let untimed = &profile.diagnostics.untimed;
            let lost = untimed.unavailable + untimed.unfinished;
            let noted = profile
                .diagnostics
                .notes
                .iter()
                .any(|note| note.contains("shut down"));
            return match told {
                Some(told) => Err(format!("the end is shown as an error: {told:?}")),
                None if noted != (failed > 0 && lost > 0) => Err(format!(
                    "{lost} untimed, notes {:?}",
                    profile.diagnostics.notes
                )),
                None => Ok(failed > 0),
            };
        }
        match (failed, told) {
            (0, None) => Ok(false),
            (0, Some(told)) => Err(format!("never failed, and shown: {told:?}")),
            // Error names are requested while the report is made, and again for each of its
            // outputs.
            (_, Some(told)) if !self.counted(told.count, failed) => {
                Err(format!("failed {failed} times, shown {told:?}"))
            }
            (_, Some(told)) if self.symbol != NAMES_ERRORS && told.name != self.error.1 => {
                Err(format!("{told:?}"))
            }
            (_, Some(_)) if !in_table(ended, self.symbol) => Err("not in the table".to_owned()),
            (_, Some(_)) => Ok(true),
            (failed, None) => Err(format!("failed {failed} times, and not in the report")),
        }
    }
}

/// Checks that the list is complete: the program prints the functions that gpuprof resolved and
/// that have no stand-in.
fn every_function_has_a_stand_in(ended: &Ended) {
    let lines = ended.stderr.lines();
    let without: Vec<&str> = lines.filter(|line| line.starts_with(NO_STAND_IN)).collect();
    assert!(without.is_empty(), "{without:?}");
    let popping_fails = format!("{POPS}:1:{}:1", u64::MAX);
    let ended = Program::new("faults").env(FAIL, popping_fails).run();
    let mut calls = called(&ended).into_iter();
    let last = calls.find(|(symbol, ..)| symbol == LAST_RESORT);
    assert!(last.is_some_and(|(_, calls, _)| calls > 0), "{LAST_RESORT}");
}

/// Whether the report on standard error names `symbol`.
fn in_table(ended: &Ended, symbol: &str) -> bool {
    let mut lines = ended.stderr.lines();
    lines.any(|line| line.contains(symbol) && !line.starts_with(CALLED))
}

/// Compares standard output and exit status byte by byte.
fn assert_same(with: &Ended, without: &Ended) -> Result<(), String> {
    if with.status != without.status {
        return Err(format!("ended with {}: {}", with.status, with.stderr));
    }
    let lines = |ended: &Ended| -> Vec<String> {
        String::from_utf8_lossy(&ended.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let (with_lines, without_lines) = (lines(with), lines(without));
    let mut pairs = with_lines.iter().zip(&without_lines);
    if let Some((with, without)) = pairs.find(|(with, without)| with != without) {
        return Err(format!(
            "the program saw\n  {with}\nwithout gpuprof\n  {without}"
        ));
    }
    (with.stdout == without.stdout)
        .then_some(())
        .ok_or_else(|| "the output is shorter or longer".to_owned())
}

pub(crate) fn function<'a>(profile: &'a Profile, name: &str) -> Result<&'a Function, String> {
    functions(profile)
        .find(|function| local_name(&function.name) == name)
        .ok_or_else(|| format!("{name} is not listed"))
}

/// Each function that gpuprof calls: its number of calls, and how many of them failed on request.
fn called(ended: &Ended) -> Vec<(String, u64, u64)> {
    let lines = ended
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix(CALLED));
    let parsed = lines.map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next().expect("a symbol and two numbers");
        let symbol = next().to_owned();
        let mut number = || next().parse().expect("a number");
        (symbol, number(), number())
    });
    parsed.collect()
}
