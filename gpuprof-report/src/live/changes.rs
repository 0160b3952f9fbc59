//! The rows that have changed since a viewer's last request.

use std::collections::HashMap;

use super::rows::{DeviceRow, FunctionKey, FunctionRow, LiveRows, ThreadRow, key};
use crate::figures::figures;
use crate::json_writer;
use crate::profile::Profile;

figures! {
    /// The rows that have changed since this connection's last request for them, with all their
    /// counters.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Changes {
        /// All counters begin anew: it is the first answer, or another window has begun. The viewer
        /// forgets all rows.
        pub reset: bool;
        /// How long the window is open, ns.
        pub wall_ns: u64;
        /// How long the program offers a live view, ns. Unlike `wall_ns` it goes on across windows.
        pub offered_ns: u64;
        /// CPU time that gpuprof has spent on all answers to all viewers, ns.
        pub live_ns: u64;
        /// In how many ms the next request is answered without a wait: 1,000, or longer if answers
        /// would otherwise take more than their share of the program's time.
        pub next_ms: u64;
        /// Functions that have changed.
        pub functions: Vec<FunctionRow>;
        /// Threads that have changed.
        pub threads: Vec<ThreadRow>;
        /// System numbers of threads that have ended.
        pub ended_threads: Vec<u32>;
        /// Devices that have changed.
        pub devices: Vec<DeviceRow>;
    }
}

impl Changes {
    /// The frame's content.
    #[must_use]
    pub fn to_json(&self) -> String {
        json_writer::document(self)
    }
}

/// What was sent on one connection.
#[derive(Debug, Default)]
pub struct Sent {
    numbers: HashMap<FunctionKey, u32>,
    /// `None` before the first answer.
    rows: Option<LiveRows>,
}

impl Sent {
    /// The changes from what was sent before to `profile` and these threads, which count as sent
    /// from now on.
    pub fn changes(&mut self, profile: &Profile, threads: Vec<ThreadRow>) -> Changes {
        let numbers = &mut self.numbers;
        let mut rows = LiveRows::new(profile, threads, |function| {
            if !function.has_run() {
                // The viewer may still show a call in progress that counted nothing.
                return numbers.get(&key(function)).copied();
            }
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            Some(*numbers.entry(key(function)).or_insert(next))
        });
        let before = self.rows.take();
        let before = before.filter(|before| !rows.begin_anew_after(before));
        let reset = before.is_none();
        if reset {
            rows.functions.retain(FunctionRow::has_run);
        }
        let before = before.unwrap_or_default();
        let changes = Changes {
            reset,
            wall_ns: rows.wall_ns,
            functions: changed(&before.functions, &rows.functions, |row| row.id, stable),
            threads: changed(&before.threads, &rows.threads, |row| row.tid, stable_thread),
            ended_threads: (before.threads.iter().map(|row| row.tid))
                .filter(|tid| !rows.threads.iter().any(|row| row.tid == *tid))
                .collect(),
            devices: changed(
                &before.devices,
                &rows.devices,
                |row| row.device,
                |row, _| row,
            ),
            ..Changes::default()
        };
        self.rows = Some(rows);
        changes
    }
}

/// The rows of `now` that are new or unlike those of `before` with the same number. `stable` gives
/// the part of a row that counts as a change, with how much later the row is.
fn changed<Row: Clone + PartialEq>(
    before: &[Row],
    now: &[Row],
    number: impl Fn(&Row) -> u32,
    stable: impl Fn(Row, &Row) -> Row,
) -> Vec<Row> {
    let before: HashMap<u32, &Row> = before.iter().map(|row| (number(row), row)).collect();
    let is_changed = |row: &&Row| match before.get(&number(row)) {
        Some(earlier) => stable((*row).clone(), earlier) != **earlier,
        None => true,
    };
    now.iter().filter(is_changed).cloned().collect()
}

/// The time of calls that go on is no change.
fn stable(mut row: FunctionRow, earlier: &FunctionRow) -> FunctionRow {
    if row.open_calls == earlier.open_calls && row.calls == earlier.calls {
        row.open_ns = earlier.open_ns;
    }
    row
}

