//! An event of the time line, and the words in which chunks keep it: two for a call on the CPU,
//! up to five for others.

/// Words of an event at most.
pub(super) const MAX_WORDS: usize = 5;
/// Words of most calls.
pub(super) const CALL_WORDS: usize = 2;
/// Numbers that the small field of an event has room for.
const MAX_SMALL: u32 = (1 << 24) - 1;
/// The bits of a number that stands beside that of a stack.
const NUMBER: u32 = (1 << 16) - 1;

/// One event. `path` is the call path of an annotated function;
/// [`ROOT`](crate::stats::path_ids::ROOT) is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEvent {
    /// A call of a function on the CPU, or a poll of an async one. Times in clock ticks.
    Cpu {
        path: u32,
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
        /// Number of the kernel and its launch shape, of 16 bits.
        shape: u32,
        /// Number of the stack of its launch; 0 for none.
        stack: u16,
    },
    /// A copy or memset.
    Copy {
        path: u32,
        queue: u32,
        start_ns: u64,
        end_ns: u64,
        correlation: u32,
        /// Number of its direction, of 16 bits.
        kind: u32,
        bytes: u64,
        /// As of a kernel.
        stack: u16,
    },
    /// A CUDA call.
    Api {
        /// Number of the thread; `None` if it is unknown.
        thread: Option<u32>,
        start_ns: u64,
        end_ns: u64,
        correlation: u32,
        is_runtime: bool,
        /// Of 16 bits.
        cbid: u32,
        /// Number of its stack; 0 for none.
        stack: u16,
    },
    /// How much memory is live from now on.
    Memory {
        /// Number of its kind among all.
        kind: u32,
        /// `None` for host memory.
        device: Option<u32>,
        time_ns: u64,
        live_bytes: u64,
    },
}

/// The words of one event.
pub(super) enum EventWords {
    Two([u64; CALL_WORDS]),
    Four([u64; 4]),
    Five([u64; MAX_WORDS]),
}

impl CallEvent {
    #[inline(always)]
    pub(super) fn words(&self) -> EventWords {
        match *self {
            Self::Cpu {
                path,
                started,
                ended,
                call,
            } => {
                let took = ended.saturating_sub(started);
                match u32::try_from(took) {
                    Ok(took) if call == 0 && path <= MAX_SMALL => {
                        EventWords::Two([head(Tag::ShortCall, path, took), started])
                    }
                    _ => EventWords::Four([head(Tag::Call, 0, path), started, ended, call]),
                }
            }
            Self::Gpu {
                path,
                stream,
                clock,
                start_ns,
                ns,
                call,
            } => {
                let start = start_ns.cast_unsigned();
                EventWords::Five([head(Tag::Gpu, stream, path), start, ns, call, clock.into()])
            }
            Self::Kernel {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                shape,
                stack,
            } => {
                let ids = pair(correlation, with_stack(shape, stack));
                EventWords::Four([head(Tag::Kernel, queue, path), start_ns, end_ns, ids])
            }
            Self::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind,
                bytes,
                stack,
            } => {
                let ids = pair(correlation, with_stack(kind, stack));
                EventWords::Five([head(Tag::Copy, queue, path), start_ns, end_ns, ids, bytes])
            }
            Self::Api {
                thread,
                start_ns,
                end_ns,
                correlation,
                is_runtime,
                cbid,
                stack,
            } => {
                let thread = thread.map_or(0, |thread| thread.saturating_add(1));
                let ids = pair(correlation, with_stack(cbid, stack));
                let head = head(Tag::Api, thread, is_runtime.into());
                EventWords::Four([head, start_ns, end_ns, ids])
            }
            Self::Memory {
                kind,
                device,
                time_ns,
                live_bytes,
            } => {
                let device = device.map_or(0, |device| device.saturating_add(1));
                EventWords::Four([head(Tag::Memory, kind, device), time_ns, live_bytes, 0])
            }
        }
    }
}

/// What words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkEntry {
    /// The calls that follow are of the thread of this number.
    Thread(u32),
    Event(CallEvent),
}

impl ChunkEntry {
    /// The word that stands before the calls of a thread.
    pub(super) fn thread_word(thread: u32) -> u64 {
        head(Tag::Thread, 0, thread)
    }

