use std::num::NonZeroU32;
use std::thread;

use super::{
    CallCosts, FIRST_CALLS, FunctionRate, MAX_ONE_IN, MAX_SITES, ObservedCall, STAGE,
    SamplingRates, UNSEEN_NS,
};
use crate::settings::Sampling;

/// A session whose event pairs may take a two-thousandth.
fn rates() -> SamplingRates {
    let rates = SamplingRates::new();
    let budget_ppm = NonZeroU32::new(1_000).unwrap();
    rates.begin(Sampling::Auto { budget_ppm }, false, 7);
    rates
}

/// A call of 10 µs on both sides, between events of which an empty pair measures 1 µs.
fn call() -> ObservedCall {
    ObservedCall {
        site: 3,
        epoch: 7,
        thread: thread::current().id(),
        device: 0,
        gpu_ns: 10_000,
        cpu_ns: 10_000,
        weight: 1,
        pairs: 1,
        event_overhead_ns: 1_000,
        costs: CallCosts::default(),
    }
}

fn one_in(rates: &SamplingRates, site: u32) -> u32 {
    match rates.of_call(site, 0) {
        (0, FunctionRate::Adaptive { one_in, .. }) => one_in,
        other => panic!("{other:?}"),
    }
}

fn settled(rates: &SamplingRates, call: ObservedCall) -> u32 {
    (0..10_000).for_each(|_| rates.note(&call, 0));
    one_in(rates, call.site)
}

#[test]
fn the_first_calls_are_all_timed_then_fewer_by_stages() {
    let rates = rates();
    let note = |calls| (0..calls).for_each(|_| rates.note(&call(), 0));
    assert_eq!(one_in(&rates, 3), 1);
    note(FIRST_CALLS + STAGE - 1);
    assert_eq!(one_in(&rates, 3), 1);
    note(1);
    assert_eq!(one_in(&rates, 3), 2);
    note(STAGE);
    assert_eq!(one_in(&rates, 3), 4);
    // 3 µs of events in 2000 × 10 µs.
    note(100 * STAGE);
    assert_eq!(one_in(&rates, 3), 600);
    assert_eq!(one_in(&rates, 4), 1, "another function");
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
    rates.relax(UNSEEN_NS / 4 * 3);
    assert_eq!(one_in(&rates, 3), 600);
    for (time, wanted) in (1..).zip([300, 150, 75, 37, 18, 9, 4, 2, 1, 1]) {
        rates.relax(time * (UNSEEN_NS + 1));
        assert_eq!(one_in(&rates, 3), wanted);
    }
    assert!(rates.of_call(3, 0).1.asks());
}

#[test]
fn calls_of_an_earlier_session_do_not_count() {
    let rates = rates();
    let earlier = ObservedCall { epoch: 6, ..call() };
    assert_eq!(settled(&rates, earlier), 1);
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
        rates.note(&call(), at * 1_000_000);
        rates.note(&long, at * 1_000_000);
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
            rates.of_call(3, 0).1,
            FunctionRate::Adaptive { asks: true, .. }
        )
    };
    // 100 ns of 10,000 × 100 ns.
    assert!(asks(1_010_000, 0, 0));
    assert!(!asks(990_000, 0, 0));
    assert!(!asks(1_010_000, 0, 110));
    assert!(asks(10, 6_100_000, 500), "all are timed");
}
