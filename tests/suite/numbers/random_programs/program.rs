//! A random program as data, printed as pseudo code.

use std::fmt;

/// Streams that a program chooses from, without per-thread ones.
pub(super) const STREAMS: usize = 2;
/// Places for futures that are polled by hand.
pub(super) const SLOTS: usize = 3;

/// What threads do, and in which order they take turns.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) threads: Vec<Vec<Step>>,
    /// Whether all threads use the same streams.
    pub(super) shares_streams: bool,
    /// Who takes each turn, by its position among the threads that still run; repeated.
    pub(super) order: Vec<u8>,
    /// After so many turns the profile is made, with calls in progress; else at the end.
    pub(super) ends_after: Option<usize>,
}

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Stream(usize),
    /// The per-thread default stream, handle 0x2.
    PerThread,
}

/// An annotated function; each exists also as an `async fn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    On(Lane),
    /// Another function with a stream.
    Other(Lane),
    Both(Lane, Lane),
    Inherits,
    Cpu,
}

/// A call, with what it does.
pub(super) type Call = (Function, Vec<Step>);

/// What a thread, a call or a future does. Where a thread comes upon a step of futures, it blocks.
#[derive(Clone)]
pub(super) enum Step {
    /// Launches a kernel of so many ns.
    Kernel(Lane, u64),
    /// Passes CPU time, ns.
    Cpu(u64),
    /// Waits for the GPU.
    Synchronize,
    Call(Call),
    WithStream(Lane, Vec<Step>),
    Await(Call),
    /// Polls all in turn until they are ready.
    Join(Vec<Call>),
    /// Is pending once.
    Pause,
    /// Makes a future, without a poll; drops the one that was in this slot.
    Make(usize, Call),
    Poll(usize),
    Drop(usize),
    Snapshot,
    Reset,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.shares_streams {
            ""
        } else {
            " of its own"
        };
        write!(
            f,
            "streams 0 to {}{whose}; order {:?}",
            STREAMS - 1,
            self.order
        )?;
        if let Some(turns) = self.ends_after {
            write!(f, "; profile after {turns} turns")?;
        }
        for (number, steps) in self.threads.iter().enumerate() {
            write!(f, "\nthread {number} ")?;
            write_block(f, steps, 0)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_step(f, self, 0)
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, steps: &[Step], depth: usize) -> fmt::Result {
    f.write_str("{")?;
    for step in steps {
        write!(f, "\n{:1$}", "", 4 * (depth + 1))?;
        write_step(f, step, depth + 1)?;
    }
    if steps.is_empty() {
        f.write_str("}")
    } else {
        write!(f, "\n{:1$}}}", "", 4 * depth)
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &Step, depth: usize) -> fmt::Result {
    let call = |f: &mut fmt::Formatter<'_>, (function, steps): &Call| {
        write!(f, "{function:?} ")?;
        write_block(f, steps, depth)
    };
    match step {
        Step::Kernel(lane, ns) => write!(f, "kernel({lane:?}, {ns})"),
        Step::Cpu(ns) => write!(f, "cpu({ns})"),
        Step::Synchronize => f.write_str("synchronize"),
        Step::Call(called) => call(f, called),
        Step::WithStream(lane, steps) => {
            write!(f, "with_stream({lane:?}) ")?;
            write_block(f, steps, depth)
        }
        Step::Await(called) => {
            f.write_str("await async ")?;
            call(f, called)
        }
        Step::Join(calls) => {
            f.write_str("join")?;
            calls.iter().try_for_each(|called| {
                f.write_str(" async ")?;
                call(f, called)
            })
        }
        Step::Pause => f.write_str("pause"),
        Step::Make(slot, called) => {
            write!(f, "future {slot} = async ")?;
            call(f, called)
        }
        Step::Poll(slot) => write!(f, "poll future {slot}"),
        Step::Drop(slot) => write!(f, "drop future {slot}"),
        Step::Snapshot => f.write_str("snapshot"),
        Step::Reset => f.write_str("reset"),
    }
}
