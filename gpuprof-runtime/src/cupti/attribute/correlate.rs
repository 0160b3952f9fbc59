//! From records to tables: by the correlation id of a CUDA call what it ran on the GPU, and the call of a profiled function around it.
//!
//! Records come in any order. What belongs to one CUDA call is kept together until it is whole. Must not import anything that
//! calls CUPTI.

use rustc_hash::FxHashMap;

use super::captures::Captures;
use super::correlation::{Activity, Made};
use super::recorded::{Booked, Symbols, site};
use super::tables::{KernelKey, Tables};
use super::windows::Windows;
use crate::cupti::call_stack::Ended;
use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::{Api, Record};
use crate::gpu::LatePolicy;

/// CUDA calls of which something may still come; past it the older half is let go.
const MOST_CALLS: usize = 1 << 17;
/// Rounds for which a CUDA call is kept that is whole as far as can be known.
const WHOLE_FOR: u32 = 2;
/// Rounds after which what ran on the GPU without a record of its CUDA call is taken as it is.
const ORPHAN_AFTER: u32 = 50;
/// Rounds after which nothing more is waited for: launches of a capture never run, and nothing tells the end of a graph.
const LET_GO_AFTER: u32 = 600;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Join {
    made: FxHashMap<u32, Made>,
    round: u32,
    pub(crate) windows: Windows,
    captures: Captures,
    pub(crate) symbols: Symbols,
    booked: Booked,
    /// The round in which a window was last handed over.
    handed_over: u32,
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
    pub(crate) fn take(&mut self, record: Record) {
        match record {
            Record::Kernel(kernel) => self.ran(Activity::Kernel(kernel)),
            Record::Copy(copy) => self.ran(Activity::Copy(copy)),
            Record::Api { api, call } => {
                if api.end < api.start || api.start == 0 {
                    self.booked.now.invalid += 1;
                    return;
                }
                self.captures.note(&api);
                let made = self.made(api.correlation);
                (made.api, made.call) = (Some(api), call);
                self.settle(api.correlation);
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
        let was_told = std::mem::take(&mut made.is_told_unfinished);
        let launched = made.api.filter(|_| was_told).map(|api| api.start);
        if let Some(tables) = launched.and_then(|at| self.tables_at(at)) {
            tables.came += 1;
        }
        if is_valid {
            let made = self.made(ran.correlation);
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

    /// Books what can be booked of a CUDA call.
    fn settle(&mut self, correlation: u32) {
        let Some(made) = self.made.get_mut(&correlation) else {
            return;
        };
        let Some(api) = made.api else { return };
        let call = made.call;
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
    pub(crate) fn ended(&mut self, ended: Ended) {
        self.booked.ended(ended);
    }

    /// Counts calls that have ended and will never be told.
    pub(crate) fn lose(&mut self, calls: u64) {
        self.booked.now.lost_calls += calls;
    }

    /// Everything finished so far was taken.
    pub(crate) fn flushed(&mut self) {
        self.round += 1;
        self.booked.calls.tidy();
        let round = self.round;
        let of_age = |made: &Made, rounds| round - made.born >= rounds;
        let due: Vec<u32> = self
            .made
            .iter()
            .filter(|(_, made)| match made.api {
                Some(_) if made.is_whole() => round - made.touched >= WHOLE_FOR,
                Some(_) => round - made.touched >= LET_GO_AFTER,
                None => of_age(made, ORPHAN_AFTER),
            })
            .map(|(correlation, _)| *correlation)
            .collect();
        due.into_iter().for_each(|known| self.let_go(known));
    }

    /// Forgets a CUDA call, after what is known of it is booked.
    fn let_go(&mut self, correlation: u32) {
        self.tell_unfinished(correlation);
        self.tell_first(correlation);
        let Some(made) = self.made.remove(&correlation) else {
            return;
        };
        let call = made.call;
        for activity in &made.waiting {
            self.book(activity, made.launched(activity), call);
        }
        let Some(api) = made.api else { return };
        if !made.is_booked
            && let Some(tables) = self.tables_at(api.start)
        {
            tables.add_api(site(call), &api);
        }
    }

    /// Counts a CUDA call whose work has not come in its window.
    fn tell_unfinished(&mut self, correlation: u32) {
        if let Some(launched) = self.unfinished(correlation)
            && let Some(tables) = self.tables_at(launched)
        {
            tables.unfinished += 1;
            if let Some(made) = self.made.get_mut(&correlation) {
                made.is_told_unfinished = true;
            }
        }
    }

    /// Books how long a graph's launch took to get to its first node, as far as nodes have come.
    fn tell_first(&mut self, correlation: u32) {
        let Some(made) = self.made.get_mut(&correlation) else {
            return;
        };
        if let (Some(api), Some((start, key)), false) = (made.api, made.first, made.is_first_booked)
        {
            made.is_first_booked = true;
            if let Some(key) = key {
                self.add_latency(&api, start, key);
            }
        }
    }

    /// Books what is known of every CUDA call: the window that it belongs to is handed over.
    fn settle_all(&mut self) {
        let before = std::mem::replace(&mut self.handed_over, self.round);
        let known: Vec<u32> = self.made.keys().copied().collect();
        for correlation in known {
            let Some(made) = self.made.get_mut(&correlation) else {
                continue;
            };
            if made.api.is_some() {
                self.tell_unfinished(correlation);
                self.settle(correlation);
                self.tell_first(correlation);
            } else if made.born < before {
                // After another whole window nobody would want it any more.
                let call = made.call;
                for activity in std::mem::take(&mut made.waiting) {
                    self.book(&activity, activity.ran().start, call);
                }
            }
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
        known.iter().for_each(|(_, known)| self.let_go(*known));
    }

    /// When this CUDA call was made, if what it had to run has not come.
    fn unfinished(&self, correlation: u32) -> Option<u64> {
        let made = self.made.get(&correlation)?;
        let api = made.api.filter(|_| !made.is_told_unfinished)?;
        let is_captured = || {
            self.booked.calls.is_captured(made.call)
                || (made.purpose() != Some(Purpose::Graph) && self.captures.is_any_at(api.start))
        };
        (made.runs() && made.ran == 0 && !is_captured()).then_some(api.start)
    }

    /// Begins the window of `epoch`, and returns what the one that ends has measured, and what has come for the one kept
    /// before it.
    pub(crate) fn next_window(&mut self, epoch: u32, late: LatePolicy) -> (Tables, Tables) {
        if matches!(late, LatePolicy::KeepCurrent) {
            self.settle_all();
        }
        self.booked.next_window(epoch, late)
    }

    /// What was measured up to now. Calls stay open for what comes later.
    pub(crate) fn seen(&self) -> Seen {
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
        let call = made.call;
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
        if let (Some((start, Some(key))), false) = (made.first, made.is_first_booked) {
            tables.add_latency(key, start.saturating_sub(api.start));
        }
    }
}
