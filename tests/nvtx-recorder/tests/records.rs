//! The recorder records exactly the calls of NVIDIA's own `nvtx` crate.
//!
//! Each test runs itself in a second process with the recorder injected, because NVTX loads the
//! library once per process, at its first call.

use std::process::Command;

use nvtx::Domain;
use nvtx::sys::{self, EventAttributes, MessageType, PayloadType as Kind, ffi};
use nvtx_recorder::{Call, LOG, Op, PayloadType, record};
use serde_json::Number;

/// In the second process: makes the calls and returns `None`. In the first: runs the second and
/// returns its calls.
fn calls_of(test: &str, make: impl FnOnce()) -> Option<Vec<Call>> {
    if std::env::var_os(LOG).is_some() {
        make();
        return None;
    }
    let program = std::env::current_exe().expect("a test has a path");
    let (output, calls) = record(Command::new(program).args([test, "--exact"]));
    assert!(output.status.success(), "{output:?}");
    Some(calls)
}

/// A message that uses NVTX's W functions.
fn wide(text: &str) -> nvtx::Str {
    nvtx::Str::try_from(text).expect("no NUL inside")
}

fn ops(calls: &[Call]) -> Vec<Op> {
    calls.iter().map(|call| call.op).collect()
}

/// Attributes with a message of `message_type`, filled by hand.
fn attributes(message_type: MessageType, message: ffi::nvtxMessageValue_t) -> EventAttributes {
    EventAttributes {
        version: sys::NVTX_VERSION.cast_unsigned(),
        size: u16::try_from(sys::NVTX_EVENT_ATTRIBUTES_SIZE).expect("48 bytes"),
        category: 0,
        colorType: 0,
        color: 0,
        payloadType: 0,
        reserved0: 0,
        payload: ffi::nvtxEventAttributes_v2_payload_t { ullValue: 0 },
        messageType: message_type.into(),
        message,
    }
}

#[test]
fn a_registered_push_arrives_with_everything_it_carries() {
    let make = || {
        let domain = sys::domain_create_ascii(c"gpuprof");
        sys::domain_name_category_ascii(domain, 7, c"forward");
        let name = sys::domain_register_string_ascii(domain, c"conv/forward");
        let message = ffi::nvtxMessageValue_t {
            registered: name.into(),
        };
        let mut event = attributes(MessageType::NVTX_MESSAGE_TYPE_REGISTERED, message);
        event.category = 7;
        event.colorType = sys::ColorType::NVTX_COLOR_ARGB.into();
        event.color = 0xFF76_B900;
        event.payloadType = Kind::NVTX_PAYLOAD_TYPE_UNSIGNED_INT64.into();
        event.payload = ffi::nvtxEventAttributes_v2_payload_t { ullValue: u64::MAX };
        assert_eq!(sys::domain_range_push_ex(domain, &event), 0);
        assert_eq!(sys::domain_range_push_ex(domain, &event), 1);
        assert_eq!(sys::domain_range_pop(domain), 1);
        assert_eq!(sys::domain_range_pop(domain), 0);
        assert_eq!(sys::domain_range_pop(domain), -1);
    };
    let Some(calls) = calls_of("a_registered_push_arrives_with_everything_it_carries", make) else {
        return;
    };
    assert_eq!(
        ops(&calls),
        [
            Op::DomainCreate,
            Op::NameCategory,
            Op::RegisterString,
            Op::Push,
            Op::Push,
            Op::Pop,
            Op::Pop,
            Op::Pop
        ]
    );
    let thread = calls[0].thread;
    assert!(thread > 0);
    assert!(
        calls
            .iter()
            .all(|call| call.thread == thread && call.domain.as_deref() == Some("gpuprof"))
    );
    assert_eq!(
        (calls[1].category, calls[1].name.as_deref()),
        (Some(7), Some("forward"))
    );
    let expected = Call {
        op: Op::Push,
        thread,
        domain: Some("gpuprof".into()),
        name: Some("conv/forward".into()),
        registered: true,
        color: Some(0xFF76_B900),
        category: Some(7),
        payload: Some(u64::MAX.into()),
        payload_type: Some(PayloadType::U64),
        id: None,
        level: Some(0),
    };
    assert_eq!(calls[3], expected);
    let levels: Vec<_> = calls[3..].iter().map(|call| call.level).collect();
    assert_eq!(levels, [Some(0), Some(1), Some(1), Some(0), Some(-1)]);
}

