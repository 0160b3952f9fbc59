use std::num::NonZeroU32;

use super::{
    CallCosts, CallHistory, CallRate, FunctionRate, MAX_ONE_IN, MAX_SITES, ObservedCall,
    SamplingRates, UNSEEN_NS,
};
use crate::settings::Sampling;
use crate::stats::sampling_allowance::Spent;

/// A session whose event pairs may take a two-thousandth in the long run.
fn rates() -> SamplingRates {
    let rates = SamplingRates::new();
    let budget_ppm = NonZeroU32::new(1_334).unwrap();
    rates.begin(Sampling::Auto { budget_ppm }, false, 7, 0);
    rates
}

/// A call of 10 µs on both sides, between events of which an empty pair measures 1 µs.
fn call() -> ObservedCall {
    ObservedCall {
        site: 3,
        epoch: 7,
        thread: 1,
        device: 0,
        gpu_ns: 10_000,
        cpu_ns: 10_000,
        weight: 1,
        pairs: 1,
        event_overhead_ns: 1_000,
        costs: CallCosts::default(),
    }
}

/// The rate of a call with this history, within the allowance or not.
fn rate(rates: &SamplingRates, site: u32, history: CallHistory, is_used_up: bool) -> FunctionRate {
    let spent = Spent::default();
    let now = 0;
    if is_used_up {
        spent.spend(rates.start(), now, 1e9, 0.5);
    }
    let CallRate {
        session, function, ..
    } = rates.call_rate(site, 0, || history, |session| spent.allowance(session, now));
    assert_eq!(session, 0);
    function
}

/// That of a path with very many calls.
fn rate_of_many(rates: &SamplingRates, site: u32) -> FunctionRate {
    let history = CallHistory {
        calls: 1_000_000,
        calls_of_window: 1_000_000,
        is_wanted: false,
    };
    rate(rates, site, history, false)
}

fn one_in(rates: &SamplingRates, site: u32) -> u32 {
    match rate_of_many(rates, site) {
        FunctionRate::Adaptive { one_in, .. } => one_in,
        other => panic!("{other:?}"),
    }
}

/// How long [`settled`] takes, ns.
const SETTLED_NS: u64 = 100_000_000_000;

/// After a call each 10 ms.
fn settled(rates: &SamplingRates, call: ObservedCall) -> u32 {
    let seen = rates
        .seen
        .lock()
        .functions
        .values()
        .map(|seen| seen.noted_at_ns)
        .max();
    let from = seen.unwrap_or(0);
    let times = (from..=from + SETTLED_NS).step_by(10_000_000);
    times.for_each(|now_ns| rates.observe(&call, now_ns));
    one_in(rates, call.site)
}

#[test]
fn a_call_stands_for_few_of_its_path_while_the_budget_permits() {
    let rates = rates();
    let of = |site, calls, calls_of_window, is_wanted, is_used_up| {
        let history = CallHistory {
            calls,
            calls_of_window,
            is_wanted,
        };
        match rate(&rates, site, history, is_used_up) {
            FunctionRate::Adaptive { one_in, .. } => one_in,
            other => panic!("{other:?}"),
        }
    };
    // No call of it is read yet.
    assert_eq!(of(3, 0, 0, false, false), 1);
    assert_eq!(of(3, 79, 79, false, false), 1);
    assert_eq!(of(3, 80, 80, false, false), 2);
    assert_eq!(of(3, 480, 480, false, false), 12);
    assert_eq!(of(3, 480, 480, false, true), 60, "the allowance is used up");
    assert_eq!(
        of(3, 480, 96, false, false),
        2,
        "a window has a sample of its own"
    );
    assert_eq!(
        of(3, 480, 480, true, false),
        1,
        "of a path inside few are timed"
    );
    assert_eq!(of(3, 480, 480, true, true), 60);
    // 3 µs of events in 2,000 × 10 µs.
    assert_eq!(settled(&rates, call()), 600);
    assert_eq!(of(3, 480, 480, false, false), 12);
    assert_eq!(of(3, 480, 480, false, true), 60);
    assert_eq!(of(3, 1_000_000, 480, false, true), 600);
    assert_eq!(one_in(&rates, 4), MAX_ONE_IN, "another function");
}

