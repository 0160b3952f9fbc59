//! One pass over the activities of a device in the order of their starts: when it was busy, what it
//! waited for, and for how long activities ran beside each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::activity_path::{ClosedNs, LaunchCall};
use super::row_keys::RowKey;
use gpuprof_report::profile::BusyRecords;

/// When a kernel, copy or memset ran, and which row it counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimedActivity {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// `None` if it is unknown.
    pub(crate) launch: Option<LaunchCall>,
    pub(crate) closed: ClosedNs,
    pub(crate) row: RowKey,
}

/// A part of an activity's time: while another kernel ran beside a kernel, or no kernel beside a
/// copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowTime {
    pub(crate) row: RowKey,
    pub(crate) ns: u64,
}

/// How long a launch may take to arrive, in times of the shortest so far on the device. On an H200
/// half of the short kernels of a launch-bound loop start 6.8 µs after their call began, which
/// returns after 3.4 µs: the device waits for the launch, though the call has returned.
const LAUNCH_TIMES: u64 = 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceSweep {
    times: BusyRecords,
    /// Everything before is in `times`.
    now: u64,
    /// `None` before the first.
    latest_end: Option<LatestEnd>,
    running: BinaryHeap<Running>,
    running_kernels: usize,
    /// For how long exactly one kernel ran.
    one_kernel_ns: u64,
    /// The shortest time from the beginning of a call to the start of its activity, and no less
    /// than the call took.
    shortest_launch_ns: Option<u64>,
}

/// The end of the activity that ended last.
#[derive(Clone, Copy, Debug)]
struct LatestEnd {
    time: u64,
    /// [`ClosedNs::at_end`].
    closed_ns: u64,
}

/// The one that ends first is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    end: Reverse<u64>,
    closed_ns: u64,
    start: u64,
    /// For how long exactly one kernel had run when a kernel started, and at least one when a copy
    /// did.
    before_ns: u64,
    row: RowKey,
}

impl DeviceSweep {
    /// The latest start so far. No later activity may start before it.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Activities that have not ended yet.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Passes to the start of an activity. `on_end` gets what ended until then.
    pub(crate) fn start(&mut self, activity: &TimedActivity, on_end: impl FnMut(RowTime)) {
        let TimedActivity {
            start, end, row, ..
        } = *activity;
        self.end_until(start, on_end);
        self.pass(start);
        if let Some(launch) = activity.launch
            && let Some(took) = start.checked_sub(launch.began.get())
        {
            // The clocks of host and device differ by up to some µs: one start that seems too early
            // must not stand for all. An asynchronous call rarely returns after its work began.
            let call_ns = launch.returned.saturating_sub(launch.began.get());
            let took = took.max(call_ns);
            let shortest = self.shortest_launch_ns.map_or(took, |ns| ns.min(took));
            self.shortest_launch_ns = Some(shortest);
        }
        let since = self.latest_end.filter(|since| since.time < start);
        if let Some(since) = since.filter(|_| self.running.is_empty()) {
            self.add_gap(since, activity);
        }
        let before_ns = match row {
            RowKey::Kernel(_) => {
                self.running_kernels += 1;
                self.one_kernel_ns
            }
            RowKey::Copy(_) => self.times.kernel_ns,
        };
        self.running.push(Running {
            end: Reverse(end),
            closed_ns: activity.closed.at_end,
            start,
            before_ns,
            row,
        });
    }

    /// Adds the gap from `since` to the start of an activity, without the time for which the window
    /// was paused.
    fn add_gap(&mut self, since: LatestEnd, activity: &TimedActivity) {
        let LatestEnd { time, closed_ns } = since;
        let (start, closed) = (activity.start, activity.closed);
        let idle_ns = (start - time).saturating_sub(closed.at_start.saturating_sub(closed_ns));
        if idle_ns == 0 {
            return;
        }
        self.times.gaps += 1;
        let Some(LaunchCall { began, returned }) = activity.launch else {
            return;
        };
        if began.get() < time && returned <= time {
            // The window was open at the launch: a pause in the gap is later.
            let launch_ns = LAUNCH_TIMES * self.shortest_launch_ns.unwrap_or(0);
            let arrived = began.get().saturating_add(launch_ns).clamp(time, start);
            let launch_ns = (arrived - time).min(idle_ns);
            self.times.idle_launch_ns += launch_ns;
            self.times.idle_queued_ns += idle_ns - launch_ns;
        } else {
            let before_ns = began.get().clamp(time, start) - time;
            let host_ns = before_ns.saturating_sub(closed.at_launch.saturating_sub(closed_ns));
            let host_ns = host_ns.min(idle_ns);
            self.times.idle_host_ns += host_ns;
            self.times.idle_launch_ns += idle_ns - host_ns;
        }
    }

    /// Passes to the end of the latest activity. Returns the times of the whole sweep.
    pub(crate) fn finish(mut self, on_end: impl FnMut(RowTime)) -> BusyRecords {
        self.end_until(u64::MAX, on_end);
        self.times
    }

    fn end_until(&mut self, time: u64, mut on_end: impl FnMut(RowTime)) {
        while let Some(next) = self.running.peek().filter(|next| next.end.0 <= time) {
            self.pass(next.end.0);
            if let Some(ended) = self.running.pop()
                && let Some(row_time) = self.end(&ended)
            {
                on_end(row_time);
            }
        }
    }

    /// Passes to a time until which nothing starts or ends.
    fn pass(&mut self, time: u64) {
        let ns = time.saturating_sub(self.now);
        self.now += ns;
        match self.running_kernels {
            0 if self.running.is_empty() => {}
            0 => self.times.copy_only_ns += ns,
            kernels => {
                self.times.kernel_ns += ns;
                self.one_kernel_ns += if kernels == 1 { ns } else { 0 };
            }
        }
    }

    /// `None` if its part is empty.
    fn end(&mut self, ended: &Running) -> Option<RowTime> {
        let Running {
            end: Reverse(end),
            closed_ns,
            start,
            before_ns,
            row,
        } = *ended;
        self.latest_end = Some(LatestEnd {
            time: end,
            closed_ns,
        });
        // Without the time that it ran as the only kernel, or beside one.
        let other_ns = match row {
            RowKey::Kernel(_) => {
                self.running_kernels -= 1;
                self.one_kernel_ns - before_ns
            }
            RowKey::Copy(_) => self.times.kernel_ns - before_ns,
        };
        let ns = (end - start).saturating_sub(other_ns);
        (ns > 0).then_some(RowTime { row, ns })
    }
}

#[cfg(test)]
mod tests;