#[test]
fn every_payload_type_keeps_its_value() {
    let make = || {
        for payload in [
            nvtx::Payload::from(u64::MAX),
            i64::MIN.into(),
            0.1_f64.into(),
            u32::MAX.into(),
            i32::MIN.into(),
            0.5_f32.into(),
            f64::NAN.into(),
        ] {
            nvtx::mark(
                nvtx::EventAttributes::builder()
                    .payload(payload)
                    .message(c"p")
                    .build(),
            );
        }
    };
    let Some(calls) = calls_of("every_payload_type_keeps_its_value", make) else {
        return;
    };
    let got: Vec<_> = calls
        .iter()
        .map(|call| (call.payload_type, call.payload.clone()))
        .collect();
    let expected = [
        (Some(PayloadType::U64), Some(u64::MAX.into())),
        (Some(PayloadType::I64), Some(i64::MIN.into())),
        (Some(PayloadType::F64), Number::from_f64(0.1)),
        (Some(PayloadType::U32), Some(u32::MAX.into())),
        (Some(PayloadType::I32), Some(i32::MIN.into())),
        (Some(PayloadType::F32), Number::from_f64(0.5)),
        (Some(PayloadType::F64), None),
    ];
    assert_eq!(got, expected);
    assert!(
        calls
            .iter()
            .all(|call| call.domain.is_none() && call.op == Op::Mark)
    );
}

#[test]
fn wide_strings_are_read_as_text() {
    let make = || {
        let domain = Domain::new(wide("größe"));
        let name = domain.register_string(wide("前向き 🚀"));
        drop(domain.local_range(name));
        let plain = nvtx::EventAttributes::builder()
            .message(wide("naïve"))
            .build();
        drop(nvtx::LocalRange::new(plain));
        drop(nvtx::LocalRange::new(wide("bare")));
        nvtx::name_thread(42, wide("Ärger"));
    };
    let Some(calls) = calls_of("wide_strings_are_read_as_text", make) else {
        return;
    };
    let push = |name: &str| {
        let found = calls
            .iter()
            .find(|call| call.op == Op::Push && call.name.as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("{name}: {calls:#?}"))
    };
    assert_eq!(push("前向き 🚀").domain.as_deref(), Some("größe"));
    assert!(push("前向き 🚀").registered);
    assert_eq!(push("naïve").domain, None);
    assert!(!push("naïve").registered);
    assert_eq!(push("bare").domain, None);
    let thread = calls
        .iter()
        .find(|call| call.op == Op::NameThread)
        .expect("the thread's name");
    assert_eq!(
        (thread.id, thread.name.as_deref()),
        (Some(42), Some("Ärger"))
    );
}

#[test]
fn start_and_end_share_an_id_across_threads() {
    let make = || {
        let message = ffi::nvtxMessageValue_t {
            ascii: c"async".as_ptr(),
        };
        let event = attributes(MessageType::NVTX_MESSAGE_TYPE_ASCII, message);
        let first = sys::range_start_ex(&event);
        let second = sys::range_start_ascii(c"overlapping");
        std::thread::spawn(move || sys::range_end(first))
            .join()
            .expect("ends");
        sys::range_end(second);
    };
    let Some(calls) = calls_of("start_and_end_share_an_id_across_threads", make) else {
        return;
    };
    assert_eq!(ops(&calls), [Op::Start, Op::Start, Op::End, Op::End]);
    assert_eq!(calls[0].name.as_deref(), Some("async"));
    assert!(calls[0].id.is_some() && calls[0].id != calls[1].id);
    assert_eq!((calls[2].id, calls[3].id), (calls[0].id, calls[1].id));
    assert_ne!(calls[2].thread, calls[0].thread);
    assert_eq!(calls[3].thread, calls[0].thread);
}

#[test]
fn threads_do_not_tear_each_others_lines() {
    const THREADS: usize = 4;
    const RANGES: usize = 500;
    let make = || {
        let domain = Box::leak(Box::new(Domain::new(c"busy")));
        let name = domain.register_string(c"loop");
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..RANGES).for_each(|_| drop(domain.local_range(name))));
            }
        });
    };
    let Some(calls) = calls_of("threads_do_not_tear_each_others_lines", make) else {
        return;
    };
    let count = |op| calls.iter().filter(|call| call.op == op).count();
    assert_eq!(
        (count(Op::Push), count(Op::Pop)),
        (THREADS * RANGES, THREADS * RANGES)
    );
    assert!(
        calls
            .iter()
            .filter(|call| call.op == Op::Push)
            .all(|call| call.level == Some(0))
    );
    let threads: std::collections::HashSet<u64> = calls.iter().map(|call| call.thread).collect();
    assert!(threads.len() >= THREADS);
}

#[test]
fn a_line_is_on_disk_when_the_call_returns() {
    let make = || {
        nvtx::mark(c"the last word");
        std::process::exit(0);
    };
    let Some(calls) = calls_of("a_line_is_on_disk_when_the_call_returns", make) else {
        return;
    };
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].name.as_deref(), Some("the last word"));
}

#[test]
fn a_program_without_nvtx_records_nothing() {
    let Some(calls) = calls_of("a_program_without_nvtx_records_nothing", || ()) else {
        return;
    };
    assert!(calls.is_empty());
}
