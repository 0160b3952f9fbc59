//! The division of a stream's time, span by span.

use super::{Closed, OpenSpans};
use crate::driver::handles::Event;
use crate::gpu::events::pool::EventPair;
use crate::gpu::events::span::{SpanKey, SpanStart};
use crate::stats::path_ids::ROOT;
use crate::stats::sampling_decisions::SamplingDraw;

fn key(number: u32) -> SpanKey {
    SpanKey {
        thread_stream: 0,
        number,
    }
}

/// The path of a site is 100 more.
fn start(number: u32, site: u32, parent: Option<u32>) -> SpanStart {
    SpanStart {
        key: key(number),
        pair: EventPair {
            start: Event::NULL,
            end: Event::NULL,
        },
        path: 100 + site,
        site,
        epoch: 1,
        parent: parent.map(key),
        weight_in_parent: 1,
        draw: SamplingDraw::UNSAMPLED,
        streams: 1,
        first: None,
        came_at: 0,
    }
}

fn open(spans: &mut OpenSpans, number: u32, site: u32, parent: Option<u32>) {
    spans.open(start(number, site, parent));
}

/// The same in another window.
fn open_in(spans: &mut OpenSpans, epoch: u32, number: u32, site: u32, parent: Option<u32>) {
    let start = start(number, site, parent);
    spans.open(SpanStart { epoch, ..start });
}

fn close(spans: &mut OpenSpans, number: u32, ns: u64) -> Closed {
    close_as(spans, number, ns, false)
}

fn close_as(spans: &mut OpenSpans, number: u32, ns: u64, looks_empty: bool) -> Closed {
    let closed = spans.close(key(number), Some(ns), 0, looks_empty);
    closed.unwrap().1
}

#[test]
fn threads_that_share_a_stream_divide_the_time_that_overlaps() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    spans.pass(Some(10));
    open(&mut spans, 1, 1, None);
    spans.pass(Some(20));
    // A nested span takes its thread's part.
    open(&mut spans, 2, 2, Some(1));
    spans.pass(Some(6));
    assert_eq!(close(&mut spans, 2, 6).lost_ns, 3.0);
    assert_eq!(close(&mut spans, 0, 36).lost_ns, 13.0);
    assert!(!spans.is_shared());
    spans.pass(Some(5));
    let last = close(&mut spans, 1, 31);
    assert_eq!((last.lost_ns, last.nested_ns), (10.0, 6));
    assert!(spans.spans.is_empty());
}

#[test]
fn children_that_overlap_are_taken_from_their_parent_once() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    (1..4).for_each(|child| open(&mut spans, child, child, Some(0)));
    spans.pass(Some(6));
    assert_eq!(close(&mut spans, 1, 6).lost_ns, 4.0);
    spans.pass(Some(4));
    assert_eq!(close(&mut spans, 2, 10).lost_ns, 6.0);
    assert_eq!(close(&mut spans, 3, 11).lost_ns, 6.0);
    let around = close(&mut spans, 0, 15);
    assert_eq!((around.nested_ns, around.nested_again_ns), (27, 16));
    assert_eq!(around.nested_lost_ns, 16.0);
}

#[test]
fn a_child_that_outlasts_its_parent_is_nested_in_it_until_then() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    open(&mut spans, 2, 0, Some(1));
    spans.leave_parent(key(2), 4);
    assert_eq!(close(&mut spans, 1, 10).nested_ns, 4);
    let inner = close(&mut spans, 2, 7);
    assert_eq!((inner.is_outermost, inner.parent_path), (false, 100));
    assert_eq!(close(&mut spans, 0, 20).nested_ns, 13);
    assert!(spans.spans.is_empty());
}

#[test]
fn what_is_nested_in_a_span_without_a_time_is_nested_around_it() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    open(&mut spans, 2, 2, Some(1));
    close(&mut spans, 2, 7);
    assert!(spans.close(key(1), None, 0, false).is_some());
    assert_eq!(close(&mut spans, 0, 20).nested_ns, 7);
}

#[test]
fn shared_time_of_unknown_length_marks_those_that_shared_it() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, None);
    spans.pass(None);
    open(&mut spans, 2, 2, Some(0));
    assert!(!close(&mut spans, 2, 1).is_undivided);
    assert!(close(&mut spans, 0, 9).is_undivided);
    assert!(close(&mut spans, 1, 9).is_undivided);
}

