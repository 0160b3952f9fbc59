use std::sync::Arc;

use super::{ApiEvent, Correlator};
use crate::cupti::attribution::limits::{
    MAX_AWAITED_CUDA_CALLS, MAX_ORPHANS, MAX_RECENT_CUDA_CALLS,
};
use crate::cupti::collect::callback_ids::DRIVER_LAUNCH;
use crate::cupti::collect::pm_sampling::metrics::{METRICS, MetricSet, PmSample};
use crate::cupti::collect::pm_sampling::{PmSampling, SamplingEvent};
use crate::cupti::collect::record::{
    ActivityRecord, ActivitySpan, ApiFunction, ApiRecord, CopyRecord, MemoryOperation,
    MemoryRecord, MemorySpace,
};
use crate::recorder::Recorder;
use crate::stats::by_window::{LookWindows, Since};
use crate::stats::profiled_call::CallPosition;
use gpuprof_report::profile::{CopyKind, CuptiCompleteness, MemoryKind};

const MANY: u32 = 300_000;

fn launch(correlation: u32) -> ApiEvent {
    let function = ApiFunction {
        is_runtime: false,
        cbid: DRIVER_LAUNCH,
    };
    let api = ApiRecord {
        function,
        start: 10,
        end: 11,
        correlation,
        failed: false,
        moves_nothing: false,
    };
    ApiEvent {
        api,
        call: CallPosition::default(),
        stack: None,
        thread: 0,
    }
}

fn copy(correlation: u32) -> ActivityRecord {
    let span = ActivitySpan {
        start: 20,
        end: 21,
        correlation,
        ..ActivitySpan::default()
    };
    ActivityRecord::Copy(CopyRecord {
        span,
        kind: CopyKind::HtoD,
        bytes: 1,
        is_pageable: false,
        is_async: true,
    })
}

fn with_window() -> Correlator {
    let correlator = Correlator::default();
    correlator.windows.change(1, Some(0));
    correlator
}

fn attributed(correlator: &Correlator) -> CuptiCompleteness {
    correlator.attributed(Since::Window).tables.completeness
}

#[test]
fn launches_without_records_are_bounded_and_unfinished() {
    let mut correlator = with_window();
    (1..=MANY).for_each(|correlation| correlator.add_api_record(launch(correlation)));
    let remembered = correlator.calls.values().count();
    assert_eq!(remembered, MAX_RECENT_CUDA_CALLS + MAX_AWAITED_CUDA_CALLS);
    assert_eq!(attributed(&correlator).unfinished, u64::from(MANY));
}

#[test]
fn a_launch_outlasts_many_that_are_complete() {
    let mut correlator = with_window();
    correlator.add_api_record(launch(1));
    for correlation in 2..=MANY {
        correlator.add_api_record(launch(correlation));
        correlator.add_activity(copy(correlation));
    }
    let remembered = correlator.calls.values().count();
    assert_eq!(remembered, MAX_RECENT_CUDA_CALLS + 1);
    correlator.add_activity(copy(1));
    assert_eq!(correlator.orphans.iter().count(), 0);
    assert_eq!(attributed(&correlator).unfinished, 0);
}

#[test]
fn activities_without_a_call_are_bounded_and_unattributed() {
    let mut correlator = with_window();
    (1..=MANY).for_each(|correlation| correlator.add_activity(copy(correlation)));
    assert!(correlator.orphans.iter().count() <= MAX_ORPHANS);
    let attributed = attributed(&correlator);
    assert_eq!(attributed.unattributed, u64::from(MANY));
}

/// In a profiled call.
fn profiled_launch(correlation: u32) -> ApiEvent {
    let call = CallPosition {
        id: 1 << 20,
        path: 1,
    };
    ApiEvent {
        call,
        ..launch(correlation)
    }
}

/// An id that is used for the first time, and the same one 2³² calls later, of which so many are
/// recorded.
fn calls_until_ids_return(correlator: &mut Correlator, first: u32) {
    const RECORDED: u32 = 32;
    let step = u32::MAX / RECORDED + 1;
    for later in 1..RECORDED {
        let correlation = first.wrapping_add(later.wrapping_mul(step));
        correlator.add_api_record(profiled_launch(correlation));
        correlator.add_activity(copy(correlation));
    }
}

