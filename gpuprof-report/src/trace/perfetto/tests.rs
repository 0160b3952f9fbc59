use prost::Message;

use super::super::hand_made::{HOSTILE, cpu_span, gpu_span, one_kernel};
use super::super::{CounterTrack, Gap, Trace};
use super::messages::{DebugAnnotation, TracePacket, TrackDescriptor, TrackEvent};
use super::write_perfetto;

/// The packets of a file, each of which begins with the key of the list and its length.
fn packets(trace: &Trace) -> Vec<TracePacket> {
    let mut bytes = Vec::new();
    write_perfetto(trace, &mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    let mut packets = Vec::new();
    while let Some((key, packet)) = rest.split_first() {
        assert_eq!(*key, 0x0a);
        rest = packet;
        packets.push(TracePacket::decode_length_delimited(&mut rest).unwrap());
    }
    packets
}

fn tracks(packets: &[TracePacket]) -> Vec<TrackDescriptor> {
    let tracks = packets.iter();
    tracks
        .filter_map(|packet| packet.track_descriptor.clone())
        .collect()
}

/// Time since the trace's zero, and the event.
fn events(trace: &Trace) -> Vec<(u64, TrackEvent)> {
    let packets = packets(trace);
    let events = packets.into_iter();
    events
        .filter_map(|packet| {
            let since = packet.timestamp? - trace.base_unix_ns;
            Some((since, packet.track_event?))
        })
        .collect()
}

/// The texts of all names of events and arguments, and of all arguments.
fn texts(packets: &[TracePacket]) -> Vec<String> {
    fn of(annotation: &DebugAnnotation) -> Vec<String> {
        let nested = annotation.dict_entries.iter().flat_map(of);
        annotation
            .string_value
            .clone()
            .into_iter()
            .chain(nested)
            .collect()
    }
    let mut texts = Vec::new();
    for packet in packets {
        let interned = packet.interned_data.clone().unwrap_or_default();
        let names = interned
            .event_names
            .into_iter()
            .chain(interned.debug_annotation_names);
        texts.extend(names.filter_map(|name| name.name));
        let event = packet.track_event.clone().unwrap_or_default();
        texts.extend(event.debug_annotations.iter().flat_map(of));
    }
    texts
}

#[test]
fn streams_and_counters_are_below_their_device_and_that_below_the_process() {
    let tracks = tracks(&packets(&one_kernel()));
    let path = |track: &TrackDescriptor| {
        let mut names = Vec::new();
        let mut next = Some(track.clone());
        while let Some(track) = next {
            let process = track.process.and_then(|process| process.process_name);
            let thread = track.thread.and_then(|thread| thread.thread_name);
            names.push(track.name.or(process).or(thread).unwrap());
            let parent = track.parent_uuid;
            next = parent.map(|uuid| {
                tracks
                    .iter()
                    .find(|other| other.uuid == Some(uuid))
                    .unwrap()
                    .clone()
            });
        }
        names.reverse();
        names.join(" / ")
    };
    let paths: Vec<String> = tracks.iter().map(path).collect();
    let expected = [
        "digits",
        "digits / recording",
        "main",
        "digits / GPU 0 · NVIDIA H200",
        "digits / GPU 0 · NVIDIA H200 / stream 7",
        "digits / GPU 0 · NVIDIA H200 / stream 7 · spans",
        "digits / GPU 0 · NVIDIA H200 / GPU busy",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn each_slice_ends_on_its_own_track_and_inner_ones_first() {
    let mut trace = one_kernel();
    trace.api_calls.clear();
    trace.activities.clear();
    trace.gpu_spans.clear();
    // The second begins as the first ends; the third and fourth take no time.
    trace.cpu_spans = vec![
        cpu_span(0, 0, 0, 500, 0),
        cpu_span(0, 0, 100, 500, 0),
        cpu_span(0, 0, 500, 900, 0),
        cpu_span(0, 0, 900, 900, 0),
        cpu_span(0, 0, 900, 900, 0),
        cpu_span(0, 0, 800, 1000, 0),
    ];
    let slices: Vec<_> = events(&trace)
        .iter()
        .skip(2)
        .map(|(time, event)| (*time, event.r#type.unwrap(), event.track_uuid.unwrap()))
        .collect();
    let (main, second) = (3, 4);
    let expected = [
        (0, 1, main),
        (100, 1, main),
        (500, 2, main),
        (500, 2, main),
        (500, 1, main),
        (800, 1, second),
        (900, 2, main),
        (900, 1, main),
        (900, 2, main),
        (900, 1, main),
        (900, 2, main),
        (1000, 2, second),
    ];
    assert_eq!(slices, expected);
}

#[test]
fn hostile_names_are_written_in_full() {
    let mut trace = one_kernel();
    trace.program = HOSTILE.to_owned();
    trace.threads[0].name = HOSTILE.to_owned();
    trace.names = vec![HOSTILE.to_owned(); 3];
    trace.cpu_spans[0].args = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    let packets = packets(&trace);
    let thread = tracks(&packets)
        .into_iter()
        .find_map(|track| track.thread)
        .unwrap();
    assert_eq!(thread.thread_name.as_deref(), Some(HOSTILE));
    let hostile = texts(&packets).into_iter().filter(|text| text == HOSTILE);
    // The program, one name for all events, and the argument's name and value.
    assert_eq!(hostile.count(), 4);
}

#[test]
fn both_ends_of_an_arrow_have_its_number_and_nothing_else_has() {
    let mut trace = one_kernel();
    trace.gpu_spans.push(gpu_span(1, 0, 500, 800, 5));
    let arrows: Vec<_> = events(&trace)
        .into_iter()
        .filter(|(_, event)| !event.flow_ids.is_empty())
        .map(|(time, event)| (time, event.flow_ids))
        .collect();
    let expected = [
        (1000, vec![1]),
        (1500, vec![2]),
        (3001, vec![2]),
        (2500, vec![1]),
    ];
    assert_eq!(arrows, expected);
}

#[test]
fn counters_gaps_and_the_recording_are_told_with_their_numbers() {
    let mut trace = one_kernel();
    trace.clock_error_ns = Some(1250);
    trace.counters = vec![CounterTrack {
        name: "power (W)".to_owned(),
        device: Some(0),
        samples: vec![(5, 300.5), (6, f64::INFINITY)],
    }];
    trace.gaps = vec![Gap {
        thread: None,
        start_ns: 10,
        end_ns: 20,
        events: 12,
    }];
    let events = events(&trace);
    let doubles: Vec<_> = events
        .iter()
        .filter_map(|(time, event)| Some((*time, event.double_counter_value?)))
        .collect();
    assert_eq!(doubles, [(5, 300.5)]);
    let busy: Vec<_> = events
        .iter()
        .filter_map(|(time, event)| Some((*time, event.counter_value?)))
        .collect();
    assert_eq!(busy, [(3001, 1), (5000, 0)]);
    let numbers = |time: u64| -> Vec<u64> {
        let (_, event) = events.iter().find(|(start, _)| *start == time).unwrap();
        event
            .debug_annotations
            .iter()
            .filter_map(|annotation| annotation.uint_value)
            .collect()
    };
    assert_eq!(numbers(0), [100, trace.base_unix_ns, 1250]);
    assert_eq!(numbers(10), [12]);
    let process = tracks(&packets(&trace)).remove(0).process.unwrap();
    assert_eq!(
        process.process_labels,
        ["GPU times are within 1.250 µs of CPU times"]
    );
    assert!(texts(&packets(&trace)).contains(&"12 events missing".to_owned()));
}

#[test]
fn an_empty_trace_and_times_out_of_range_are_written() {
    assert_eq!(packets(&Trace::default()).len(), 5);
    let mut trace = one_kernel();
    trace.cpu_spans = vec![cpu_span(0, 0, u64::MAX, 5, 0)];
    let latest = packets(&trace)
        .into_iter()
        .filter_map(|packet| packet.timestamp)
        .max();
    assert_eq!(latest, Some(i64::MAX.unsigned_abs()));
}
