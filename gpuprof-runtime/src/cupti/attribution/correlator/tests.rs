use super::{ApiEvent, Correlator};
use crate::cupti::attribution::limits::{
    MAX_AWAITED_CUDA_CALLS, MAX_ORPHANS, MAX_RECENT_CUDA_CALLS,
};
use crate::cupti::collect::callback_ids::DRIVER_LAUNCH;
use crate::cupti::collect::record::{
    Activity, ActivitySpan, ApiFunction, ApiRecord, CallPosition, CopyKind, CopyRecord,
};

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
    };
    ApiEvent {
        api,
        call: CallPosition::default(),
    }
}

fn copy(correlation: u32) -> Activity {
    let span = ActivitySpan {
        start: 20,
        end: 21,
        correlation,
        ..ActivitySpan::default()
    };
    Activity::Copy(CopyRecord {
        span,
        kind: CopyKind::HtoD,
        bytes: 1,
        is_pageable: false,
        is_async: true,
    })
}

fn with_window() -> Correlator {
    let mut correlator = Correlator::default();
    correlator.windows.change(1, Some(0));
    correlator
}

#[test]
fn launches_without_records_are_bounded_and_unfinished() {
    let mut correlator = with_window();
    (1..=MANY).for_each(|correlation| correlator.add_api_record(launch(correlation)));
    let remembered = correlator.calls.values().count();
    assert_eq!(remembered, MAX_RECENT_CUDA_CALLS + MAX_AWAITED_CUDA_CALLS);
    assert_eq!(correlator.attributed().current.unfinished, u64::from(MANY));
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
    assert_eq!(correlator.orphans.all().count(), 0);
    assert_eq!(correlator.attributed().current.unfinished, 0);
}

#[test]
fn activities_without_a_call_are_bounded_and_unattributed() {
    let mut correlator = with_window();
    (1..=MANY).for_each(|correlation| correlator.add_activity(copy(correlation)));
    assert!(correlator.orphans.all().count() <= MAX_ORPHANS);
    let attributed = correlator.attributed().current;
    assert_eq!(attributed.unattributed, u64::from(MANY));
}
