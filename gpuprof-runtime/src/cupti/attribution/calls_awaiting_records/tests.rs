use super::{
    ActivityInterval, Added, CallsAwaitingRecords, EndedCall, MAX_AWAITED_CALLS, MAX_ENDED_CALLS,
    MAX_RUNNING_CALLS,
};

fn interval(start: u64, end: u64) -> ActivityInterval {
    ActivityInterval {
        start,
        end,
        is_kernel: true,
        stream: (1, 7),
        device: 0,
    }
}

fn ended(id: u64, parent: u64) -> EndedCall {
    EndedCall {
        id,
        path: 0,
        parent,
        is_outermost: true,
        is_timed: true,
        is_left_out: false,
        is_captured: false,
        cpu_ticks: 1,
        is_first: false,
        epoch: 1,
    }
}

fn with_running<const N: usize>(ids: [u64; N]) -> CallsAwaitingRecords {
    let mut calls = CallsAwaitingRecords::default();
    ids.into_iter().for_each(|id| calls.add_running(id));
    calls
}

fn close_all(calls: &mut CallsAwaitingRecords) -> Vec<(u64, u64, u64)> {
    std::iter::from_fn(|| calls.close_oldest())
        .map(|closed| {
            let activity = &closed.activity;
            let busy_ns = activity.busy.length_ns();
            (closed.ended.id, busy_ns, activity.activities)
        })
        .collect()
}

fn no_late(_: &EndedCall) {
    panic!("nothing is late");
}

#[test]
fn busy_time_is_the_union_over_a_call_and_its_nested_calls() {
    let mut calls = with_running([1, 2, 3]);
    calls.add(1, 1, &interval(0, 10), no_late);
    calls.add(2, 1, &interval(5, 20), no_late);
    calls.end(ended(2, 1));
    calls.add(3, 1, &interval(15, 40), no_late);
    calls.end(ended(3, 1));
    calls.end(ended(1, 0));
    calls.add(3, 1, &interval(60, 70), no_late);
    let closed = close_all(&mut calls);
    assert_eq!(closed, [(2, 15, 1), (3, 35, 2), (1, 50, 4)]);
}

#[test]
fn only_activities_from_the_final_window_of_a_call_are_counted() {
    let mut calls = with_running([1, 5]);
    calls.add(1, 1, &interval(0, 10), no_late);
    calls.add(1, 2, &interval(100, 103), no_late);
    calls.add(1, 1, &interval(20, 30), no_late);
    calls.end(EndedCall {
        epoch: 2,
        ..ended(1, 0)
    });
    calls.add(5, 1, &interval(0, 10), no_late);
    calls.end(EndedCall {
        epoch: 2,
        ..ended(5, 0)
    });
    assert_eq!(close_all(&mut calls), [(1, 3, 1), (5, 0, 0)]);
}

#[test]
fn an_activity_of_a_closed_call_is_late_and_counts_in_the_open_parent() {
    let mut calls = CallsAwaitingRecords::default();
    calls.end(ended(2, 1));
    assert_eq!(close_all(&mut calls), [(2, 0, 0)]);
    let mut late = Vec::new();
    calls.add(2, 1, &interval(0, 10), |closed| late.push(closed.id));
    assert_eq!(late, [2]);
    calls.end(ended(1, 0));
    assert_eq!(close_all(&mut calls), [(1, 10, 1)]);
}

/// Adds one more interval than the limit of a union.
fn add_more_than_a_union_has(calls: &mut CallsAwaitingRecords, call: u64) {
    for index in 1..=(1 << 16) + 1 {
        let interval = interval(index * 10, index * 10 + 4);
        assert_eq!(calls.add(call, 1, &interval, no_late), Added::Exact);
    }
}

#[test]
fn an_inexact_busy_time_is_reported() {
    let mut calls = with_running([1, 2]);
    add_more_than_a_union_has(&mut calls, 1);
    let overlapping = interval(12, 13);
    assert_eq!(calls.add(1, 1, &overlapping, no_late), Added::Inexact);
    // Also for a nested call, when that is closed.
    assert_eq!(calls.add(2, 1, &overlapping, no_late), Added::Exact);
    calls.end(ended(2, 1));
    calls.end(ended(1, 0));
    let exact: Vec<_> = std::iter::from_fn(|| calls.close_oldest())
        .map(|closed| (closed.ended.id, closed.merged))
        .collect();
    assert_eq!(exact, [(2, Added::Inexact), (1, Added::Exact)]);
}

#[test]
fn an_overlap_with_what_a_nested_call_has_forgotten_is_reported() {
    let mut calls = with_running([1, 2]);
    add_more_than_a_union_has(&mut calls, 2);
    calls.end(ended(2, 1));
    let closed = calls.close_oldest().map(|closed| closed.merged);
    assert_eq!(closed, Some(Added::Exact));
    let after = interval(10_000_000, 10_000_001);
    assert_eq!(calls.add(1, 1, &after, no_late), Added::Exact);
    let overlapping = interval(12, 13);
    assert_eq!(calls.add(1, 1, &overlapping, no_late), Added::Inexact);
}

#[test]
fn ended_calls_are_bounded() {
    let mut calls = CallsAwaitingRecords::default();
    for call in 1..=MAX_ENDED_CALLS as u64 {
        calls.end(ended(call, 0));
    }
    assert!(!calls.is_full());
    calls.end(ended(u64::MAX, 0));
    assert!(calls.is_full());
}

#[test]
fn a_call_whose_records_are_awaited_is_closed_last_and_after_it_its_parent() {
    let mut calls = CallsAwaitingRecords::default();
    calls.add_running(2);
    calls.await_records(2);
    calls.end(ended(2, 1));
    calls.end(ended(1, 0));
    calls.end(ended(3, 0));
    let first = calls.close_oldest().map(|closed| closed.ended.id);
    assert_eq!(first, Some(3));
    let added = calls.add(2, 1, &interval(0, 10), no_late);
    calls.stop_awaiting(2);
    assert_eq!(added, Added::Exact);
    assert_eq!(close_all(&mut calls), [(2, 10, 1), (1, 10, 1)]);
}

#[test]
fn calls_whose_records_never_arrive_are_bounded() {
    let mut calls = CallsAwaitingRecords::default();
    for call in 1..=300_000 {
        calls.add_running(call);
        calls.await_records(call);
        calls.end(ended(call, 0));
        while calls.is_full() && calls.close_oldest().is_some() {}
    }
    assert_eq!(calls.open.len(), MAX_ENDED_CALLS + MAX_AWAITED_CALLS);
    assert_eq!(calls.closed.len(), MAX_ENDED_CALLS);
    let added = calls.add(1, 1, &interval(0, 10), no_late);
    assert_eq!(added, Added::Missing);
}

#[test]
fn calls_that_never_end_are_bounded_and_those_without_activity_go_first() {
    let mut calls = CallsAwaitingRecords::default();
    calls.add_running(1);
    for call in 2..=200_000 {
        calls.add_running(call);
        calls.add(1, 1, &interval(call * 10, call * 10 + 1), no_late);
        assert!(calls.open.len() <= MAX_RUNNING_CALLS);
    }
    assert_eq!(calls.take_forgotten(), 0);
    assert_eq!(
        calls.add(1, 1, &interval(5, 6), no_late),
        Added::Inexact,
        "still open, and compacted"
    );
    assert_eq!(calls.add(2, 1, &interval(5, 6), no_late), Added::Missing);
}