/// The time of a call that goes on is no change. It is the same call if it has taken longer.
fn stable_thread(mut row: ThreadRow, earlier: &ThreadRow) -> ThreadRow {
    if row.running == earlier.running && row.running_ns >= earlier.running_ns {
        row.running_ns = earlier.running_ns;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::from_json;
    use crate::profile::{Device, Function, GpuBusy, GpuSpanStats, SpanStats};

    fn function(name: &str, calls: u64) -> Function {
        let gpu = GpuSpanStats {
            device: Some(1),
            timed_calls: calls,
            times: SpanStats {
                total_ns: 10 * calls,
                self_ns: 9 * calls,
                ..SpanStats::default()
            },
            ..GpuSpanStats::default()
        };
        Function {
            name: name.to_owned(),
            calls,
            cpu: SpanStats {
                total_ns: 100 * calls,
                ..SpanStats::default()
            },
            gpu: Some(gpu),
            ..Function::default()
        }
    }

    fn profile(functions: Vec<Function>) -> Profile {
        Profile {
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            functions,
            devices: vec![Device {
                ordinal: 1,
                name: "NVIDIA H200".to_owned(),
                ..Device::default()
            }],
            gpu_busy: vec![GpuBusy {
                device: 1,
                busy_ns: 77,
                ..GpuBusy::default()
            }],
            ..Profile::default()
        }
    }

    fn thread(tid: u32, running_ns: u64) -> ThreadRow {
        ThreadRow {
            tid,
            running: Some("step".to_owned()),
            running_ns,
            ..ThreadRow::default()
        }
    }

    fn names(changes: &Changes) -> Vec<(u32, &str, u64)> {
        let row = |row: &'_ FunctionRow| (row.id, row.calls);
        let rows = changes.functions.iter();
        rows.map(|found| (row(found).0, &*found.name, row(found).1))
            .collect()
    }

    #[test]
    fn only_changed_rows_are_sent_and_keep_their_numbers() {
        let mut sent = Sent::default();
        let never = function("never", 0);
        let first = profile(vec![function("a", 1), function("b", 2), never.clone()]);
        let changes = sent.changes(&first, vec![thread(5, 10)]);
        assert!(changes.reset);
        assert_eq!(names(&changes), [(0, "a", 1), (1, "b", 2)]);
        assert_eq!(changes.threads, [thread(5, 10)]);
        let [device] = &*changes.devices else {
            panic!("one device");
        };
        assert_eq!(
            (device.gpu_ns, device.busy_ns, device.timed_calls),
            (27, 77, 3)
        );

        let none = sent.changes(&first, vec![thread(5, 25)]);
        assert!(!none.reset && none.functions.is_empty() && none.devices.is_empty());
        assert!(none.threads.is_empty() && none.ended_threads.is_empty());

        // Another order, a new function before the others, and another call on the thread.
        let next = profile(vec![function("0", 4), function("b", 3), function("a", 1)]);
        let changes = sent.changes(&next, vec![thread(5, 3)]);
        assert_eq!(names(&changes), [(2, "0", 4), (1, "b", 3)]);
        assert_eq!(changes.threads, [thread(5, 3)]);
        let ended = sent.changes(&next, Vec::new());
        assert_eq!(ended.ended_threads, [5]);
    }

    #[test]
    fn the_time_of_a_call_that_goes_on_is_no_change() {
        let mut sent = Sent::default();
        let open = |open_calls, open_ns| {
            let mut function = function("a", 1);
            (function.open_calls, function.open_ns) = (open_calls, open_ns);
            profile(vec![function])
        };
        let _ = sent.changes(&open(1, 10), Vec::new());
        assert!(sent.changes(&open(1, 99), Vec::new()).functions.is_empty());
        let changes = sent.changes(&open(2, 99), Vec::new());
        assert_eq!(changes.functions[0].open_ns, 99);
    }

    #[test]
    fn an_open_call_that_counts_nothing_ends_without_a_reset() {
        let mut sent = Sent::default();
        let mut warm_up = function("a", 0);
        warm_up.open_calls = 1;
        let _ = sent.changes(&profile(vec![warm_up, function("b", 2)]), Vec::new());
        let ended = profile(vec![function("a", 0), function("b", 2)]);
        let changes = sent.changes(&ended, Vec::new());
        assert!(!changes.reset);
        assert_eq!(names(&changes), [(0, "a", 0)]);
        assert_eq!(changes.functions[0].open_calls, 0);
    }

    #[test]
    fn another_window_begins_anew() {
        let mut sent = Sent::default();
        let mut profile = profile(vec![function("a", 1)]);
        let _ = sent.changes(&profile, Vec::new());
        profile.started_at = "2026-01-01T00:00:01Z".to_owned();
        let changes = sent.changes(&profile, Vec::new());
        assert!(changes.reset);
        assert_eq!(names(&changes), [(0, "a", 1)]);
        // A reset within the same millisecond.
        for fewer in [vec![function("a", 0)], Vec::new()] {
            let _ = sent.changes(&profile, Vec::new());
            let mut after = profile.clone();
            after.functions = fewer;
            assert!(sent.changes(&after, Vec::new()).reset);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut sent = Sent::default();
        let mut changes = sent.changes(&profile(vec![function("a\n", 1)]), vec![thread(5, 10)]);
        (changes.next_ms, changes.live_ns) = (1_000, 12);
        changes.ended_threads = vec![7, 8];
        assert_eq!(
            from_json::<Changes>(changes.to_json().as_bytes()).unwrap(),
            changes
        );
        for frame in [&b""[..], b"[]x", b"{\"calls\"", b"\xff", b"7"] {
            assert!(from_json::<Changes>(frame).is_err());
        }
    }
}
