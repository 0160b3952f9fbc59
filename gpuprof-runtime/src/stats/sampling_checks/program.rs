//! Runs a program: each call is decided on, timed or left out, and booked as a real one is.

use std::num::NonZeroU32;

use rustc_hash::FxHashMap;

use super::loads::{Load, LoadCall};
use crate::clock::Scale;
use crate::settings::Sampling;
use crate::site::labels::LabelNumber;
use crate::site::{Meta, Site};
use crate::stats::adaptive_sampling::{CallCosts, OVERHEADS_PER_PAIR, ObservedCall, SamplingRates};
use crate::stats::build_profile::profile;
use crate::stats::busy_union::SpanPlace;
use crate::stats::call_outcome::{CallRecord, GpuOutcome, StatedWork, UntimedReason};
use crate::stats::gpu_totals::{GpuTimeTotals, TimedCall};
use crate::stats::host_totals::Totals;
use crate::stats::path_counters::PathCounters;
use crate::stats::path_ids::{CallPath, ROOT};
use crate::stats::profile_inputs::ProfileInputs;
use crate::stats::sampling_allowance::Spent;
use crate::stats::sampling_decisions::{DecisionStage, SamplingDecision, ThreadDecisions};
use crate::stats::site_counters::SiteCounters;
use crate::stats::window_epoch::{self, WriterEpoch};
use gpuprof_report::profile::{Estimate, Profile};

/// The default: one percent.
const BUDGET_PPM: u32 = 10_000;
/// What an empty pair measures, and what timing a call takes on the CPU.
const EVENT_OVERHEAD_NS: u64 = 1_250;
const COSTS: CallCosts = CallCosts {
    timed_ns: 3_000,
    left_out_ns: 0,
};
/// When the session began.
const BEGAN_NS: u64 = 10_000_000_000;

pub(in crate::stats) static SITES: [&Site; 4] = {
    const fn meta(name: &'static str) -> Site {
        Site::new(Meta::named(name, "program", "program", 1))
    }
    static A: Site = meta("a");
    static B: Site = meta("b");
    static C: Site = meta("c");
    static D: Site = meta("d");
    [&A, &B, &C, &D]
};

/// One figure of the profile, and the truth.
pub(super) struct EstimatedFigure {
    pub(super) name: String,
    pub(super) truth_ns: u64,
    pub(super) estimate_ns: u64,
    /// `None`: it has no interval.
    pub(super) half_width_ns: Option<u64>,
    /// The drawn calls that it rests on: those of the row with the most.
    pub(super) drawn: u64,
}

/// A thread of the program.
struct Thread {
    id: usize,
    writer: WriterEpoch,
    decisions: ThreadDecisions,
    spent: Spent,
    /// By row.
    nodes: Vec<PathCounters>,
}

/// A timed or untimed call that is open.
struct Open {
    row: usize,
    decision: SamplingDecision,
    /// The time of the calls nested in it, by their weights in it.
    nested_ns: u64,
}

struct Program<'a> {
    load: &'a Load,
    now: u64,
    rates: SamplingRates,
    gpu: GpuTimeTotals,
    threads: Vec<Thread>,
    open: Vec<Open>,
    /// By row.
    truth_ns: Vec<u64>,
    drawn: Vec<u64>,
}

/// The figures of `calls` calls, whose outermost take `ns` on average.
pub(super) fn run(load: &Load, ns: u64, calls: u64, seed: u64) -> Vec<EstimatedFigure> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let mut program = Program::new(load, seed);
    // As many calls of each outermost row.
    let rows = load.rows.iter().filter(|row| row.parent.is_none()).count() as u64;
    for number in 0..calls * rows {
        let call = (load.call)(number, calls * rows, ns, &mut random);
        let thread = (number % load.threads) as usize;
        program.call(thread, &call);
    }
    program.figures()
}

