//! What is known of the program: the latest rows, their rates, and how these went.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use clap::ValueEnum;
use gpuprof_report::live::{Changes, DeviceRow, FunctionRow, ThreadRow};

use crate::live::ProgramConnection;

/// Refreshes that spark lines go back.
const HISTORY: usize = 60;

/// The shortest and the longest refresh, whatever the program says.
const MIN_INTERVAL_MS: u64 = 1_000;
const MAX_INTERVAL_MS: u64 = 60_000;

/// The order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TopSort {
    /// GPU time
    Gpu,
    /// CPU time
    Cpu,
    /// Number of calls
    Calls,
    /// Calls per second
    Rate,
    /// Name
    Name,
}

/// A row and what it did since the last refresh.
#[derive(Clone, Debug)]
pub(super) struct Tracked<Row> {
    pub(super) row: Row,
    /// [`Changes::offered_ns`] when the row came.
    pub(super) offered_ns: u64,
    pub(super) rates: CounterRates,
    /// What the spark line shows, the latest last.
    pub(super) history: VecDeque<f64>,
}

/// Changes of counters over the last refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CounterRates {
    pub(super) calls_per_s: f64,
    /// GPU time, of a device busy time, per time.
    pub(super) gpu: f64,
    /// CPU time per time.
    pub(super) cpu: f64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct TopModel {
    pub(super) pid: u32,
    pub(super) program: String,
    pub(super) wall_ns: u64,
    /// How long the program offers the live view, ns: the clock of rates.
    pub(super) offered_ns: u64,
    /// CPU time of the program's answers, ns.
    pub(super) live_ns: u64,
    next_ms: u64,
    pub(super) functions: BTreeMap<u32, Tracked<FunctionRow>>,
    pub(super) threads: BTreeMap<u32, Tracked<ThreadRow>>,
    pub(super) devices: BTreeMap<u32, Tracked<DeviceRow>>,
}

impl TopModel {
    pub(super) fn new(connection: &ProgramConnection) -> Self {
        Self {
            pid: connection.pid,
            program: connection.program.clone(),
            ..Self::default()
        }
    }

    /// Time to the next refresh.
    pub(super) fn interval(&self) -> Duration {
        interval(self.next_ms)
    }

    /// Takes over what has changed.
    pub(super) fn apply(&mut self, changes: Changes) {
        if changes.reset {
            self.functions.clear();
            self.threads.clear();
            self.devices.clear();
        }
        for tid in &changes.ended_threads {
            self.threads.remove(tid);
        }
        // There is no rate before the second answer.
        let elapsed_ns = if changes.reset {
            0
        } else {
            changes.offered_ns.saturating_sub(self.offered_ns)
        };
        self.wall_ns = changes.wall_ns;
        self.offered_ns = changes.offered_ns;
        self.live_ns = changes.live_ns;
        self.next_ms = changes.next_ms;
        let time = (self.offered_ns, elapsed_ns);
        refresh(
            (&mut self.functions, changes.functions),
            time,
            |row| row.id,
            |row| [row.calls, row.gpu_ns.unwrap_or(0), row.cpu_ns],
            |rates| rates.calls_per_s,
        );
        refresh(
            (&mut self.threads, changes.threads),
            time,
            |row| row.tid,
            |row| [row.calls, 0, row.cpu_ns],
            |rates| rates.cpu,
        );
        refresh(
            (&mut self.devices, changes.devices),
            time,
            |row| row.device,
            |row| [row.timed_calls, row.busy_ns, 0],
            |rates| rates.gpu,
        );
    }

    /// The functions in this order.
    pub(super) fn functions(&self, sort: TopSort) -> Vec<&Tracked<FunctionRow>> {
        let mut rows: Vec<_> = self.functions.values().collect();
        rows.sort_by(|a, b| a.row.name.cmp(&b.row.name));
        match sort {
            TopSort::Name => {}
            TopSort::Gpu => rows.sort_by_key(|one| Reverse(one.row.gpu_ns)),
            TopSort::Cpu => rows.sort_by_key(|one| Reverse(one.row.cpu_ns)),
            TopSort::Calls => rows.sort_by_key(|one| Reverse(one.row.calls)),
            TopSort::Rate => {
                rows.sort_by(|a, b| b.rates.calls_per_s.total_cmp(&a.rates.calls_per_s));
            }
        }
        rows
    }

    /// What runs now, the longest call first: the time since the call began, ns, and its thread.
    #[cfg(feature = "top")]
    pub(super) fn running(&self) -> Vec<(u64, &ThreadRow)> {
        let threads = self.threads.values();
        let mut running: Vec<_> = threads
            .filter(|one| one.row.running.is_some())
            .map(|one| (self.running_ns(one), &one.row))
            .collect();
        running.sort_by_key(|(ns, _)| Reverse(*ns));
        running
    }

    /// How long the thread's innermost call has run: longer than its row says, because a row is
    /// not sent again while the call goes on.
    pub(super) fn running_ns(&self, thread: &Tracked<ThreadRow>) -> u64 {
        let since = self.offered_ns.saturating_sub(thread.offered_ns);
        thread.row.running_ns.saturating_add(since)
    }
}

/// The time to the next refresh if the program asks for `next_ms`.
pub(super) fn interval(next_ms: u64) -> Duration {
    Duration::from_millis(next_ms.clamp(MIN_INTERVAL_MS, MAX_INTERVAL_MS))
}

/// Takes over the rows that have changed: `counters` are calls, GPU time and CPU time, from which
/// the rates are made, and `shown` is what the spark line shows.
fn refresh<Row>(
    (rows, changed): (&mut BTreeMap<u32, Tracked<Row>>, Vec<Row>),
    (offered_ns, elapsed_ns): (u64, u64),
    number: impl Fn(&Row) -> u32,
    counters: impl Fn(&Row) -> [u64; 3],
    shown: impl Fn(&CounterRates) -> f64,
) {
    for tracked in rows.values_mut() {
        tracked.rates = CounterRates::default();
    }
    for row in changed {
        let id = number(&row);
        let before = rows.remove(&id);
        let earlier = before
            .as_ref()
            .map_or([0; 3], |before| counters(&before.row));
        let per_ns = |now: u64, before: u64| match elapsed_ns {
            0 => 0.0,
            ns => now.saturating_sub(before) as f64 / ns as f64,
        };
        let [calls, gpu_ns, cpu_ns] = counters(&row);
        let rates = CounterRates {
            calls_per_s: 1e9 * per_ns(calls, earlier[0]),
            gpu: per_ns(gpu_ns, earlier[1]),
            cpu: per_ns(cpu_ns, earlier[2]),
        };
        let tracked = Tracked {
            row,
            offered_ns,
            rates,
            history: before.map(|before| before.history).unwrap_or_default(),
        };
        rows.insert(id, tracked);
    }
    if elapsed_ns == 0 {
        return;
    }
    for tracked in rows.values_mut() {
        tracked.history.push_back(shown(&tracked.rates));
        if tracked.history.len() > HISTORY {
            tracked.history.pop_front();
        }
    }
}
