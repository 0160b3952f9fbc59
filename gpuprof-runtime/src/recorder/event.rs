//! An event of the time line in five words, as chunks keep it.

/// Words of an event.
pub(crate) const WORDS: usize = 5;
/// Numbers that the small field of an event has room for.
const MAX_SMALL: u32 = (1 << 24) - 1;

/// One event. `path` is the call path of an annotated function;
/// [`ROOT`](crate::stats::path_ids::ROOT) is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A call of a function on the CPU, or a poll of an async one. Times in clock ticks.
    Cpu {
        path: u32,
        thread: u32,
        started: u64,
        ended: u64,
        /// The number that its GPU spans have as well; 0 for none.
        call: u64,
    },
    /// The span of such a call on one stream.
    Gpu {
        path: u32,
        /// Number of the stream.
        stream: u32,
        /// Number of the context's clock, which `start_ns` is of.
        clock: u32,
        start_ns: i64,
        ns: u64,
        call: u64,
    },
    /// By CUPTI's clock, as the following.
    Kernel {
        path: u32,
        /// Number of the stream.
        queue: u32,
        start_ns: u64,
        end_ns: u64,
        correlation: u32,
        /// Number of the kernel and its launch shape.
        shape: u32,
    },
    /// A copy or memset.
    Copy {
        path: u32,
        queue: u32,
        start_ns: u64,
        end_ns: u64,
        correlation: u32,
        /// Number of its direction.
        kind: u32,
        bytes: u64,
    },
    /// A CUDA call.
    Api {
        /// Number of the thread; `None` if it is unknown.
        thread: Option<u32>,
        start_ns: u64,
        end_ns: u64,
        correlation: u32,
        is_runtime: bool,
        cbid: u32,
    },
}

impl Event {
    #[inline]
    pub(super) fn encode(&self) -> [u64; WORDS] {
        match *self {
            Self::Cpu {
                path,
                thread,
                started,
                ended,
                call,
            } => [head(0, thread, path), started, ended, call, 0],
            Self::Gpu {
                path,
                stream,
                clock,
                start_ns,
                ns,
                call,
            } => {
                let start = start_ns.cast_unsigned();
                [head(1, stream, path), start, ns, call, clock.into()]
            }
            Self::Kernel {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                shape,
            } => {
                let ids = pair(correlation, shape);
                [head(2, queue, path), start_ns, end_ns, ids, 0]
            }
            Self::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind,
                bytes,
            } => {
                let ids = pair(correlation, kind);
                [head(3, queue, path), start_ns, end_ns, ids, bytes]
            }
            Self::Api {
                thread,
                start_ns,
                end_ns,
                correlation,
                is_runtime,
                cbid,
            } => {
                let thread = thread.map_or(0, |thread| thread.saturating_add(1));
                let ids = pair(correlation, cbid);
                [head(4, thread, 0), start_ns, end_ns, ids, is_runtime.into()]
            }
        }
    }

    pub(super) fn decode([head, first, second, third, fourth]: [u64; WORDS]) -> Self {
        let (small, path) = ((head >> 8) as u32 & MAX_SMALL, (head >> 32) as u32);
        let (correlation, low) = ((third >> 32) as u32, third as u32);
        match head as u8 {
            0 => Self::Cpu {
                path,
                thread: small,
                started: first,
                ended: second,
                call: third,
            },
            1 => Self::Gpu {
                path,
                stream: small,
                clock: fourth as u32,
                start_ns: first.cast_signed(),
                ns: second,
                call: third,
            },
            2 => Self::Kernel {
                path,
                queue: small,
                start_ns: first,
                end_ns: second,
                correlation,
                shape: low,
            },
            3 => Self::Copy {
                path,
                queue: small,
                start_ns: first,
                end_ns: second,
                correlation,
                kind: low,
                bytes: fourth,
            },
            _ => Self::Api {
                thread: small.checked_sub(1),
                start_ns: first,
                end_ns: second,
                correlation,
                is_runtime: fourth != 0,
                cbid: low,
            },
        }
    }
}

fn head(tag: u8, small: u32, path: u32) -> u64 {
    u64::from(path) << 32 | u64::from(small.min(MAX_SMALL)) << 8 | u64::from(tag)
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::{Event, MAX_SMALL};

    #[test]
    fn every_event_is_read_as_it_was_written() {
        let (path, queue, correlation) = (u32::MAX, MAX_SMALL, u32::MAX - 1);
        let (start_ns, end_ns) = (u64::MAX - 3, u64::MAX);
        let api = |thread| Event::Api {
            thread,
            start_ns,
            end_ns,
            correlation,
            is_runtime: true,
            cbid: 307,
        };
        let events = [
            Event::Cpu {
                path,
                thread: queue,
                started: 5,
                ended: u64::MAX,
                call: 1 << 63,
            },
            Event::Gpu {
                path: 0,
                stream: 7,
                clock: u32::MAX,
                start_ns: -9,
                ns: 11,
                call: 3 << 32 | 4,
            },
            Event::Kernel {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                shape: 65_535,
            },
            Event::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind: 11,
                bytes: u64::MAX,
            },
            api(None),
            api(Some(0)),
            api(Some(MAX_SMALL - 1)),
        ];
        for event in events {
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