impl<'a> Program<'a> {
    fn new(load: &'a Load, seed: u64) -> Self {
        let counters = SiteCounters::leaked(false);
        let epoch = window_epoch::current();
        let nodes = || (0..load.rows.len() as u32).map(|row| PathCounters::new(row + 1, counters));
        let threads = (0..load.threads).map(|number| Thread {
            id: number as usize,
            writer: WriterEpoch::new(WriterEpoch::owner(number as u32 + 1), epoch),
            decisions: ThreadDecisions::with_seed(seed.wrapping_mul(0x9E37_79B9) + number),
            spent: Spent::default(),
            nodes: nodes().collect(),
        });
        let rates = SamplingRates::new();
        let budget_ppm = NonZeroU32::new(BUDGET_PPM).unwrap();
        rates.begin(Sampling::Auto { budget_ppm }, false, epoch, BEGAN_NS);
        Self {
            load,
            now: BEGAN_NS,
            rates,
            gpu: GpuTimeTotals::default(),
            threads: threads.collect(),
            open: Vec::new(),
            truth_ns: vec![0; load.rows.len()],
            drawn: vec![0; load.rows.len()],
        }
    }

    /// Makes a call. Returns its duration without what timing cost.
    fn call(&mut self, thread: usize, call: &LoadCall) -> u64 {
        let (site, began) = (self.load.rows[call.row].site, self.now);
        let decision = self.decide(thread, call.row, site);
        self.open.push(Open {
            row: call.row,
            decision,
            nested_ns: 0,
        });
        let nested: u64 = call.nested.iter().map(|call| self.call(thread, call)).sum();
        let ns = call.own_ns + nested;
        self.now += call.own_ns;
        self.truth_ns[call.row] += ns;
        let open = self.open.pop().unwrap();
        self.record(thread, call.row, decision.is_timed, self.now - began);
        if decision.is_timed {
            self.record_call(thread, &open, site, ns);
        }
        ns
    }

    fn decide(&mut self, thread: usize, row: usize, site: u32) -> SamplingDecision {
        let is_outermost = self.open.is_empty();
        let outer = self.open.last().map(|open| open.decision);
        let (now, outermost) = (self.now, self.open.first().map_or(row, |open| open.row));
        let of = &mut self.threads[thread];
        let mut is_wanted = false;
        let history = || {
            let history = of.nodes[row].history(of.writer, is_outermost);
            is_wanted = history.is_wanted;
            history
        };
        let allowance = |session| of.spent.allowance(session, now);
        let rate = self.rates.call_rate(site, 0, history, allowance);
        if is_wanted && !rate.function.is_sampled() {
            of.nodes[row].sampling.take_wanted();
        }
        of.decisions.set_around(outer);
        let decision = of.decisions.decide(rate, DecisionStage::WithStreams);
        if !decision.is_timed {
            of.nodes[row].miss(&of.nodes[outermost]);
            return decision;
        }
        let (share, session) = self.rates.budget().unwrap();
        let cost_ns = f64::from(COSTS.timed_ns).max(OVERHEADS_PER_PAIR * EVENT_OVERHEAD_NS as f64);
        of.spent.spend(session, now, cost_ns, share);
        self.now += cost_ns as u64;
        decision
    }

    fn record(&mut self, thread: usize, row: usize, is_timed: bool, cpu_ns: u64) {
        let outermost = self.open.first().map_or(row, |open| open.row);
        let of = &self.threads[thread];
        of.nodes[row].watch_outliers(cpu_ns, &of.nodes[outermost]);
        let call = CallRecord {
            started: 0,
            cpu_ticks: cpu_ns,
            nested_ticks: 0,
            wall_ticks: None,
            outcome: if is_timed {
                GpuOutcome::Submitted
            } else {
                GpuOutcome::Untimed(UntimedReason::LeftOutAsked)
            },
            work: &StatedWork::NONE,
            gpu_call: 0,
        };
        assert!(of.nodes[row].record(&call, of.writer));
    }

    fn record_call(&mut self, thread: usize, open: &Open, site: u32, ns: u64) {
        // Whatever is around a timed call is timed.
        let mut around = self.open.iter();
        let is_outermost = around.all(|outer| self.load.rows[outer.row].site != site);
        let parent = self.open.last().map_or(ROOT, |outer| outer.row as u32 + 1);
        if let Some(outer) = self.open.last_mut() {
            outer.nested_ns += ns * u64::from(open.decision.own_weight);
        }
        let draw = open.decision.draw;
        self.drawn[open.row] += u64::from(draw.weight > 1);
        let call = TimedCall {
            path: open.row as u32 + 1,
            site,
            device: 0,
            counts: true,
            own_ns: ns.cast_signed() - open.nested_ns.cast_signed(),
            is_outermost,
            parent,
            with_nested_ns: ns,
            overhead_ns: 0,
            measured_ns: ns,
            is_divided: false,
            is_undivided: false,
            inherits: false,
            may_be_host: false,
            place: SpanPlace::Alone,
            draw,
        };
        self.gpu.add(&call, &StatedWork::NONE, ns);
        let observed = ObservedCall {
            site,
            epoch: self.threads[thread].writer.epoch(),
            thread: self.threads[thread].id,
            device: 0,
            gpu_ns: ns,
            cpu_ns: ns,
            weight: draw.weight,
            pairs: 1,
            event_overhead_ns: EVENT_OVERHEAD_NS,
            costs: COSTS,
        };
        self.rates.observe(&observed, self.now);
    }

