//! PC sampling in continuous mode: while it is enabled for a context, launches that end there add
//! samples, which the client reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use simbase::activity::{Activity, ActivityKind, FoundContext};

use crate::known_kernels::KnownKernels;
use crate::modules::{Image, Modules};
use crate::pc_samples::{Collected, PcSamples};
use crate::pc_sampling_parameters::{Attribute, DataBuffer};
use crate::result_codes::{Answer, Code};
use crate::stall_model::{COUNT, Stall, StallModels};

/// A launch of a kernel for which a test has set samples.
struct Launch {
    context: u32,
    end: u64,
    kernel: &'static str,
    image: Arc<Image>,
    stalls: Vec<Stall>,
    /// Otherwise only the number of its samples is told.
    is_known: bool,
}

/// The logarithm of the interval for which tests set samples; a longer one has fewer.
const MODEL_PERIOD: u32 = 12;

/// An instruction: checksum of the image, function and offset.
type Pc = (u64, &'static str, u64);

/// The sampling of a context.
struct Session {
    /// Of the context.
    handle: u64,
    context: FoundContext,
    reasons: Vec<u32>,
    /// The logarithm of the interval.
    period: u32,
    /// The hardware buffer was full: so it stays until sampling is disabled, as parcagpu found.
    is_full: bool,
    /// The client starts and stops it.
    is_controlled: bool,
    is_started: bool,
    /// How often it was started.
    range: u64,
    buffer: Option<DataBuffer>,
    pcs: BTreeMap<Pc, PcSamples>,
    total: u64,
    /// Those of them in unknown code.
    unknown: u64,
}

impl Session {
    fn add(&mut self, launch: &Launch) {
        for stall in &launch.stalls {
            let samples = u64::from(self.samples(stall));
            self.total += samples;
            if !launch.is_known {
                self.unknown += samples;
                continue;
            }
            let asked = stall.indices().filter(|index| self.reasons.contains(index));
            for index in asked.collect::<Vec<_>>() {
                self.add_samples(launch, stall, index);
            }
        }
    }

    /// The samples of a launch at one place.
    fn samples(&self, stall: &Stall) -> u32 {
        stall.samples >> self.period.saturating_sub(MODEL_PERIOD)
    }

    fn add_samples(&mut self, launch: &Launch, stall: &Stall, index: u32) {
        let samples = self.samples(stall);
        let pc = (launch.image.checksum, launch.kernel, stall.offset);
        let entry = self.pcs.entry(pc).or_insert_with(|| PcSamples {
            checksum: launch.image.checksum,
            function: launch.kernel,
            symbol: launch.image.symbol(launch.kernel),
            offset: stall.offset,
            reasons: Vec::new(),
        });
        match entry.reasons.binary_search_by_key(&index, |(of, _)| *of) {
            Ok(at) => entry.reasons[at].1 += samples,
            Err(at) => entry.reasons.insert(at, (index, samples)),
        }
    }
}

pub(crate) struct PcSampling {
    pub(crate) models: StallModels,
    /// By the context's number.
    sessions: BTreeMap<u32, Session>,
    /// Those that may not be over yet.
    launches: Vec<Launch>,
    /// What a test adds to the next read.
    pub(crate) dropped: u64,
    pub(crate) other: u64,
    pub(crate) is_full: bool,
}

impl PcSampling {
    pub(crate) const fn new() -> PcSampling {
        PcSampling {
            models: StallModels::new(),
            sessions: BTreeMap::new(),
            launches: Vec::new(),
            dropped: 0,
            other: 0,
            is_full: false,
        }
    }

    /// Whether it is enabled for no context.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether it is enabled for a context of the device.
    pub(crate) fn uses(&self, device: u32) -> bool {
        let mut sessions = self.sessions.values();
        sessions.any(|session| session.context.device == device)
    }

    /// Adds the launches of a call that ends at `now`.
    pub(crate) fn add_activities(
        &mut self,
        activities: &[Activity],
        modules: &mut Modules,
        known: &mut KnownKernels,
        now: u64,
    ) {
        for activity in activities {
            let ActivityKind::Kernel { name, module, .. } = activity.kind else {
                continue;
            };
            let is_sampled = self.sessions.contains_key(&activity.context);
            let is_known = known.knows(name.text(), is_sampled);
            let stalls = self.models.of(name.text());
            if stalls.is_empty() {
                continue;
            }
            self.launches.push(Launch {
                context: activity.context,
                end: activity.end,
                kernel: name.text(),
                image: modules.image(module),
                stalls: stalls.to_vec(),
                is_known,
            });
        }
        let sessions = &self.sessions;
        self.launches
            .retain(|launch| launch.end > now || sessions.contains_key(&launch.context));
    }

    /// The sampled context with this handle.
    pub(crate) fn of_handle(&self, handle: u64) -> Option<FoundContext> {
        let mut sessions = self.sessions.values();
        let session = sessions.find(|session| session.handle == handle)?;
        Some(session.context)
    }

    /// INVALID_OPERATION for a context for which it is enabled.
    pub(crate) fn enable(&mut self, handle: u64, context: FoundContext, now: u64) -> Answer {
        if self.sessions.contains_key(&context.number) {
            return Err(Code::INVALID_OPERATION);
        }
        self.launches
            .retain(|launch| launch.end > now || launch.context != context.number);
        let session = Session {
            handle,
            context,
            reasons: (0..COUNT as u32).collect(),
            period: MODEL_PERIOD,
            is_full: false,
            is_controlled: false,
            is_started: false,
            range: 0,
            buffer: None,
            pcs: BTreeMap::new(),
            total: 0,
            unknown: 0,
        };
        self.sessions.insert(context.number, session);
        Ok(())
    }

    /// The sampling of a context, with all launches that are over by `now`; INVALID_OPERATION if it
    /// is not enabled.
    fn session(&mut self, context: FoundContext, now: u64) -> Answer<&mut Session> {
        let session = self.sessions.get_mut(&context.number);
        let session = session.ok_or(Code::INVALID_OPERATION)?;
        let is_over = |launch: &mut Launch| launch.context == context.number && launch.end <= now;
        for launch in self.launches.extract_if(.., is_over) {
            if session.is_started || !session.is_controlled {
                session.add(&launch);
            }
        }
        Ok(session)
    }

    /// INVALID_OPERATION if it is not enabled for the context.
    pub(crate) fn check(&mut self, context: FoundContext, now: u64) -> Answer {
        self.session(context, now).map(drop)
    }

    pub(crate) fn configure(
        &mut self,
        context: FoundContext,
        now: u64,
        attribute: Attribute,
    ) -> Answer {
        let session = self.session(context, now)?;
        match attribute {
            Attribute::StallReasons(reasons) => session.reasons = reasons,
            Attribute::Period(period) => session.period = period,
            Attribute::StartStopControl(is_controlled) => session.is_controlled = is_controlled,
            Attribute::DataBuffer(buffer) => session.buffer = Some(buffer),
            Attribute::WithoutEffect => {}
        }
        Ok(())
    }

    /// Starts or stops it; INVALID_OPERATION if it is already, or the client has no control.
    pub(crate) fn set_started(&mut self, context: FoundContext, now: u64, start: bool) -> Answer {
        let session = self.session(context, now)?;
        if !session.is_controlled || session.is_started == start {
            return Err(Code::INVALID_OPERATION);
        }
        session.is_started = start;
        session.range += u64::from(start);
        Ok(())
    }

    /// What has come since the last read, at most `limit` instructions; the others remain. After
    /// the hardware buffer was full there is nothing.
    pub(crate) fn read(
        &mut self,
        context: FoundContext,
        now: u64,
        limit: usize,
    ) -> Answer<Collected> {
        let becomes_full = std::mem::take(&mut self.is_full);
        let session = self.session(context, now)?;
        session.is_full |= becomes_full;
        if session.is_full {
            session.pcs.clear();
            (session.total, session.unknown) = (0, 0);
            return Ok(Collected {
                range: session.range,
                is_full: true,
                ..Collected::default()
            });
        }
        let mut collected = Collected {
            range: session.range,
            total: std::mem::take(&mut session.total),
            ..Collected::default()
        };
        while collected.pcs.len() < limit
            && let Some((_, samples)) = session.pcs.pop_first()
        {
            collected.pcs.push(samples);
        }
        collected.remaining = session.pcs.len();
        collected.other = std::mem::take(&mut session.unknown);
        collected.dropped = std::mem::take(&mut self.dropped);
        collected.total += collected.dropped + self.other;
        collected.other += std::mem::take(&mut self.other);
        Ok(collected)
    }

    /// Ends the sampling of a context; returns the buffer for what is left.
    pub(crate) fn disable(
        &mut self,
        context: FoundContext,
        now: u64,
    ) -> Answer<Option<(DataBuffer, Collected)>> {
        let buffer = self.session(context, now)?.buffer.take();
        let left = match buffer {
            Some(buffer) => {
                let collected = self.read(context, now, buffer.room()?)?;
                Some((buffer, collected))
            }
            None => None,
        };
        self.sessions.remove(&context.number);
        Ok(left)
    }

    /// Forgets a destroyed context.
    pub(crate) fn forget(&mut self, context: u32) {
        self.sessions.remove(&context);
        self.launches.retain(|launch| launch.context != context);
    }
}
