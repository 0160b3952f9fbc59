use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{CallEvent, ChunkWriter, LostEvents, Recorder, Recording};

fn recorded(recorder: &Recorder) -> Option<Recording> {
    recorder.recorded(Duration::from_secs(1))
}

/// The `at`-th event of a test's thread.
fn event(at: u64) -> CallEvent {
    CallEvent::Cpu {
        path: 1,
        started: at,
        ended: at + 1,
        call: 0,
    }
}

fn write(recorder: &Arc<Recorder>, writer: &mut ChunkWriter, numbers: std::ops::Range<u64>) {
    numbers.for_each(|at| writer.push(recorder, &event(at)));
}

/// When the kept events started.
fn starts(recorder: &Recorder) -> Vec<u64> {
    let recorded = recorded(recorder).unwrap_or_default();
    let mut started: Vec<u64> = recorded
        .events
        .iter()
        .map(|one| match one.event {
            CallEvent::Cpu { started, .. } => started,
            _ => u64::MAX,
        })
        .collect();
    started.sort_unstable();
    started
}

fn lost(recorder: &Recorder) -> Vec<LostEvents> {
    recorded(recorder).unwrap_or_default().lost
}

#[test]
fn the_newest_are_kept_and_what_went_is_counted() {
    let (recorder, mut writer) = (Arc::new(Recorder::new()), ChunkWriter::of_thread());
    assert!(recorded(&recorder).is_none());
    // 16 chunks of 10.
    recorder.start(160);
    write(&recorder, &mut writer, 0..160);
    assert_eq!(starts(&recorder), (0..160).collect::<Vec<_>>());
    assert_eq!(lost(&recorder), []);
    write(&recorder, &mut writer, 160..1_005);
    // The chunk that is not full comes on top of the limit.
    assert_eq!(starts(&recorder), (840..1_005).collect::<Vec<_>>());
    let gone = LostEvents {
        thread: Some(0),
        started: 0,
        ended: 840,
        events: 840,
    };
    assert_eq!(lost(&recorder), [gone]);
}

#[test]
fn of_few_the_newest_are_kept_when_their_thread_has_ended() {
    for limit in [1, 2, 3, 16, 17, 48] {
        let recorder = Arc::new(Recorder::new());
        recorder.start(limit);
        write(&recorder, &mut ChunkWriter::of_thread(), 0..100);
        let kept = starts(&recorder);
        let least = limit.saturating_sub(3).max(1);
        assert!(
            (least..=limit + 2).contains(&kept.len()),
            "{limit}: {kept:?}"
        );
        assert!(kept.ends_with(&[99]) && kept.is_sorted());
        let lost: u64 = lost(&recorder).iter().map(|lost| lost.events).sum();
        assert_eq!(lost + kept.len() as u64, 100);
    }
}

#[test]
fn threads_that_end_leave_their_room_to_others() {
    let recorder = Arc::new(Recorder::new());
    recorder.start(16_000);
    for at in 0..2_000 {
        let recorder = Arc::clone(&recorder);
        let run = move || write(&recorder, &mut ChunkWriter::of_thread(), at..at + 1);
        thread::spawn(run).join().expect("it ends");
    }
    assert_eq!(starts(&recorder), (0..2_000).collect::<Vec<_>>());
    let store = recorder.store.lock();
    // 3 words each with the thread's, in chunks of 2,001, as no two threads ran at once.
    assert_eq!((store.chunks(), recorder.is_on()), (4, true));
}

#[test]
fn threads_at_once_lose_nothing() {
    const EACH: u64 = 20_000;
    let recorder = Arc::new(Recorder::new());
    recorder.start(200_000);
    thread::scope(|scope| {
        for thread in 0..4 {
            let recorder = &recorder;
            let numbers = thread * EACH..(thread + 1) * EACH;
            scope.spawn(move || write(recorder, &mut ChunkWriter::of_thread(), numbers));
        }
        // Reading meanwhile finds whole events only.
        let reads = (0..20).map(|_| starts(&recorder));
        reads.for_each(|starts| assert!(starts.is_sorted_by(|a, b| a < b)));
    });
    assert_eq!(starts(&recorder), (0..4 * EACH).collect::<Vec<_>>());
    let threads = recorded(&recorder).unwrap_or_default().threads;
    assert_eq!(threads.len(), 4);
    assert!(threads.iter().all(|thread| thread.tid > 0));
}

#[test]
fn what_begins_again_goes_on() {
    let (recorder, mut writer) = (Arc::new(Recorder::new()), ChunkWriter::of_thread());
    recorder.start(100);
    write(&recorder, &mut writer, 0..50);
    recorder.stop();
    assert!(!recorder.switch(true), "none is open");
    recorder.start(100);
    write(&recorder, &mut writer, 50..60);
    assert_eq!(starts(&recorder), (0..60).collect::<Vec<_>>());
    let on = recorded(&recorder).unwrap_or_default().on;
    assert_eq!(on.len(), 2, "{on:?}");
}

#[test]
fn a_second_start_while_it_is_on_changes_nothing() {
    let recorder = Recorder::new();
    recorder.start(100);
    let first = recorded(&recorder).unwrap_or_default();
    recorder.start(100);
    let second = recorded(&recorder).unwrap_or_default();
    assert_eq!(first.began, second.began);
    assert_eq!((first.on.len(), second.on.len()), (1, 1));
    assert_eq!(
        first.on.first().map(|on| on.0),
        second.on.first().map(|on| on.0)
    );
}

#[test]
fn arguments_count_by_what_they_take() {
    let (recorder, mut writer) = (Arc::new(Recorder::new()), ChunkWriter::of_thread());
    recorder.start(10_000);
    for at in 0..10_000 {
        let arguments = Box::new([("text", "x".repeat(4_000))]);
        writer.push_with(&recorder, &event(at), arguments);
    }
    // Some 100 events each, in chunks of 64 KiB.
    let kept = starts(&recorder).len();
    assert!((80..=140).contains(&kept), "{kept}");
}

#[test]
fn arguments_stay_with_their_event() {
    let (recorder, mut writer) = (Arc::new(Recorder::new()), ChunkWriter::of_thread());
    recorder.start(1_000);
    for at in 0..100 {
        match at % 10 {
            0 => {
                let arguments = Box::new([("batch", at.to_string())]);
                writer.push_with(&recorder, &event(at), arguments);
            }
            _ => writer.push(&recorder, &event(at)),
        }
    }
    let recorded = recorded(&recorder).expect("a recording");
    for recorded in recorded.events {
        let CallEvent::Cpu { started, .. } = recorded.event else {
            panic!("another event");
        };
        let own = recorded.arguments.map(|own| own.to_vec());
        let expected = (started % 10 == 0).then(|| vec![("batch", started.to_string())]);
        assert_eq!(own, expected);
    }
}

#[test]
fn switches_are_noted_once() {
    let recorder = Recorder::new();
    recorder.start(10);
    for on in [true, false, false, true] {
        recorder.switch(on);
    }
    let on = recorded(&recorder).unwrap_or_default().on;
    let [(first_on, first_off), (second_on, now)] = on[..] else {
        panic!("{on:?}");
    };
    assert!(first_on <= first_off && first_off <= second_on && second_on <= now);
}