    /// Reads the next entry. `None` at the end.
    pub(super) fn read(words: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let head = words.next()?;
        let (small, high) = ((head >> 8) as u32 & MAX_SMALL, (head >> 32) as u32);
        let tag = Tag::ALL.get(head as u8 as usize)?;
        if *tag == Tag::Thread {
            return Some(Self::Thread(high));
        }
        let first = words.next()?;
        if *tag == Tag::ShortCall {
            return Some(Self::Event(CallEvent::Cpu {
                path: small,
                started: first,
                ended: first.saturating_add(high.into()),
                call: 0,
            }));
        }
        let (second, third) = (words.next()?, words.next()?);
        let (correlation, low) = ((third >> 32) as u32, third as u32);
        Some(Self::Event(match tag {
            Tag::Thread | Tag::ShortCall | Tag::Call => CallEvent::Cpu {
                path: high,
                started: first,
                ended: second,
                call: third,
            },
            Tag::Gpu => CallEvent::Gpu {
                path: high,
                stream: small,
                clock: words.next()? as u32,
                start_ns: first.cast_signed(),
                ns: second,
                call: third,
            },
            Tag::Kernel => CallEvent::Kernel {
                path: high,
                queue: small,
                start_ns: first,
                end_ns: second,
                correlation,
                shape: low & NUMBER,
                stack: (low >> 16) as u16,
            },
            Tag::Copy => CallEvent::Copy {
                path: high,
                queue: small,
                start_ns: first,
                end_ns: second,
                correlation,
                kind: low & NUMBER,
                bytes: words.next()?,
                stack: (low >> 16) as u16,
            },
            Tag::Api => CallEvent::Api {
                thread: small.checked_sub(1),
                start_ns: first,
                end_ns: second,
                correlation,
                is_runtime: high != 0,
                cbid: low & NUMBER,
                stack: (low >> 16) as u16,
            },
            Tag::Memory => CallEvent::Memory {
                kind: small,
                device: high.checked_sub(1),
                time_ns: first,
                live_bytes: second,
            },
        }))
    }
}

/// The kind of an entry, in the low byte of its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Thread,
    /// A call without GPU spans that took less than 2³² ticks.
    ShortCall,
    Call,
    Gpu,
    Kernel,
    Copy,
    Api,
    Memory,
}

impl Tag {
    const ALL: [Self; 8] = [
        Self::Thread,
        Self::ShortCall,
        Self::Call,
        Self::Gpu,
        Self::Kernel,
        Self::Copy,
        Self::Api,
        Self::Memory,
    ];
}

#[inline]
fn head(tag: Tag, small: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(small.min(MAX_SMALL)) << 8 | tag as u64
}

fn with_stack(number: u32, stack: u16) -> u32 {
    u32::from(stack) << 16 | number.min(NUMBER)
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::{CallEvent, ChunkEntry, EventWords, MAX_SMALL};

    #[test]
    fn every_event_is_read_as_it_was_written() {
        let (path, queue, correlation) = (u32::MAX, MAX_SMALL, u32::MAX - 1);
        let (start_ns, end_ns) = (u64::MAX - 3, u64::MAX);
        let api = |thread| CallEvent::Api {
            thread,
            start_ns,
            end_ns,
            correlation,
            is_runtime: true,
            cbid: 307,
            stack: u16::MAX,
        };
        let call = |path, took, call| CallEvent::Cpu {
            path,
            started: 5,
            ended: 5 + took,
            call,
        };
        let long = u64::from(u32::MAX) + 1;
        let memory = |device| CallEvent::Memory {
            kind: 2,
            device,
            time_ns: end_ns,
            live_bytes: u64::MAX,
        };
        let events = [
            memory(None),
            memory(Some(7)),
            call(MAX_SMALL, 0, 0),
            call(1, long - 1, 0),
            call(1, long, 0),
            call(MAX_SMALL + 1, 7, 0),
            call(path, u64::MAX - 5, 1 << 63),
            CallEvent::Gpu {
                path: 0,
                stream: 7,
                clock: u32::MAX,
                start_ns: -9,
                ns: 11,
                call: 3 << 32 | 4,
            },
            CallEvent::Kernel {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                shape: 65_535,
                stack: 65_534,
            },
            CallEvent::Copy {
                path,
                queue,
                start_ns,
                end_ns,
                correlation,
                kind: 11,
                bytes: u64::MAX,
                stack: 1,
            },
            api(None),
            api(Some(0)),
            api(Some(MAX_SMALL - 1)),
        ];
        for event in events {
            let words = match event.words() {
                EventWords::Two(words) => words.to_vec(),
                EventWords::Four(words) => words.to_vec(),
                EventWords::Five(words) => words.to_vec(),
            };
            let mut words = words.into_iter();
            assert_eq!(ChunkEntry::read(&mut words), Some(ChunkEntry::Event(event)));
            assert_eq!(ChunkEntry::read(&mut words), None, "{event:?}");
        }
        let mut word = [ChunkEntry::thread_word(u32::MAX)].into_iter();
        assert_eq!(
            ChunkEntry::read(&mut word),
            Some(ChunkEntry::Thread(u32::MAX))
        );
    }
}
