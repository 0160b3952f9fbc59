//! From records to tables: by the correlation id of a CUDA call what it ran on the GPU, and the call of a profiled function around it.
//!
//! Records come in any order. What belongs to one CUDA call is kept together until it is whole. Must not import anything that
//! calls CUPTI.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::booked::{Booked, Symbols, site};
use super::calls::Ended;
use super::cbids::Purpose;
use super::made::{Activity, Made};
use super::record::{Api, Record};
use super::tables::{KernelKey, Tables};
use super::windows::Windows;
use crate::gpu::Late;

/// CUDA calls of which something may still come; past it the older half is let go.
const MOST_CALLS: usize = 1 << 17;
/// Rounds after which a CUDA call that CUPTI names no profiled function for is outside of all.
const OUTSIDE_AFTER: u32 = 2;
/// Rounds for which a CUDA call is kept that is whole as far as can be known.
const WHOLE_FOR: u32 = 2;
/// Rounds after which what ran on the GPU without a record of its CUDA call is taken as it is.
const ORPHAN_AFTER: u32 = 50;
/// Rounds after which nothing more is waited for: launches of a capture never run, and nothing tells the end of a graph.
const LET_GO_AFTER: u32 = 600;
/// Beginnings and ends of captures that are kept.
const MOST_CAPTURES: usize = 4_096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Join {
    made: FxHashMap<u32, Made>,
    round: u32,
    pub(super) windows: Windows,
    /// Captures begun and ended, in CUPTI's time.
    captures: VecDeque<(u64, bool)>,
    pub(super) symbols: Symbols,
    booked: Booked,
}

/// All that was measured up to now.
pub(crate) struct Seen {
    pub(crate) now: Tables,
    /// Of an earlier window that still counts.
    pub(crate) late: Tables,
    /// Kernel names by number.
    pub(crate) symbols: Symbols,
}

impl Join {
    /// Takes one record.
    pub(super) fn take(&mut self, record: Record) {
        match record {
            Record::Kernel(kernel) => self.ran(Activity::Kernel(kernel)),
            Record::Copy(copy) => self.ran(Activity::Copy(copy)),
            Record::Api(api) => {
                if api.end < api.start || api.start == 0 {
                    self.booked.now.invalid += 1;
                    return;
                }
                self.note_capture(&api);
                self.made(api.correlation).api = Some(api);
                self.settle(api.correlation);
            }
            Record::External { correlation, call } => {
                self.made(correlation).call = Some(call);
                self.settle(correlation);
            }
        }
        if self.made.len() > MOST_CALLS {
            self.make_room();
        }
    }

    fn ran(&mut self, activity: Activity) {
        let ran = *activity.ran();
        let is_valid = ran.start != 0 && ran.end >= ran.start;
        if !is_valid {
            self.booked.now.invalid += 1;
        }
        if ran.correlation == 0 {
            // Made by no CUDA call of the program's.
            if is_valid {
                self.book(&activity, ran.start, 0);
            }
            return;
        }
        let made = self.made(ran.correlation);
        made.ran += 1;
        if is_valid {
            made.waiting.push(activity);
            self.settle(ran.correlation);
        }
    }

    fn made(&mut self, correlation: u32) -> &mut Made {
        let round = self.round;
        let made = self.made.entry(correlation).or_insert_with(|| Made {
            born: round,
            ..Made::default()
        });
        made.touched = round;
        made
    }

    fn note_capture(&mut self, api: &Api) {
        let (time, begins) = match api.function.purpose() {
            Some(Purpose::BeginCapture) if !api.failed => (api.start, true),
            Some(Purpose::EndCapture) => (api.end, false),
            _ => return,
        };
        if self.captures.len() == MOST_CAPTURES {
            self.captures.pop_front();
        }
        self.captures.push_back((time, begins));
    }

    /// Whether any stream was being captured at `time`, as far as that is known.
    fn is_capturing(&self, time: u64) -> bool {
        // One that ends at that very moment was still under way.
        let count = |begins| {
            let of_kind = self.captures.iter().filter(|(_, kind)| *kind == begins);
            of_kind
                .filter(|(known, _)| *known < time || (begins && *known == time))
                .count()
        };
        count(true) > count(false)
    }

    /// Books what can be booked of a CUDA call.
    fn settle(&mut self, correlation: u32) {
        let Some(made) = self.made.get_mut(&correlation) else {
            return;
        };
        let (Some(api), Some(call)) = (made.api, made.call) else {
            return;
        };
        let is_graph = made.purpose() == Some(Purpose::Graph);
        let waiting = std::mem::take(&mut made.waiting);
        let is_new = !std::mem::replace(&mut made.is_booked, true);
        if is_new && let Some(tables) = self.tables_at(api.start) {
            tables.add_api(site(call), &api);
        }
        for activity in waiting {
            let key = self.book(&activity, api.start, call);
            let start = activity.ran().start;
            match (is_graph, key) {
                (true, _) => self.note_node(correlation, start, key),
                (false, Some(key)) => self.add_latency(&api, start, key),
                (false, None) => {}
            }
        }
    }

    fn note_node(&mut self, correlation: u32, start: u64, key: Option<KernelKey>) {
        if let Some(made) = self.made.get_mut(&correlation)
            && made.first.is_none_or(|(first, _)| start < first)
        {
            made.first = Some((start, key));
        }
    }

