//! Counters with one writer, read by another thread and continued by the next, in every order that
//! the memory model allows.

use std::sync::atomic::Ordering::{Acquire, Release};

use loom::sync::atomic::AtomicU64;
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::path_counters::PathCounters;
use super::site_counters::SiteCounters;
use super::window_epoch::WriterEpoch;
use crate::sync::in_every_order;
use gpuprof_report::histogram::Histogram;

const NS: u64 = 16;
const NESTED: u64 = 3;

fn node() -> Arc<PathCounters> {
    Arc::new(PathCounters::new(1, SiteCounters::leaked(false)))
}

fn writer(thread: u32) -> WriterEpoch {
    WriterEpoch::new(WriterEpoch::owner(thread), 1)
}

/// As a span does.
fn record(node: &PathCounters, thread: u32) {
    let writer = writer(thread);
    let is_recorded = node.record_next_time(NS, NESTED, writer);
    assert!(is_recorded || node.record_time(NS, NESTED, writer));
}

#[test]
fn a_reader_sees_all_fields_of_one_moment() {
    in_every_order(|| {
        let node = node();
        // The first record, which does more, is over.
        record(&node, 1);
        let reader = thread::spawn({
            let node = Arc::clone(&node);
            move || {
                let Some(data) = node.try_read(1) else { return };
                let cpu = data.cpu;
                assert!((1..=2).contains(&cpu.calls));
                assert_eq!(cpu.total, NS * cpu.calls);
                assert_eq!(cpu.nested, NESTED * cpu.calls);
                assert_eq!(cpu.squares, (NS * NS * cpu.calls) as f64);
                assert_eq!((cpu.min, cpu.max), (NS, NS));
            }
        });
        record(&node, 1);
        reader.join().unwrap();
        assert_eq!(node.try_read(1).unwrap().cpu.calls, 2);
    });
}

#[test]
fn a_reader_sees_count_and_sum_of_calls_in_progress_of_one_moment() {
    in_every_order(|| {
        let node = Arc::new(PathCounters::new(1, SiteCounters::leaked(true)));
        node.begin_async(100);
        let reader = thread::spawn({
            let node = Arc::clone(&node);
            move || {
                let Some(data) = node.try_read(1) else { return };
                let open = data.open;
                assert!((1..=2).contains(&open.count()));
                assert_eq!(open.ticks(1_000), 900 * open.count());
            }
        });
        node.begin_async(100);
        reader.join().unwrap();
        assert_eq!(node.try_read(1).unwrap().open.ticks(1_000), 1_800);
    });
}

#[test]
fn a_call_that_ends_is_either_in_progress_or_counted() {
    in_every_order(|| {
        let node = node();
        record(&node, 1);
        node.begin(100);
        let reader = thread::spawn({
            let node = Arc::clone(&node);
            move || {
                let Some(data) = node.try_read(1) else { return };
                assert_eq!(data.cpu.calls + data.open.count(), 2);
            }
        });
        record(&node, 1);
        reader.join().unwrap();
    });
}

#[test]
fn the_next_thread_continues_the_counters_of_one_that_ended() {
    in_every_order(|| {
        let node = node();
        let free = Arc::new(Mutex::new(Vec::new()));
        let next = thread::spawn({
            let free = Arc::clone(&free);
            move || {
                let taken: Option<Arc<PathCounters>> = free.lock().unwrap().pop();
                taken.iter().map(|node| record(node, 2)).count() as u64
            }
        });
        record(&node, 1);
        free.lock().unwrap().push(Arc::clone(&node));
        // A span in a destructor that runs later still finds the node.
        assert!(!node.record_time(NS, NESTED, WriterEpoch::new(0, 1)));
        let recorded = 1 + next.join().unwrap();
        let data = node.try_read(1).unwrap();
        assert_eq!((data.cpu.calls, data.cpu.total), (recorded, NS * recorded));
        let mut histogram = Histogram::default();
        node.site.cpu.add_to(&mut histogram);
        assert_eq!(
            histogram.buckets().map(|bucket| bucket.count).sum::<u64>(),
            recorded
        );
        assert_eq!(u64::from(node.site.successive_writers(1)), recorded);
    });
}

#[test]
fn a_histogram_only_ever_grows_for_a_reader() {
    in_every_order(|| {
        let node = node();
        record(&node, 1);
        let recorded = Arc::new(AtomicU64::new(0));
        let count = |node: &PathCounters| {
            let mut histogram = Histogram::default();
            node.site.cpu.add_to(&mut histogram);
            histogram.buckets().map(|bucket| bucket.count).sum::<u64>()
        };
        let reader = thread::spawn({
            let (node, recorded) = (Arc::clone(&node), Arc::clone(&recorded));
            move || {
                let known = 1 + recorded.load(Acquire);
                let read = count(&node);
                assert!((known..=2).contains(&read));
                assert!((read..=2).contains(&count(&node)));
            }
        });
        node.site.cpu.record(NS);
        recorded.store(1, Release);
        reader.join().unwrap();
        assert_eq!(count(&node), 2);
    });
}
