//! An open call: what its span needs when it ends, and how it is then recorded.

use super::position::ParentPosition;
use super::recording::{count_dropped, record_with_frame, valid_work};
use super::thread_state::{NodeError, ThreadState};
use super::time_line::{EndedSpan, RecordedCall};
use crate::clock;
use crate::gpu::frame_stack::FrameToken;
use crate::os::own_work::OwnWork;
use crate::stats::call_outcome::{CallRecord, GpuOutcome, StatedWork, UntimedReason};
use crate::stats::path_counters::PathCounters;

/// An open call.
#[derive(Debug)]
pub(super) struct CallTimer {
    pub(super) node: &'static PathCounters,
    pub(super) parent: ParentPosition,
    pub(super) started: u64,
    pub(super) more: BesidesCpuTime,
}

/// What is to be recorded of a call besides its CPU time.
#[derive(Debug)]
pub(super) enum BesidesCpuTime {
    Nothing,
    /// It is on the time line, without arguments.
    Event,
    Details(CallDetails),
}

impl BesidesCpuTime {
    /// Changes the details, which are empty at first.
    #[inline]
    pub(super) fn change(&mut self, change: impl FnOnce(&mut CallDetails)) {
        if !matches!(self, Self::Details(_)) {
            let recorded = matches!(self, Self::Event).then_some(RecordedCall::Plain);
            *self = Self::Details(CallDetails {
                recorded,
                ..CallDetails::NONE
            });
        }
        if let Self::Details(details) = self {
            change(details);
        }
    }
}

#[derive(Debug)]
pub(super) struct CallDetails {
    /// `None`: it has no stream, and CUPTI is off.
    pub(super) frame: Option<FrameToken>,
    pub(super) work: StatedWork,
    /// Sampling left it out before its stream was looked at.
    pub(super) is_left_out: bool,
    /// It has a stream and is not timed.
    pub(super) is_untimed: bool,
    /// `None`: it is not on the time line.
    pub(super) recorded: Option<RecordedCall>,
}

impl CallDetails {
    pub(super) const NONE: Self = Self {
        frame: None,
        work: StatedWork::NONE,
        is_left_out: false,
        is_untimed: false,
        recorded: None,
    };

    /// Whether only its CPU time is to be recorded.
    #[inline(always)]
    fn is_on_cpu_alone(&self) -> bool {
        self.frame.is_none() && !self.is_left_out && !self.is_untimed && self.work.is_none()
    }
}

impl CallTimer {
    // Not inlined: most calls state none.
    #[inline(never)]
    pub(super) fn set_work(&mut self, thread: &ThreadState, work: &StatedWork) {
        let work = valid_work(thread, work);
        self.more.change(|details| details.work = work);
    }

    /// What the calls without details need, and nothing that is to be saved across another call.
    #[inline(always)]
    pub(super) fn close(&self, thread: &ThreadState) {
        let ended = clock::now();
        match thread.leave_in_order(self.parent, self.ticks_until(ended)) {
            Some(nested_ticks) => self.record(thread, ended, nested_ticks),
            None => self.close_out_of_order(thread, ended),
        }
    }

    #[cold]
    #[inline(never)]
    fn close_out_of_order(&self, thread: &ThreadState, ended: u64) {
        let nested_ticks = thread.leave_out_of_order(self.parent, self.ticks_until(ended));
        self.record(thread, ended, nested_ticks);
    }

    #[inline]
    fn ticks_until(&self, ended: u64) -> u64 {
        // The clocks of two processors may differ.
        ended.saturating_sub(self.started)
    }

    #[inline(always)]
    fn record(&self, thread: &ThreadState, ended: u64, nested_ticks: u64) {
        if matches!(self.more, BesidesCpuTime::Nothing) {
            self.record_time(thread, ended, nested_ticks);
        } else {
            self.record_more(thread, ended, nested_ticks);
        }
    }

    #[inline(always)]
    fn record_time(&self, thread: &ThreadState, ended: u64, nested_ticks: u64) {
        let cpu_ticks = self.ticks_until(ended);
        if !(self.node).record_next_time(cpu_ticks, nested_ticks, thread.writer()) {
            record_first_time(self.node, thread, cpu_ticks, nested_ticks);
        }
    }

    #[inline(never)]
    fn record_more(&self, thread: &ThreadState, ended: u64, nested_ticks: u64) {
        if let BesidesCpuTime::Details(details) = &self.more {
            self.record_details(thread, details, ended, nested_ticks);
        } else {
            self.record_time(thread, ended, nested_ticks);
            thread.with_recorder(|recorder| {
                recorder.record_plain(self.node.path, self.started, ended);
            });
        }
    }

    #[inline(never)]
    fn record_details(
        &self,
        thread: &ThreadState,
        details: &CallDetails,
        ended: u64,
        nested_ticks: u64,
    ) {
        if details.is_on_cpu_alone() {
            self.record_time(thread, ended, nested_ticks);
            if let Some(recorded) = details.recorded {
                self.record_on_time_line(thread, recorded, ended, 0);
            }
            return;
        }
        if details.is_untimed {
            thread.end_untimed();
        }
        if details.frame.is_some() || details.is_untimed {
            let (ticks, is_inside) = (self.ticks_until(ended), !thread.is_outside());
            thread.sampling.watch_outliers(self.node, ticks, is_inside);
        }
        let mut call = CallRecord {
            started: self.started,
            cpu_ticks: self.ticks_until(ended),
            nested_ticks,
            wall_ticks: None,
            outcome: if details.is_left_out {
                GpuOutcome::Untimed(UntimedReason::LeftOutUnasked)
            } else {
                GpuOutcome::NoStream
            },
            work: &details.work,
            gpu_call: 0,
        };
        let recorded = match details.frame {
            Some(frame) => {
                record_with_frame(thread, self.node, &mut call, ended, |gpu| gpu.take(frame))
            }
            None => {
                let _own = OwnWork::begin();
                self.node.record(&call, thread.writer())
            }
        };
        if !recorded {
            count_dropped(thread, NodeError::ThreadEnded);
        }
        if let Some(recorded) = details.recorded {
            self.record_on_time_line(thread, recorded, ended, call.gpu_call);
        }
    }

    #[inline]
    fn record_on_time_line(
        &self,
        thread: &ThreadState,
        recorded: RecordedCall,
        ended: u64,
        gpu_call: u64,
    ) {
        let span = EndedSpan {
            path: self.node.path,
            started: self.started,
            ended,
            gpu_call,
        };
        thread.with_recorder(|recorder| {
            let arguments = recorder.take(recorded);
            recorder.record(&span, arguments);
        });
    }
}

/// Records a call of which only the CPU time is known.
#[cold]
#[inline(never)]
fn record_first_time(node: &PathCounters, thread: &ThreadState, cpu_ticks: u64, nested_ticks: u64) {
    let _own = OwnWork::begin();
    if !node.record_time(cpu_ticks, nested_ticks, thread.writer()) {
        count_dropped(thread, NodeError::ThreadEnded);
    }
}