    fn add_latency(&mut self, api: &Api, start: u64, key: KernelKey) {
        if let Some(tables) = self.tables_at(api.start) {
            tables.add_latency(key, start.saturating_sub(api.start));
        }
    }

    fn tables_at(&mut self, time: u64) -> Option<&mut Tables> {
        let epoch = self.windows.at(time)?;
        self.booked.of(epoch)
    }

    fn book(&mut self, activity: &Activity, launched: u64, call: u64) -> Option<KernelKey> {
        let epoch = self.windows.at(launched)?;
        let symbol = self.symbols.of(activity);
        self.booked.add(epoch, call, activity, symbol)
    }

    /// Takes a call that has ended.
    pub(super) fn ended(&mut self, ended: Ended) {
        self.booked.ended(ended);
    }

    /// Counts calls that have ended and will never be told.
    pub(super) fn lose(&mut self, calls: u64) {
        self.booked.now.lost_calls += calls;
    }

    /// Everything finished so far was taken.
    pub(super) fn flushed(&mut self) {
        self.round += 1;
        self.booked.calls.tidy();
        let round = self.round;
        let of_age = |made: &Made, rounds| round - made.born >= rounds;
        let due: Vec<u32> = self
            .made
            .iter()
            .filter(|(_, made)| match made.api {
                Some(_) if made.call.is_none() => of_age(made, OUTSIDE_AFTER),
                Some(_) if made.is_whole() => round - made.touched >= WHOLE_FOR,
                Some(_) => round - made.touched >= LET_GO_AFTER,
                None => of_age(made, ORPHAN_AFTER),
            })
            .map(|(correlation, _)| *correlation)
            .collect();
        for correlation in due {
            let outside = self
                .made
                .get_mut(&correlation)
                .filter(|made| made.api.is_some() && made.call.is_none());
            match outside {
                Some(made) => {
                    made.call = Some(0);
                    self.settle(correlation);
                }
                None => self.let_go(correlation),
            }
        }
    }

    /// Forgets a CUDA call, after what is known of it is booked.
    fn let_go(&mut self, correlation: u32) {
        let Some(made) = self.made.remove(&correlation) else {
            return;
        };
        let call = made.call.unwrap_or(0);
        for activity in &made.waiting {
            self.book(activity, made.launched(activity), call);
        }
        let Some(api) = made.api else { return };
        if !made.is_booked
            && let Some(tables) = self.tables_at(api.start)
        {
            tables.add_api(site(call), &api);
        }
        if let Some((start, Some(key))) = made.first {
            self.add_latency(&api, start, key);
        }
    }

    /// Lets go of what is whole, and if that is not enough of the older half.
    fn make_room(&mut self) {
        let whole: Vec<u32> = self
            .made
            .iter()
            .filter(|(_, made)| made.is_whole())
            .map(|(correlation, _)| *correlation)
            .collect();
        whole.into_iter().for_each(|known| self.let_go(known));
        if self.made.len() <= MOST_CALLS / 2 {
            return;
        }
        let mut known: Vec<(u32, u32)> = self
            .made
            .iter()
            .map(|(correlation, made)| (made.born, *correlation))
            .collect();
        known.sort_unstable();
        known.truncate(known.len() / 2);
        for (_, correlation) in known {
            if let Some(launched) = self.unfinished(correlation)
                && let Some(tables) = self.tables_at(launched)
            {
                tables.unfinished += 1;
            }
            self.let_go(correlation);
        }
    }

    /// When this CUDA call was made, if what it had to run has not come.
    fn unfinished(&self, correlation: u32) -> Option<u64> {
        let made = self.made.get(&correlation)?;
        let api = made.api?;
        let is_captured = || {
            made.call
                .is_some_and(|call| self.booked.calls.is_captured(call))
                || (made.purpose() != Some(Purpose::Graph) && self.is_capturing(api.start))
        };
        (made.runs() && made.ran == 0 && !is_captured()).then_some(api.start)
    }

    /// Begins the window of `epoch`, and returns what the one that ends has measured, and what has come for the one kept
    /// before it.
    pub(super) fn next_window(&mut self, epoch: u32, late: Late) -> (Tables, Tables) {
        self.booked.next_window(epoch, late)
    }

    /// What was measured up to now. Calls stay open for what comes later.
    pub(super) fn seen(&self) -> Seen {
        let (mut booked, mut symbols) = (self.booked.clone(), self.symbols.clone());
        booked.close_all();
        for (correlation, made) in &self.made {
            if let Some(launched) = self.unfinished(*correlation)
                && let Some(tables) = self.windows.at(launched).and_then(|at| booked.of(at))
            {
                tables.unfinished += 1;
            }
            self.show(made, &mut booked, &mut symbols);
        }
        let (now, late) = booked.into_tables();
        Seen { now, late, symbols }
    }

    /// Adds what waits for more, as if no more came.
    fn show(&self, made: &Made, booked: &mut Booked, symbols: &mut Symbols) {
        let call = made.call.unwrap_or(0);
        for activity in &made.waiting {
            let symbol = symbols.of(activity);
            if let Some(epoch) = self.windows.at(made.launched(activity)) {
                booked.add(epoch, call, activity, symbol);
            }
        }
        let Some(api) = made.api else { return };
        let Some(tables) = self.windows.at(api.start).and_then(|at| booked.of(at)) else {
            return;
        };
        if !made.is_booked {
            tables.add_api(site(call), &api);
        }
        if let Some((start, Some(key))) = made.first {
            tables.add_latency(key, start.saturating_sub(api.start));
        }
    }
}