    fn figures(mut self) -> Vec<EstimatedFigure> {
        let mut totals = Totals::default();
        for node in self.threads.iter().flat_map(|thread| &thread.nodes) {
            totals.add_node(node.path, &node.read(window_epoch::current()));
        }
        let path = |parent, site, recursive| CallPath {
            parent,
            site,
            label: LabelNumber::NONE,
            recursive,
        };
        let mut paths = vec![path(ROOT, 0, false)];
        for row in self.load.rows {
            let parent = row.parent.map_or(ROOT, |parent| parent as u32 + 1);
            let above = paths.get(parent as usize).filter(|_| parent != ROOT);
            let recursive = above.is_some_and(|above| above.site == row.site);
            paths.push(path(parent, row.site, recursive));
        }
        // Each outermost span was booked when those in it had been: they are in it.
        let mut nested = FxHashMap::default();
        for (&key, time) in &self.gpu.summed {
            let parent = paths[key.0 as usize].parent;
            if parent != ROOT {
                nested.insert(key, *time);
            }
        }
        self.gpu.cover(&nested);
        let mut inputs = ProfileInputs {
            sites: &SITES,
            never_called: Vec::new(),
            in_filter: Box::new(|_| false),
            paths: &paths,
            totals,
            scale: Scale::from_ghz(1.0),
            wall_ns: self.now,
            now: self.now,
            gpu: std::mem::take(&mut self.gpu),
            cupti: None,
        };
        self.compare(&profile(&mut inputs))
    }

    fn compare(&self, profile: &Profile) -> Vec<EstimatedFigure> {
        let mut figures = Vec::new();
        let half_width = |estimate: &Option<Estimate>| match estimate {
            Some(estimate) => estimate.total_ci95_ns,
            None => Some(0),
        };
        for row in &profile.tree {
            let at = row.id as usize - 1;
            figures.push(EstimatedFigure {
                name: format!("row {at}"),
                truth_ns: self.truth_ns[at],
                estimate_ns: row.gpu_total_ns.unwrap_or(0),
                half_width_ns: half_width(&row.gpu_estimate),
                drawn: self.drawn[at],
            });
        }
        let rows = || self.load.rows.iter().enumerate();
        for function in &profile.functions {
            let is_of = |site: u32| SITES[site as usize].name() == function.name;
            let is_outermost = |parent: Option<usize>| {
                parent.is_none_or(|parent| !is_of(self.load.rows[parent].site))
            };
            let own = rows().filter(|(_, row)| is_of(row.site));
            let outermost = own.clone().filter(|(_, row)| is_outermost(row.parent));
            let gpu = function.gpu.as_ref().unwrap();
            figures.push(EstimatedFigure {
                name: format!("function {}", function.name),
                truth_ns: outermost.map(|(at, _)| self.truth_ns[at]).sum(),
                estimate_ns: gpu.times.total_ns,
                half_width_ns: half_width(&gpu.estimate),
                drawn: own.map(|(at, _)| self.drawn[at]).max().unwrap_or(0),
            });
        }
        let outermost = rows().filter(|(_, row)| row.parent.is_none());
        let busy = &profile.gpu_busy[0];
        figures.push(EstimatedFigure {
            name: "header".to_owned(),
            truth_ns: outermost.clone().map(|(at, _)| self.truth_ns[at]).sum(),
            estimate_ns: busy.busy_ns,
            half_width_ns: if busy.is_estimated {
                busy.busy_ci95_ns
            } else {
                Some(0)
            },
            drawn: outermost.map(|(at, _)| self.drawn[at]).max().unwrap_or(0),
        });
        figures
    }
}