#[test]
fn a_span_with_work_nested_in_it_has_work() {
    for inner_looks_empty in [true, false] {
        let mut spans = OpenSpans::default();
        open(&mut spans, 0, 0, None);
        open(&mut spans, 1, 1, Some(0));
        open(&mut spans, 2, 2, Some(1));
        let inner = close_as(&mut spans, 2, 7, inner_looks_empty);
        assert_eq!(inner.may_be_host, inner_looks_empty);
        let around = close_as(&mut spans, 1, 9, true);
        assert_eq!(around.may_be_host, inner_looks_empty);
        assert!(!close(&mut spans, 0, 20).may_be_host);
    }
}

#[test]
fn spans_share_time_whatever_their_windows() {
    // In the last order a start of the earlier window comes after one of the new window.
    for windows in [[1, 1], [1, 2], [2, 1]] {
        let mut spans = OpenSpans::default();
        open_in(&mut spans, windows[0], 0, 0, None);
        open_in(&mut spans, windows[1], 1, 1, None);
        assert!(spans.is_shared());
        spans.pass(Some(20));
        assert_eq!(close(&mut spans, 0, 20).lost_ns, 10.0, "{windows:?}");
        assert_eq!(close(&mut spans, 1, 20).lost_ns, 10.0, "{windows:?}");
    }
}

#[test]
fn a_child_of_another_window_takes_time_from_its_parent_and_is_outermost_in_its_window() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open_in(&mut spans, 2, 1, 0, Some(0));
    assert!(!spans.is_shared());
    open_in(&mut spans, 2, 2, 0, Some(1));
    let inner = close(&mut spans, 2, 3);
    assert_eq!((inner.is_outermost, inner.parent_path), (false, 100));
    let child = close(&mut spans, 1, 7);
    assert_eq!((child.is_outermost, child.parent_path), (true, ROOT));
    assert_eq!(close(&mut spans, 0, 20).nested_ns, 7);
}

#[test]
fn a_span_is_beside_others_if_one_nested_in_it_is() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    open(&mut spans, 2, 2, Some(1));
    open(&mut spans, 3, 3, None);
    spans.pass(Some(4));
    let shared = [2, 1].map(|span| close(&mut spans, span, 4).is_beside_others);
    assert_eq!(shared, [true, true]);
    open(&mut spans, 4, 4, Some(3));
    assert!(!close(&mut spans, 4, 0).is_beside_others);
    assert!(close(&mut spans, 0, 4).is_beside_others);
    assert!(close(&mut spans, 3, 4).is_beside_others);
    open(&mut spans, 5, 0, None);
    open(&mut spans, 6, 1, Some(5));
    spans.pass(Some(4));
    assert!(!close(&mut spans, 6, 4).is_beside_others);
    assert!(!close(&mut spans, 5, 4).is_beside_others);
}

#[test]
fn spans_that_end_in_turn_are_beside_each_other() {
    let mut spans = OpenSpans::default();
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    spans.leave_parent(key(1), 4);
    assert!(close(&mut spans, 0, 4).is_beside_others);
    assert!(close(&mut spans, 1, 9).is_beside_others);
    // Of a call on several streams only a part is nested.
    open(&mut spans, 2, 2, None);
    spans.open(SpanStart {
        streams: 2,
        ..start(3, 3, Some(2))
    });
    close(&mut spans, 3, 1);
    assert!(close(&mut spans, 2, 4).is_beside_others);
}

#[test]
fn the_event_pairs_of_nested_spans_are_in_no_other_time() {
    let mut spans = OpenSpans::default();
    let close = |spans: &mut OpenSpans, number, ns| {
        let closed = spans.close(key(number), Some(ns), 1, false);
        closed.unwrap().1
    };
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    open(&mut spans, 2, 2, Some(1));
    // An event takes 1 ns. This is 1 + 10 ns.
    let inner = close(&mut spans, 2, 11);
    assert_eq!((inner.ns, inner.nested_ns), (11, 0));
    // 1 + 5 ns, and 2 + 10 ns nested.
    let middle = close(&mut spans, 1, 18);
    assert_eq!((middle.ns, middle.nested_ns), (16, 10));
    open(&mut spans, 3, 1, Some(0));
    assert_eq!(close(&mut spans, 3, 8).ns, 8);
    // 1 + 3 ns, 4 of the first pairs, 2 of the last, and 15 + 7 ns nested.
    let outer = close(&mut spans, 0, 32);
    assert_eq!((outer.ns, outer.nested_ns, outer.nested_pairs), (26, 22, 3));
    // Never less than what is nested.
    open(&mut spans, 0, 0, None);
    open(&mut spans, 1, 1, Some(0));
    close(&mut spans, 1, 11);
    assert_eq!(close(&mut spans, 0, 11).ns, 10);
}
