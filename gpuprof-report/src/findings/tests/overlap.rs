//! Rules about work that could run at once.

use super::*;

fn pieces(change: impl FnOnce(&mut Function)) -> Profile {
    let function = function("pipeline", 2, 5 * MS)
        .kernels([kernel("k", 10, 300 * US)])
        .copied([copies("HtoD", 10, 100 * US, 1 << 20)]);
    let mut profile = one(function, change);
    profile.wall_ns = 100 * MS;
    profile
}

#[test]
fn copies_and_kernels_in_pieces_on_one_stream_are_told() {
    let text = evidence("one-stream", &pieces(|_| ()));
    assert_eq!(
        text,
        "1.00 ms of 1.00 ms of copies ran beside no kernel: 3.00 ms of kernels on the same stream"
    );
    let alone = |each_ns, exposed_ns| {
        pieces(|f| {
            let copies = copies("HtoD", 10, each_ns, 1 << 20);
            f.activity.copies[0] = CopyStats {
                exposed_ns,
                ..copies
            };
        })
    };
    let partly = the("one-stream", &alone(100 * US, Some(700 * US)));
    assert_eq!(partly.gain_ns, 700 * US);
    assert!(
        !speaks("one-stream", &alone(100 * US, Some(690 * US))),
        "little to win"
    );
    assert!(speaks("one-stream", &alone(400 * US, Some(1_200 * US))));
    assert!(
        !speaks("one-stream", &alone(400 * US, Some(1_190 * US))),
        "kernels ran beside most of them"
    );
    assert!(!speaks("one-stream", &alone(100 * US, None)), "not known");
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.work_streams = 2)),
        "two streams"
    );
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.busy_calls = 3)),
        "three copies a call"
    );
    assert!(
        !speaks("one-stream", &pieces(|f| f.activity.launches = 6)),
        "three kernels a call"
    );
    assert!(
        !speaks(
            "one-stream",
            &pieces(|f| f.activity.copies[0].times.total_ns = 90 * US)
        ),
        "tiny copies"
    );
    assert!(
        !speaks(
            "one-stream",
            &pieces(|f| f.activity.copies[0].kind = "memset".into())
        ),
        "nothing to copy"
    );
    let mut little = pieces(|_| ());
    little.kernels.push(kernel("other", 1, 100 * MS));
    assert!(!speaks("one-stream", &little), "a small share");
}

#[test]
fn pageable_copies_are_reported_as_such_and_not_as_ones_that_could_overlap() {
    let profile = pieces(|f| {
        let copies = &mut f.activity.copies[0];
        copies.pageable_calls = 10;
        copies.pageable_ns = copies.times.total_ns;
        copies.times.total_ns = 2 * MS;
        copies.pageable_ns = 2 * MS;
    });
    assert_eq!(found(&profile), [("host-copies", "pipeline".into())]);
}

#[test]
fn copies_that_block_come_before_ones_that_could_overlap() {
    let profile = pieces(|f| {
        f.activity.copies[0].times.total_ns = 2 * MS;
        f.activity.copies[0].blocking_calls = 10;
    });
    assert_eq!(found(&profile), [("host-copies", "pipeline".into())]);
}

#[test]
fn pageable_copies_cannot_overlap_however_little_time_they_take() {
    let pageable = |pageable_ns| pieces(|f| f.activity.copies[0].pageable_ns = pageable_ns);
    assert_eq!(named("one-stream", &pageable(490 * US)), ["pipeline"]);
    assert_eq!(found(&pageable(500 * US)), []);
}

#[test]
fn page_locked_copies_that_could_overlap_are_not_reported_as_copies_too() {
    let mostly_copies = |streams| {
        let mut function = function("pipeline", 2, 30 * MS)
            .kernels([kernel("k", 10, 300 * US)])
            .copied([copies("HtoD", 10, 5 * MS, 64 << 20)]);
        function.activity.work_streams = streams;
        found(&program(h200(), [function], &[]))
    };
    assert_eq!(mostly_copies(1), [("one-stream", "pipeline".into())]);
    assert_eq!(mostly_copies(2), [("host-copies", "pipeline".into())]);
}

/// Four launches per call of 33 blocks each.
fn heads(change: impl FnOnce(&mut Function)) -> Profile {
    let head = KernelStats {
        grid: [33, 1, 1],
        ..kernel("head", 40, MS)
    };
    one(function("heads", 10, 4_100 * US).kernels([head]), change)
}

#[test]
fn small_kernels_one_after_another_on_one_stream_could_run_at_once() {
    let profile = heads(|_| ());
    assert_eq!(found(&profile), [("serial-kernels", "heads".into())]);
    let finding = the("serial-kernels", &profile);
    assert_eq!(
        finding.evidence,
        "80 % of GPU time in 4 small launches/call, one by one: head, 33 blocks for 132 SMs"
    );
    assert_eq!(finding.gain_ns, 30 * MS, "four at once");
    let tiny = heads(|f| f.activity.kernels[0].grid = [1, 1, 1]);
    assert_eq!(
        found(&tiny),
        [("serial-kernels", "heads".into())],
        "not underused too"
    );
    let is_serial = |change: fn(&mut Function)| speaks("serial-kernels", &heads(change));
    assert!(!is_serial(|f| f.activity.work_streams = 2), "two streams");
    assert!(
        !is_serial(|f| f.activity.kernels[0].grid = [67, 1, 1]),
        "one fits"
    );
    assert!(is_serial(|f| f.activity.kernels[0].grid = [66, 1, 1]));
    assert!(!is_serial(|f| f.activity.busy_calls = 11), "3.6 per call");
    assert!(
        !is_serial(|f| f.activity.kernels[0].concurrent_ns = Some(21 * MS)),
        "they do run at once"
    );
    assert!(
        !is_serial(|f| f.activity.kernels[0].concurrent_ns = None),
        "not known"
    );
    assert!(
        !is_serial(|f| f.activity.kernels[0].times.mean_ns = 9 * US),
        "short"
    );
}