#[test]
fn calls_that_last_are_all_timed_and_none_stands_for_too_many() {
    let rates = rates();
    let of = |site, gpu_ns, pairs| ObservedCall {
        site,
        gpu_ns,
        cpu_ns: 0,
        pairs,
        ..call()
    };
    assert_eq!(settled(&rates, of(0, 6_000_000, 1)), 1);
    assert_eq!(settled(&rates, of(1, 6_000_000, 2)), 2);
    assert_eq!(settled(&rates, of(2, 0, 1)), MAX_ONE_IN);
    // The function changes.
    assert_eq!(settled(&rates, of(2, 7_000_000, 1)), 1);
    assert_eq!(
        settled(&rates, of(MAX_SITES as u32, 10, 1)),
        1,
        "one too many"
    );
}

#[test]
fn the_larger_of_both_costs_counts_against_the_longer_of_both_times() {
    let rates = rates();
    let costs = CallCosts {
        timed_ns: 6_000,
        left_out_ns: 0,
    };
    let on_cpu = ObservedCall { costs, ..call() };
    assert_eq!(settled(&rates, on_cpu), MAX_ONE_IN, "1,200 are too many");
    let waits = ObservedCall {
        site: 4,
        cpu_ns: 120_000,
        ..on_cpu
    };
    assert_eq!(settled(&rates, waits), 100);
}

#[test]
fn a_function_that_goes_unseen_is_timed_more_and_more_often() {
    let rates = rates();
    assert_eq!(settled(&rates, call()), 600);
    rates.relax(SETTLED_NS + UNSEEN_NS / 4 * 3);
    assert_eq!(one_in(&rates, 3), 600);
    for (time, wanted) in (1..).zip([300, 150, 75, 37, 18, 9, 4, 2, 1, 1]) {
        rates.relax(SETTLED_NS + time * (UNSEEN_NS + 1));
        assert_eq!(one_in(&rates, 3), wanted);
    }
    assert!(rate_of_many(&rates, 3).asks());
}

#[test]
fn calls_of_an_earlier_session_do_not_count() {
    let rates = rates();
    let earlier = ObservedCall { epoch: 6, ..call() };
    assert_eq!(settled(&rates, earlier), MAX_ONE_IN, "nothing is known");
    assert_eq!(settled(&rates, call()), 600);
}

#[test]
fn long_calls_are_timed_although_short_ones_have_spent_too_much() {
    let rates = rates();
    // Of 1 ms, both together spend 6 µs instead of 500 ns: a rate is twelve times as high.
    let long = ObservedCall {
        site: 4,
        gpu_ns: 100_000_000,
        ..call()
    };
    for at in 0..20_000 {
        rates.observe(&call(), at * 1_000_000);
        rates.observe(&long, at * 1_000_000);
    }
    assert_eq!(one_in(&rates, 3), MAX_ONE_IN);
    assert_eq!(one_in(&rates, 4), 1);
}

#[test]
fn calls_too_short_for_the_drivers_queries_go_without() {
    let rates = rates();
    let asks = |cpu_ns, gpu_ns, left_out_ns| {
        let costs = CallCosts {
            timed_ns: 0,
            left_out_ns,
        };
        settled(
            &rates,
            ObservedCall {
                cpu_ns,
                gpu_ns,
                costs,
                ..call()
            },
        );
        matches!(
            rate_of_many(&rates, 3),
            FunctionRate::Adaptive { asks: true, .. }
        )
    };
    // 100 ns of 7,500 × 100 ns.
    assert!(asks(760_000, 0, 0));
    assert!(!asks(740_000, 0, 0));
    assert!(!asks(760_000, 0, 110));
    assert!(asks(10, 6_100_000, 500), "all are timed");
}

#[test]
fn calls_inside_a_wanted_one_count_for_more_only_if_it_is_granted() {
    let rates = rates();
    let one_in = settled(&rates, call());
    assert!(one_in > 10);
    let history = CallHistory {
        calls: 80,
        calls_of_window: 80,
        is_wanted: true,
    };
    let of = |is_used_up| match rate(&rates, 3, history, is_used_up) {
        FunctionRate::Adaptive { one_in, inside, .. } => (one_in, inside),
        FunctionRate::Stated(_) => unreachable!(),
    };
    assert_eq!(of(false), (1, one_in));
    assert_eq!(of(true), (10, 10));
}