#[test]
fn an_id_that_returns_is_another_call() {
    let mut correlator = with_window();
    // Its record is lost.
    correlator.add_api_record(profiled_launch(7));
    calls_until_ids_return(&mut correlator, 7);
    assert_eq!(attributed(&correlator).unfinished, 1);
    assert!(correlator.calls.get(7).is_none());
    // Before its call.
    correlator.add_activity(copy(7));
    assert_eq!(attributed(&correlator).unattributed, 1);
    correlator.add_api_record(profiled_launch(7));
    let attributed = attributed(&correlator);
    assert_eq!((attributed.unattributed, attributed.unfinished), (0, 1));
}

#[test]
fn an_activity_without_a_call_is_not_that_of_a_call_with_the_same_id() {
    let mut correlator = with_window();
    correlator.add_activity(copy(7));
    calls_until_ids_return(&mut correlator, 7);
    correlator.add_api_record(profiled_launch(7));
    let attributed = attributed(&correlator);
    assert_eq!((attributed.unattributed, attributed.unfinished), (1, 1));
}

#[test]
fn records_of_several_threads_around_the_wrap_are_kept() {
    let mut correlator = with_window();
    let ids = || (0..1_000_u32).map(|at| (at ^ 3).wrapping_sub(500));
    ids().for_each(|id| correlator.add_api_record(profiled_launch(id)));
    assert_eq!(correlator.calls.values().count(), 1_000);
    let ids = ids().filter(|id| *id != 0);
    ids.for_each(|id| correlator.add_activity(copy(id)));
    assert_eq!(attributed(&correlator).unfinished, 1);
}

#[test]
fn a_call_that_others_overtook_takes_no_newer_ones_along() {
    let mut correlator = with_window();
    // It began before the others and blocked.
    let overtaken = 10;
    let others = 2_000_000..2_001_000;
    correlator.add_activity(copy(1_999_999));
    let add = |correlator: &mut Correlator, id| correlator.add_api_record(profiled_launch(id));
    others.clone().for_each(|id| add(&mut correlator, id));
    add(&mut correlator, overtaken);
    add(&mut correlator, 1_999_999);
    assert_eq!(correlator.calls.values().count(), 1_002);
    others.for_each(|id| correlator.add_activity(copy(id)));
    let attributed = attributed(&correlator);
    assert_eq!((attributed.unattributed, attributed.unfinished), (0, 1));
}

#[test]
fn memory_that_waits_for_earlier_records_counts_in_the_window_that_ends() {
    let mut correlator = with_window();
    correlator.add_api_record(profiled_launch(1));
    let space = MemorySpace {
        kind: MemoryKind::Device,
        device: Some(0),
    };
    correlator.add_memory(MemoryRecord {
        operation: MemoryOperation::Allocate,
        space,
        address: 1,
        bytes: 70,
        time: 10,
        correlation: 1,
    });
    let look = LookWindows {
        first: 0,
        end: Some(2),
    };
    correlator.begin_window(2, &[look]);
    let ended = correlator.attributed(Since::Look(look)).tables;
    assert_eq!(ended.memory.len(), 1);
    let (memory, live) = (ended.memory.values().next(), correlator.live_memory());
    assert_eq!(memory.map(|of| of.totals.allocated_bytes), Some(70));
    assert_eq!((live.records_without_call, live.late_records), (0, 0));
    // That of an unknown call is outside any function, and counted.
    let unknown = MemoryRecord {
        operation: MemoryOperation::Free,
        space,
        address: 1,
        bytes: 70,
        time: 5,
        correlation: 999,
    };
    correlator.add_memory(unknown);
    correlator.count_all_memory();
    let live = correlator.live_memory();
    assert_eq!((live.records_without_call, live.late_records), (1, 1));
    assert!(live.by_path.is_empty());
}

#[test]
fn the_time_line_has_no_samples_of_a_pause() {
    let recorder = Arc::new(Recorder::new());
    recorder.start(1_000);
    let mut correlator = Correlator::new(recorder, Arc::new(PmSampling::default()));
    for (since, epoch) in [(1, Some(2)), (100, None), (200, Some(2))] {
        correlator.windows.change(since, epoch);
    }
    for start in [50, 99, 100, 150, 200, 250] {
        let sample = PmSample {
            start,
            end: start + 1,
            set: MetricSet::First,
            integrals: [0.0; METRICS],
            listed: &[],
        };
        correlator.add_sampling_event(0, SamplingEvent::Sample(sample));
    }
    let samples = correlator.recorded_names().samples[&0].iter();
    let starts: Vec<_> = samples.map(|sample| sample.start).collect();
    assert_eq!(starts, [50, 99, 200, 250]);
}
