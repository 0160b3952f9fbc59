use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::hand_made::one_kernel;
use super::super::{write_json, write_perfetto};
use super::{MergeError, merge_json, merge_perfetto};

/// Files that are removed at the end of the test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

fn merged(inputs: &[PathBuf]) -> Result<Value, String> {
    let mut out = Vec::new();
    merge_json(inputs, &mut out).map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&out).unwrap())
}

fn document(base_ns: u64, events: &[Value]) -> String {
    json!({"traceEvents": events, "baseTimeNanoseconds": base_ns}).to_string()
}

/// The traces of two ranks, of which the second began 2,001 ns earlier.
fn ranks() -> [Vec<u8>; 2] {
    [0, 1].map(|rank| {
        let mut trace = one_kernel();
        trace.rank = Some(rank);
        trace.base_unix_ns -= 2001 * u64::from(rank);
        let mut json = Vec::new();
        write_json(&trace, &mut json).unwrap();
        json
    })
}

#[test]
fn json_of_two_ranks_is_on_one_time_line_with_numbers_of_its_own() {
    let files = Files::new();
    let [first, second] = ranks();
    let inputs = [files.with("0.json", first), files.with("1.json", second)];
    let merged = merged(&inputs).unwrap();
    assert_eq!(merged["baseTimeNanoseconds"], 1_699_999_999_999_997_999_u64);
    assert_eq!(merged["deviceProperties"].as_array().unwrap().len(), 2);
    let events = merged["traceEvents"].as_array().unwrap();
    let of = |category: &str, field: &str| -> Vec<Value> {
        let events = events.iter().filter(|event| event["cat"] == category);
        events
            .map(|event| event.pointer(field).unwrap().clone())
            .collect()
    };
    assert_eq!(of("kernel", "/ts"), [json!(5.002), json!(3.001)]);
    assert_eq!(of("kernel", "/dur"), [json!(1.999), json!(1.999)]);
    assert_eq!(of("kernel", "/pid"), [json!(0), json!(6_000_001)]);
    assert_eq!(
        of("user_annotation", "/pid"),
        [json!(100), json!(6_000_000)]
    );
    let (first, second) = (32_768 + 77, 1_u64 << 40);
    assert_eq!(
        of("kernel", "/args/correlation"),
        [json!(first), json!(second + first)]
    );
    assert_eq!(
        of("cuda_driver", "/args/correlation"),
        [json!(first), json!(second + first)]
    );
    assert_eq!(
        of("kernel", "/args/External id"),
        [json!(1), json!(second + 1)]
    );
    assert_eq!(of("kernel", "/args/stream"), [json!(7), json!(7)]);
    let arrows = [1, 2, 2, 1].map(|id| json!(id));
    let later = [1, 2, 2, 1].map(|id| json!(second + id));
    assert_eq!(of("ac2g", "/id"), [arrows, later].concat());
    let sort_indices: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "process_sort_index")
        .map(|event| event["args"]["sort_index"].clone())
        .collect();
    assert_eq!(sort_indices, [0, 1, 1000, 1001]);
}

#[test]
fn what_other_programs_write_is_kept_to_the_letter() {
    let files = Files::new();
    let text = r#"{"baseTimeNanoseconds": 1000, "traceEvents": [
        {"pid":"Spans","tid":9007199254740993,"ts":1.23456789,"dur":1e-3,"args":{"Ev Idx":1}},
        {"ph":"s","id":"0x1f","pid":3,"ts":7},
        {"ph":"f","id":-1,"pid":3,"ts":7.5,"args":"none"},
        {"ph":"M","pid":3,"name":"process_sort_index","args":{"sort_index":-5}}], "x": [{}]}"#;
    let earlier = document(0, &[json!({"pid": 3, "id": "0x1f"})]);
    let inputs = [files.with("a.json", earlier), files.with("b.json", text)];
    let mut out = Vec::new();
    merge_json(&inputs, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let events: Vec<&str> = out.lines().skip(7).collect();
    let expected = [
        r#"{"id": "0x1f", "pid": 3},"#,
        "{\"pid\": \"Spans\", \"tid\": 9007199254740993, \"ts\": 2.23456789, \"dur\": 1e-3, \
         \"args\": {\"Ev Idx\": 1}},",
        r#"{"ph": "s", "id": "1:0x1f", "pid": 6000000, "ts": 8.000},"#,
        r#"{"ph": "f", "id": "1:-1", "pid": 6000000, "ts": 8.500, "args": "none"},"#,
        r#"{"ph": "M", "pid": 6000000, "name": "process_sort_index", "args": {"sort_index": -5}}"#,
        "]}",
    ];
    assert_eq!(events, expected);
}

