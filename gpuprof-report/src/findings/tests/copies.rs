//! Rules about copies.

use super::*;

fn copying(change: impl FnOnce(&mut CopyStats)) -> Profile {
    let mut copies = pageable("HtoD", 10, 200 * US, 1 << 20);
    change(&mut copies);
    one(function("upload", 10, 300 * US).copied([copies]), |_| ())
}

#[test]
fn pageable_copies_are_told_and_page_locked_ones_are_not() {
    let finding = the("host-copies", &copying(|_| ()));
    assert_eq!(
        finding.evidence,
        "17 % of GPU time in pageable copies: 10 copies, 10.5 MB, 5.24 GB/s"
    );
    assert_eq!(finding.gain_ns, 2 * MS);
    let hidden = copying(|c| c.exposed_ns = Some(1_500 * US));
    assert_eq!(the("host-copies", &hidden).gain_ns, 1_500 * US);
    let page_locked = |c: &mut CopyStats| (c.pageable_calls, c.pageable_ns) = (0, 0);
    assert!(!speaks("host-copies", &copying(page_locked)));
    assert!(
        !speaks("host-copies", &copying(|c| c.kind = "DtoD".into())),
        "within the device"
    );
    assert!(
        !speaks("host-copies", &copying(|c| c.bytes = 10 * 60_000)),
        "small ones"
    );
    assert!(
        !speaks("host-copies", &copying(|c| c.times.total_ns = MS)),
        "a small share"
    );
}

#[test]
fn blocking_copies_are_told_and_so_are_any_from_half_of_the_time_on() {
    let blocking =
        |c: &mut CopyStats| (c.pageable_calls, c.pageable_ns, c.blocking_calls) = (0, 0, 6);
    let profile = copying(blocking);
    assert!(
        the("host-copies", &profile)
            .advice
            .starts_with("queue it on a stream")
    );
    assert!(speaks("host-copies", &profile));
    let many = |ns| {
        let copies = copies("DtoH", 10, ns, 1 << 20);
        one(function("download", 10, 2 * MS).copied([copies]), |_| ())
    };
    assert!(!speaks("host-copies", &many(990 * US)));
    assert!(speaks("host-copies", &many(MS)));
}

/// 10,000 copies of so many bytes, one after each kernel.
fn reading(bytes: u64, blocking: bool) -> Profile {
    let mut each = copies("DtoH", 10_000, 1_200, bytes);
    each.blocking_calls = if blocking { 10_000 } else { 0 };
    let read = function("read", 10_000, 16 * US)
        .kernels([kernel("k", 10_000, 2 * US)])
        .copied([each])
        .calls_cuda([api("cuMemcpyDtoH_v2", "copy", 10_000, 12_450)]);
    let mut profile = program(h200(), [read], &[]);
    profile.wall_ns = 150 * MS;
    profile
}

#[test]
fn ten_thousand_blocking_copies_of_four_bytes_are_reported() {
    let finding = the("small-copies", &reading(4, true));
    assert_eq!(
        finding.evidence,
        "83 % of the wall in 10,000 blocking copies of 4 B, 12.5 µs per call"
    );
    assert!(finding.advice.contains("CudaContext::alloc_pinned"));
    assert_eq!(finding.gain_ns, 118 * MS, "as far as the GPU is idle");
    let advice = the("small-copies", &reading(4, false)).advice;
    assert!(advice.starts_with("pack them"), "{advice}");
    assert!(speaks("small-copies", &reading(65_535, true)));
    assert!(!speaks("small-copies", &reading(65_536, true)), "large");
}

#[test]
fn small_copies_that_take_little_time_are_not_reported() {
    let mut long = reading(4, true);
    long.wall_ns = 3 * S;
    assert!(!speaks("small-copies", &long));
    let mut few = reading(4, true);
    few.functions[0].activity.copies[0].times.calls = 99;
    assert!(!speaks("small-copies", &few));
}

#[test]
fn small_copies_outside_of_every_function_are_reported_for_the_program() {
    let mut profile = reading(4, true);
    profile.functions.clear();
    let finding = the("small-copies", &profile);
    assert_eq!(finding.function, None);
    assert_eq!(finding.gain_ns, 118 * MS, "wall less 32 ms of work");
}
