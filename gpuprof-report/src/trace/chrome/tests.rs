use serde_json::{Value, json};

use super::super::hand_made::{
    HOSTILE, api_call, copy, cpu_span, gpu_span, kernel, one_kernel, stream, thread,
};
use super::super::{CounterTrack, Gap, Trace};
use super::write_json;
use crate::profile::CopyKind;

fn text(trace: &Trace) -> String {
    let mut out = Vec::new();
    write_json(trace, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(trace: &Trace) -> Value {
    serde_json::from_str(&text(trace)).unwrap()
}

/// The events with this value of a field.
fn events(trace: &Trace, field: &str, value: &str) -> Vec<Value> {
    let events = document(trace)["traceEvents"].as_array().unwrap().clone();
    let events = events.into_iter();
    events.filter(|event| event[field] == value).collect()
}

/// Name, row and times of each slice.
fn slices(trace: &Trace, category: &str) -> Vec<(String, u64, f64, f64)> {
    let slices = events(trace, "cat", category);
    let slices = slices.iter().filter(|event| event["ph"] == "X");
    slices
        .map(|event| {
            (
                event["name"].as_str().unwrap().to_owned(),
                event["tid"].as_u64().unwrap(),
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64().unwrap(),
            )
        })
        .collect()
}

fn row_names(trace: &Trace) -> Vec<(u64, u64, String)> {
    let rows = events(trace, "name", "thread_name");
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap();
    rows.iter()
        .map(|row| {
            let name = row["args"]["name"].as_str().unwrap().to_owned();
            (number(row, "pid"), number(row, "tid"), name)
        })
        .collect()
}

#[test]
fn a_document_has_the_categories_and_fields_of_kineto() {
    let mut trace = one_kernel();
    trace.rank = Some(3);
    trace.ranks = Some(8);
    trace.host = "node7".to_owned();
    trace.clock_error_ns = Some(1250);
    assert_eq!(text(&trace), include_str!("one_kernel.json"));
}

#[test]
fn an_empty_trace_is_a_whole_document() {
    let document = document(&Trace::default());
    assert_eq!(document["deviceProperties"], json!([]));
    assert_eq!(document["distributedInfo"], Value::Null);
    assert_eq!(document["traceEvents"].as_array().unwrap().len(), 2);
}

#[test]
fn hostile_names_read_back_in_full_and_reach_no_terminal() {
    let mut trace = one_kernel();
    trace.program = HOSTILE.to_owned();
    trace.host = HOSTILE.to_owned();
    trace.devices[0].name = HOSTILE.to_owned();
    trace.threads[0].name = HOSTILE.to_owned();
    trace.names = vec![HOSTILE.to_owned(); 3];
    trace.cpu_spans[0].args = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    let json = text(&trace);
    assert!(
        !json
            .chars()
            .any(|c| c != '\n' && crate::sanitize::is_unsafe(c))
    );
    assert_eq!(slices(&trace, "kernel")[0].0, HOSTILE);
    let span = &events(&trace, "cat", "user_annotation")[0];
    assert_eq!(span["args"]["arguments"], json!({ HOSTILE: HOSTILE }));
    assert_eq!(document(&trace)["gpuprof"]["host"], HOSTILE);
}

#[test]
fn arguments_cannot_pass_for_fields_of_an_event() {
    let mut trace = one_kernel();
    let argument = |name: &str| (name.to_owned(), "7".to_owned());
    trace.cpu_spans[0].args = vec![argument("stream"), argument("correlation")];
    let span = &events(&trace, "cat", "user_annotation")[0];
    let arguments = json!({"stream": "7", "correlation": "7"});
    assert_eq!(
        span["args"],
        json!({"External id": 1, "arguments": arguments})
    );
}

#[test]
fn slices_that_overlap_without_nesting_are_on_further_rows() {
    let mut trace = one_kernel();
    trace.cpu_spans = vec![
        cpu_span(0, 0, 400, 900, 0),
        cpu_span(0, 0, 0, 500, 0),
        cpu_span(0, 0, 100, 500, 0),
        cpu_span(0, 0, 900, 1000, 0),
    ];
    trace.api_calls = vec![api_call(Some(0), 1, 0, 500, 1)];
    trace.activities = vec![kernel(0, 2, 0, 300, 0), kernel(0, 2, 200, 400, 0)];
    trace.gpu_spans = vec![
        gpu_span(1, 0, 0, 300, 1),
        gpu_span(1, 0, 100, 400, 2),
        gpu_span(1, 0, 200, 500, 3),
        gpu_span(1, 0, 300, 500, 4),
    ];
    let rows: Vec<_> = slices(&trace, "user_annotation")
        .into_iter()
        .map(|(_, row, start, duration)| (row, start, duration))
        .collect();
    let expected = [
        (101, 0.0, 0.5),
        (101, 0.1, 0.4),
        (102, 0.4, 0.5),
        (101, 0.9, 0.1),
    ];
    assert_eq!(rows, expected);
    let row = |(_, row, ..): (_, u64, f64, f64)| row;
    assert_eq!(
        slices(&trace, "cuda_driver")
            .into_iter()
            .map(row)
            .collect::<Vec<_>>(),
        [101]
    );
    let kernels = slices(&trace, "kernel").into_iter().map(row);
    assert_eq!(kernels.collect::<Vec<_>>(), [7, 103]);
    let spans = slices(&trace, "gpu_user_annotation").into_iter().map(row);
    assert_eq!(spans.collect::<Vec<_>>(), [104, 105, 106, 104]);
    let names: Vec<_> = row_names(&trace)
        .into_iter()
        .map(|(.., name)| name)
        .collect();
    let expected = [
        "main",
        "main (101) · overlapping 2",
        "stream 7",
        "stream 7 · overlapping 2",
        "stream 7 · spans",
        "stream 7 · spans 2",
        "stream 7 · spans 3",
    ];
    assert_eq!(names, expected);
    let streams: Vec<_> = events(&trace, "cat", "kernel")
        .iter()
        .map(|kernel| kernel["args"]["stream"].clone())
        .collect();
    assert_eq!(streams, [7, 7]);
}

#[test]
fn rows_are_told_apart_even_where_their_numbers_are_the_same() {
    let mut trace = one_kernel();
    trace.pid = 1;
    trace.threads = vec![thread(7, "first"), thread(7, "")];
    trace.streams = vec![stream(1, 7, false), stream(1, 7, true), stream(0, 7, false)];
    trace.devices[0].ordinal = 1;
    trace.cpu_spans.push(cpu_span(1, 0, 0, 9, 0));
    trace.activities.push(kernel(2, 2, 0, 9, 0));
    let expected = [
        (1, 7, "first"),
        (1, 8, "thread 7"),
        (5_000_001, 7, "stream 7"),
        (0, 7, "stream 7"),
        (5_000_001, 9, "stream 7 · spans"),
    ];
    assert_eq!(
        row_names(&trace),
        expected.map(|(pid, tid, name)| (pid, tid, name.to_owned()))
    );
}

#[test]
fn what_is_not_listed_is_unknown() {
    let mut trace = one_kernel();
    trace.names.clear();
    trace.streams.clear();
    trace.threads.clear();
    trace.api_calls[0].thread = None;
    let rows = row_names(&trace);
    let expected = [
        "thread (unknown)",
        "stream (unknown)",
        "stream (unknown) · spans",
    ];
    assert_eq!(
        rows.iter().map(|(.., name)| name).collect::<Vec<_>>(),
        expected.each_ref()
    );
    assert_eq!(slices(&trace, "kernel")[0].0, "(unknown)");
    assert_eq!(
        events(&trace, "cat", "kernel")[0]["args"]["stream"],
        Value::Null
    );
}

#[test]
fn an_arrow_joins_the_right_ends_and_none_goes_back_in_time() {
    let mut trace = one_kernel();
    // CUPTI's numbers have wrapped, one activity is of a call that is not there, and one GPU span
    // begins before its call: the clocks differ by that much.
    trace.api_calls.push(api_call(Some(0), 1, 5000, 5500, 77));
    trace.activities.push(kernel(0, 2, 6000, 7000, 77));
    trace.activities.push(kernel(0, 2, 8000, 8500, 78));
    trace.cpu_spans.push(cpu_span(0, 0, 9000, 9500, 6));
    trace.gpu_spans.push(gpu_span(1, 0, 8999, 9500, 6));
    let arrows = events(&trace, "cat", "ac2g");
    let mut ends: Vec<_> = arrows
        .iter()
        .map(|end| {
            let end = |field: &str| end[field].to_string();
            (end("id"), end("ph"), end("ts"))
        })
        .collect();
    ends.sort();
    let expected = [
        ("1", "\"f\"", "2.5"),
        ("1", "\"s\"", "1.0"),
        ("2", "\"f\"", "3.001"),
        ("2", "\"s\"", "1.5"),
        ("4", "\"f\"", "6.0"),
        ("4", "\"s\"", "5.0"),
    ];
    let expected = expected.map(|(id, end, ts)| (id.to_owned(), end.to_owned(), ts.to_owned()));
    assert_eq!(ends, expected);
}

#[test]
fn counters_are_of_devices_and_of_the_process() {
    let mut trace = one_kernel();
    trace.activities = vec![
        kernel(0, 2, 1000, 2000, 0),
        copy(0, CopyKind::HtoD, [2000, 4000]),
        copy(0, CopyKind::DtoH, [3000, 5000]),
        copy(0, CopyKind::Memset, [6000, 7000]),
    ];
    trace.counters = vec![CounterTrack {
        name: "host memory (MB)".to_owned(),
        device: None,
        samples: vec![(0, 1.5), (1, f64::NAN)],
    }];
    let counters: Vec<_> = events(&trace, "ph", "C")
        .iter()
        .map(|sample| {
            let number = |value: &Value| value.as_f64().unwrap();
            let (series, value) = sample["args"].as_object().unwrap().iter().next().unwrap();
            let name = format!("{} {series}", sample["name"].as_str().unwrap());
            (
                name,
                number(&sample["pid"]),
                number(&sample["ts"]),
                number(value),
            )
        })
        .collect();
    let expected = [
        ("GPU busy", 0.0, 1.0, 1.0),
        ("GPU busy", 0.0, 5.0, 0.0),
        ("GPU busy", 0.0, 6.0, 1.0),
        ("GPU busy", 0.0, 7.0, 0.0),
        ("copies in flight", 0.0, 2.0, 1.0),
        ("copies in flight", 0.0, 3.0, 2.0),
        ("copies in flight", 0.0, 4.0, 1.0),
        ("copies in flight", 0.0, 5.0, 0.0),
        ("host memory (MB)", 100.0, 0.0, 1.5),
    ];
    assert_eq!(
        counters,
        expected.map(|(name, pid, ts, value)| (name.to_owned(), pid, ts, value))
    );
}

#[test]
fn without_activities_the_counter_is_of_gpu_spans() {
    let mut trace = one_kernel();
    trace.activities.clear();
    let names: Vec<_> = events(&trace, "ph", "C")
        .iter()
        .map(|sample| (sample["name"].clone(), sample["args"].clone()))
        .collect();
    let expected = [json!({"open": 1.0}), json!({"open": 0.0})];
    assert_eq!(names, expected.map(|args| (json!("GPU span"), args)));
}

#[test]
fn gaps_are_events_that_no_tool_takes_for_work() {
    let mut trace = one_kernel();
    let gap = |thread, events| Gap {
        thread,
        start_ns: 1000,
        end_ns: 3000,
        events,
    };
    trace.gaps = vec![gap(Some(0), 12), gap(None, 1)];
    let gaps: Vec<_> = events(&trace, "cat", "gpuprof")
        .iter()
        .map(|gap| {
            (
                gap["name"].clone(),
                gap["ph"].clone(),
                gap["ts"].clone(),
                gap["dur"].clone(),
            )
        })
        .collect();
    let gap =
        |name: &str, phase: &str, ts: f64| (json!(name), json!(phase), json!(ts), json!(null));
    let of_gpu = "events missing · GPU: 1 event missing";
    let of_main = "events missing · main (101): 12 events missing";
    let expected = [
        gap(of_gpu, "b", 1.0),
        gap(of_gpu, "e", 3.0),
        gap(of_main, "b", 1.0),
        gap(of_main, "e", 3.0),
    ];
    assert_eq!(gaps, expected);
}

#[test]
fn times_at_the_edge_of_the_range_are_written_as_they_are() {
    let mut trace = one_kernel();
    trace.cpu_spans = vec![cpu_span(0, 0, u64::MAX, 5, 0)];
    assert!(text(&trace).contains(r#""ts": 18446744073709551.615, "dur": 0.000"#));
}