#[test]
fn broken_json_is_named_with_the_reason() {
    let files = Files::new();
    let good = files.with("good.json", document(5, &[]));
    let error = |name: &str, content: &str| {
        let bad = files.with(name, content);
        let error = merged(&[good.clone(), bad.clone()]).unwrap_err();
        let named = format!("\"{}\" is not a trace that can be merged: ", bad.display());
        error.strip_prefix(&named).unwrap_or(&error).to_owned()
    };
    let whole = document(9, &[json!({"ph": "X", "ts": 1.5})]);
    let cut = whole.get(..whole.len() - 3).unwrap();
    assert_eq!(
        error("cut", cut),
        "EOF while parsing an object at line 1 column 58"
    );
    assert_eq!(
        error("empty", ""),
        "EOF while parsing a value at line 1 column 0"
    );
    assert_eq!(
        error("list", "[]"),
        "invalid type: sequence, expected an object with \"traceEvents\", as \
         GPUPROF_REPORT=trace=PATH.json writes it, at line 1 column 1"
    );
    assert_eq!(
        error("object", "{}"),
        "it has no \"traceEvents\"; GPUPROF_REPORT=trace=PATH.json writes one"
    );
    assert_eq!(
        error("more", "{} {}"),
        "trailing characters at line 1 column 4"
    );
    assert_eq!(
        error("base", r#"{"traceEvents": []}"#),
        "it has no \"baseTimeNanoseconds\", by which its times would be aligned"
    );
    assert_eq!(
        error("event", &document(9, &[json!(7)])),
        "an event is no object with named values at line 1 column 42"
    );
    assert_eq!(
        error("time", &document(9, &[json!({"ts": -1.5})])),
        "an event has the time -1.5, which is no decimal number of µs at line 1 column 52"
    );
    let overflow = json!({"ts": u64::MAX});
    assert!(error("late", &document(9, &[overflow])).starts_with("an event has the time 1844"));
    let missing = merged(&[files.0.path().join("\u{1b}.json")]).unwrap_err();
    assert!(missing.starts_with("could not read \"") && missing.contains("\\u{1b}.json\": "));
    assert_eq!(merged(&[]), Err(MergeError::NoInput.to_string()));
}

#[test]
fn pftraces_of_two_ranks_share_no_number() {
    let files = Files::new();
    let inputs = [0, 1].map(|rank| {
        let mut bytes = Vec::new();
        write_perfetto(&one_kernel(), &mut bytes).unwrap();
        files.with(&format!("{rank}.pftrace"), bytes)
    });
    let mut out = Vec::new();
    merge_perfetto(&inputs, &mut out).unwrap();
    let packets = super::perfetto::read_all(&files.with("merged.pftrace", &out)).unwrap();
    let (first, second) = packets.split_at(packets.len() / 2);
    let pids = |packets: &[super::perfetto::TracePacket]| -> Vec<i32> {
        let tracks = packets
            .iter()
            .filter_map(|packet| packet.track_descriptor.as_ref());
        tracks
            .flat_map(|track| {
                let process = track.process.as_ref().and_then(|process| process.pid);
                process
                    .into_iter()
                    .chain(track.thread.as_ref().and_then(|thread| thread.pid))
            })
            .collect()
    };
    assert_eq!(
        (pids(first), pids(second)),
        (vec![100, 100], vec![6_000_000, 6_000_000])
    );
    let flows = |packets: &[super::perfetto::TracePacket]| -> Vec<u64> {
        let events = packets
            .iter()
            .filter_map(|packet| packet.track_event.as_ref());
        events.flat_map(|event| event.flow_ids.clone()).collect()
    };
    let distinct = [1, 2, 2, 1].map(|id| id + (1 << 40));
    assert_eq!(
        (flows(first), flows(second)),
        (vec![1, 2, 2, 1], distinct.to_vec())
    );
    let sequences: Vec<_> = packets
        .iter()
        .map(|packet| packet.trusted_packet_sequence_id)
        .collect();
    let half = packets.len() / 2;
    assert_eq!(
        sequences,
        [vec![Some(1); half], vec![Some(2); half]].concat()
    );
    for (one, other) in first.iter().zip(second) {
        let tracks = |packet: &super::perfetto::TracePacket| {
            let track = packet.track_descriptor.clone().unwrap_or_default();
            let event = packet.track_event.clone().unwrap_or_default();
            [track.uuid, track.parent_uuid, event.track_uuid]
        };
        let expected = tracks(one).map(|uuid| uuid.map(|uuid| uuid + (1 << 40)));
        assert_eq!(tracks(other), expected);
        assert_eq!(one.timestamp, other.timestamp);
    }
}

#[test]
fn broken_pftraces_are_named_with_the_reason() {
    let files = Files::new();
    let mut whole = Vec::new();
    write_perfetto(&one_kernel(), &mut whole).unwrap();
    let error = |name: &str, content: &[u8]| {
        let bad = files.with(name, content);
        let error = merge_perfetto(&[&bad], &mut Vec::new())
            .unwrap_err()
            .to_string();
        let named = format!("\"{}\" is not a trace that can be merged: ", bad.display());
        error.strip_prefix(&named).unwrap_or(&error).to_owned()
    };
    let within = "it ends within a packet";
    assert_eq!(error("cut", whole.split_last().unwrap().1), within);
    assert_eq!(error("key", &[0x0a]), within);
    assert_eq!(
        error("endless", &[[0x0a].as_slice(), &[0xff; 20]].concat()),
        within
    );
    assert_eq!(error("empty", b""), "it is empty");
    assert_eq!(
        error("json", b"{}"),
        "it is not in Perfetto's format; GPUPROF_REPORT=trace=PATH.pftrace writes one"
    );
    let more = [whole.as_slice(), b"}"].concat();
    assert_eq!(
        error("more", &more),
        "a packet does not begin where it should"
    );
    assert_eq!(
        error("large", &[0x0a, 0x80, 0x80, 0x80, 0x80, 0x01]),
        "a packet is 268435456 bytes long"
    );
    // Field 1 is not among those that gpuprof writes.
    let foreign = error("foreign", &[0x0a, 0x02, 0x08, 0x01]);
    assert!(
        foreign.ends_with("merge traces in Chrome JSON instead"),
        "{foreign}"
    );
    let mut merged = Vec::new();
    let input = files.with("whole", &whole);
    merge_perfetto(&[&input, &input], &mut merged).unwrap();
    let again = "it is a merged trace already, or too large: merge the original ones";
    assert_eq!(error("merged", &merged), again);
    let none: [PathBuf; 0] = [];
    let error = merge_perfetto(&none, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, MergeError::NoInput));
}

#[test]
fn a_full_disk_is_an_error_of_writing() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let files = Files::new();
    let events = vec![json!({"name": "x".repeat(1000), "ts": 1}); 100];
    let input = files.with("a.json", document(5, &events));
    let error = merge_json(&[input], &mut Full).unwrap_err();
    assert!(matches!(error, MergeError::Write(_)), "{error}");
}
