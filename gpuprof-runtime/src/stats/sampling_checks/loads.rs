//! The programs: which calls they make, and how long these take.

/// A call with the calls nested in it.
#[derive(Debug, Default)]
pub(super) struct LoadCall {
    /// Its row, or `None` for the call that all rows of a program are nested in.
    pub(super) row: usize,
    /// Its time without nested ones, ns.
    pub(super) own_ns: u64,
    pub(super) nested: Vec<LoadCall>,
}

/// A row of a program: a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadRow {
    pub(super) site: u32,
    /// The row that it is nested in.
    pub(super) parent: Option<usize>,
}

pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) rows: &'static [LoadRow],
    /// Threads that take turns.
    pub(super) threads: u64,
    /// Whether an interval is wanted of 100 calls: not where a few calls are most of the time.
    pub(super) has_intervals: bool,
    /// The outermost call of this number, of so many, of `ns` on average.
    pub(super) call: fn(number: u64, of: u64, ns: u64, random: &mut fastrand::Rng) -> LoadCall,
}

const fn outermost(site: u32) -> LoadRow {
    LoadRow { site, parent: None }
}

const fn nested(site: u32, parent: usize) -> LoadRow {
    LoadRow {
        site,
        parent: Some(parent),
    }
}

const ONE: &[LoadRow] = &[outermost(0)];

const fn of_one_row(
    name: &'static str,
    call: fn(u64, u64, u64, &mut fastrand::Rng) -> LoadCall,
) -> Load {
    Load {
        name,
        rows: ONE,
        threads: 1,
        has_intervals: true,
        call,
    }
}

pub(super) const LOADS: &[Load] = &[
    of_one_row("constant", |_, _, ns, random| leaf(0, about(ns, random))),
    of_one_row("bimodal, period 2", |at, _, ns, random| {
        leaf(0, about(ns * if at % 2 == 0 { 5 } else { 1 } / 3, random))
    }),
    of_one_row("bimodal, period 4", |at, _, ns, random| {
        leaf(0, about(ns * if at % 4 == 0 { 5 } else { 1 } / 2, random))
    }),
    of_one_row("bimodal, period 7", |at, _, ns, random| {
        leaf(0, about(ns * if at % 7 == 0 { 35 } else { 7 } / 11, random))
    }),
    of_one_row("growing longer", |at, of, ns, random| {
        leaf(0, about(ns / 10 + 9 * ns * at / of / 5, random))
    }),
    of_one_row("growing shorter", |at, of, ns, random| {
        leaf(0, about(ns / 10 + 9 * ns * (of - at) / of / 5, random))
    }),
    of_one_row("long first calls", |at, _, ns, random| {
        leaf(0, about(if at < 10 { 100 * ns } else { ns }, random))
    }),
    of_one_row("bursts", |at, _, ns, random| {
        leaf(
            0,
            about(ns * if at / 50 % 4 == 3 { 16 } else { 4 } / 7, random),
        )
    }),
    Load {
        has_intervals: false,
        ..of_one_row("lognormal, σ = 1", |_, _, ns, random| {
            leaf(0, (ns as f64 * normal(random).exp()) as u64 + 1)
        })
    },
    Load {
        name: "nested",
        rows: &[outermost(0), nested(1, 0), nested(2, 0), nested(3, 2)],
        threads: 1,
        has_intervals: true,
        call: |at, _, ns, random| LoadCall {
            row: 0,
            own_ns: about(ns / 4, random),
            nested: vec![
                leaf(1, about(ns / 4, random)),
                leaf(1, about(ns / 4, random)),
                LoadCall {
                    row: 2,
                    own_ns: about(ns / 8, random),
                    nested: (0..at % 3)
                        .map(|_| leaf(3, about(ns / 8, random)))
                        .collect(),
                },
            ],
        },
    },
    Load {
        name: "recursive",
        rows: &[outermost(0), nested(0, 0), nested(0, 1)],
        threads: 1,
        has_intervals: true,
        call: |at, _, ns, random| {
            let mut call = leaf((at % 3) as usize, about(ns / 2, random));
            for row in (0..call.row).rev() {
                let own_ns = about(ns / 2, random);
                call = LoadCall {
                    row,
                    own_ns,
                    nested: vec![call],
                };
            }
            call
        },
    },
    Load {
        name: "two threads",
        threads: 2,
        ..of_one_row("", |at, _, ns, random| {
            leaf(0, about(ns * (1 + at % 2) * 2 / 3, random))
        })
    },
    Load {
        name: "eight rows",
        rows: &[
            outermost(0),
            outermost(0),
            outermost(0),
            outermost(0),
            outermost(0),
            outermost(0),
            outermost(0),
            outermost(0),
        ],
        threads: 1,
        has_intervals: true,
        call: |at, _, ns, random| leaf((at % 8) as usize, about(ns, random)),
    },
    Load {
        name: "eight rows nested",
        rows: &[
            outermost(0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
            nested(1, 0),
        ],
        threads: 1,
        has_intervals: true,
        call: |_, _, ns, random| LoadCall {
            row: 0,
            own_ns: 0,
            nested: (1..=8).map(|row| leaf(row, about(ns, random))).collect(),
        },
    },
];

fn leaf(row: usize, own_ns: u64) -> LoadCall {
    LoadCall {
        row,
        own_ns,
        nested: Vec::new(),
    }
}

/// A time with a deviation of 2 %.
fn about(ns: u64, random: &mut fastrand::Rng) -> u64 {
    (ns as f64 * (1.0 + 0.02 * normal(random)).max(0.5)) as u64
}

/// Of the standard normal distribution (Box, Muller).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
