//! Rules about copies.

use super::*;

fn copying(change: impl FnOnce(&mut CopyStats)) -> Profile {
    let mut copies = pageable("HtoD", 10, 200 * US, 1 << 20);
    change(&mut copies);
    one(function("upload", 10, 300 * US).copied([copies]), |_| ())
}

#[test]
fn pageable_copies_are_told_and_page_locked_ones_are_not() {
    let text = evidence("host-copies", &copying(|_| ()));
    assert_eq!(
        text,
        "HtoD copies take 16.7 % of the GPU's kernel and copy time: 2.00 ms in 10 copies, 5.24 \
         GB/s (10 from or to pageable memory, 0 blocking)."
    );
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
            .starts_with("Queue the copy on a stream")
    );
    assert!(speaks("host-copies", &profile));
    let many = |ns| {
        let copies = copies("DtoH", 10, ns, 1 << 20);
        one(function("download", 10, 2 * MS).copied([copies]), |_| ())
    };
    assert!(!speaks("host-copies", &many(990 * US)));
    assert!(speaks("host-copies", &many(MS)));
}

fn pieces(change: impl FnOnce(&mut Function)) -> Profile {
    let function = function("pipeline", 2, 5 * MS)
        .kernels([kernel("k", 10, 300 * US)])
        .copied([copies("HtoD", 10, 100 * US, 1 << 20)]);
    one(function, change)
}

#[test]
fn copies_and_kernels_in_pieces_on_one_stream_are_told() {
    let text = evidence("one-stream", &pieces(|_| ()));
    assert_eq!(
        text,
        "each call has all its work on one stream: about 3.00 ms of kernels and 1.00 ms of copies \
         between host and device, of which 1.00 ms while no kernel ran. They might overlap."
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
