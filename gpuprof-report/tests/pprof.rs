//! pprof's files: the sums of the folded stacks, exact frames, and whole names.

#[allow(missing_docs, clippy::all, unreachable_pub)]
#[path = "../src/pprof/messages.rs"]
#[rustfmt::skip]
mod messages;
mod profiles;

use std::collections::HashSet;
use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use gpuprof_report::profile::{
    CopyStats, CuptiCompleteness, Function, GpuSpanStats, KernelStats, NodeActivity, Profile,
    TreeNode,
};
use gpuprof_report::{folded, json, pprof};
use messages::{Profile as File, Sample};
use profiles::{
    deep, digits, graphs, layers, quickstart, shared_stream, training, trouble, with_markup,
    without_gpu, without_stream,
};
use prost::Message;

type WriteProfile = fn(&Profile, &mut dyn Write) -> io::Result<()>;

fn written(profile: &Profile, write: WriteProfile) -> File {
    let mut zipped = Vec::new();
    write(profile, &mut zipped).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(zipped.as_slice())
        .read_to_end(&mut bytes)
        .unwrap();
    let file = File::decode(bytes.as_slice()).unwrap();
    check(&file);
    file
}

/// As pprof's own check: every number leads somewhere, and none is there twice.
fn check(file: &File) {
    assert_eq!(file.string_table[0], "");
    let texts: HashSet<&String> = file.string_table.iter().collect();
    assert_eq!(texts.len(), file.string_table.len());
    for sample in &file.sample {
        assert_eq!(sample.value.len(), file.sample_type.len());
        assert!(!sample.location_id.is_empty());
        assert!(sample.value.iter().all(|value| *value >= 0));
    }
    for (id, location) in (1..).zip(&file.location) {
        assert_eq!(location.id, id);
        assert_eq!(location.mapping_id, file.mapping[0].id);
    }
    for (id, function) in (1..).zip(&file.function) {
        assert_eq!(function.id, id);
        assert!(!text(file, function.name).is_empty());
    }
}

fn text(file: &File, number: i64) -> &str {
    &file.string_table[usize::try_from(number).unwrap()]
}

fn function<'a>(file: &'a File, name: &str) -> &'a messages::Function {
    let mut functions = file.function.iter();
    let found = functions.find(|function| text(file, function.name) == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// The frames of a sample, outermost first.
fn stack(file: &File, sample: &Sample) -> String {
    let frame = |id: &u64| {
        let location = &file.location[*id as usize - 1];
        let function = &file.function[location.line[0].function_id as usize - 1];
        text(file, function.name)
    };
    let frames: Vec<&str> = sample.location_id.iter().rev().map(frame).collect();
    frames.join(";")
}

/// A line for each sample: its stack, its values and its labels.
fn lines(profile: &Profile) -> Vec<String> {
    let file = written(profile, pprof::write);
    let line = |sample: &Sample| {
        let labels = sample.label.iter();
        let labels = labels
            .map(|label| format!(" {}={}", text(&file, label.key), text(&file, label.str)))
            .collect::<String>();
        format!("{} {:?}{labels}", stack(&file, sample), sample.value)
    };
    file.sample.iter().map(line).collect()
}

/// Frames and weight of each line of folded stacks.
fn weights(profile: &Profile, write: WriteProfile) -> Vec<(usize, i64)> {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    let lines = String::from_utf8(out).unwrap();
    let weight = |line: &str| {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        (stack.split(';').count(), weight.parse().unwrap())
    };
    lines.lines().map(weight).collect()
}

fn node(id: u32, parent: Option<u32>, name: &str, ns: u64) -> TreeNode {
    let mut node = TreeNode::default();
    (node.id, node.parent, node.name) = (id, parent, name.into());
    (node.calls, node.cpu_self_ns, node.gpu_self_ns) = (1, ns, Some(ns));
    node
}

fn tree(nodes: Vec<TreeNode>) -> Profile {
    let mut profile = Profile::default();
    profile.tree = nodes;
    profile
}

fn recorded(name: &str) -> Profile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    json::from_str(&text).unwrap()
}

#[test]
fn samples_and_sums_are_those_of_the_folded_stacks() {
    let recursion = (0..3_000).map(|id: u32| node(id, id.checked_sub(1), "f", 1));
    for profile in [
        Profile::default(),
        quickstart(),
        digits(),
        graphs(),
        layers(),
        shared_stream(),
        training(),
        trouble(),
        with_markup(&training()),
        without_gpu(),
        without_stream(),
        deep(500),
        tree(recursion.collect()),
        recorded("02_convolution"),
        recorded("03_streams"),
        recorded("04_train_digits"),
        recorded("04_train_digits_without_cupti"),
    ] {
        let file = written(&profile, pprof::write);
        let values = |at: usize| -> Vec<(usize, i64)> {
            let samples = file.sample.iter();
            samples
                .map(|sample| (sample.location_id.len(), sample.value[at]))
                .filter(|(_, ns)| *ns > 0)
                .collect()
        };
        assert_eq!(values(0), weights(&profile, folded::write_gpu));
        assert_eq!(values(1), weights(&profile, folded::write_cpu));
    }
}

#[test]
fn with_records_kernels_and_copies_are_leaves_with_their_device() {
    let mut kernel = KernelStats::default();
    (kernel.name, kernel.full_name) = ("gemm<…> #2".into(), "void gemm<float, 2>(int)".into());
    (kernel.symbol, kernel.device) = ("_Z4gemmIfLi2EEvi".into(), 1);
    let mut copies = CopyStats::default();
    (copies.kind, copies.device) = ("HtoD".into(), 3);
    let mut step = node(0, None, "train::step", 999);
    step.label = Some("7".into());
    step.function = Some(0);
    step.activities = (0..3).map(|_| NodeActivity::default()).collect();
    for (activity, ns) in step.activities.iter_mut().zip([70, 20, 3]) {
        activity.total_ns = ns;
    }
    step.activities[0].kernel = Some(0);
    step.activities[1].copies = Some(0);
    step.activities[2].kernel = Some(u32::MAX);
    let mut function_of_step = Function::default();
    (function_of_step.file, function_of_step.line) = ("src/train.rs".into(), 41);
    let mut profile = tree(vec![step]);
    (profile.kernels, profile.copies) = (vec![kernel], vec![copies]);
    profile.functions = vec![function_of_step];
    let mut cupti = CuptiCompleteness::default();
    cupti.unattributed_ns = 5;
    profile.cupti = Some(cupti);
    assert_eq!(
        lines(&profile),
        [
            "train::step[7];void gemm<float, 2>(int) [70, 0] device=1",
            "train::step[7];[CUDA memcpy HtoD] [20, 0] device=3",
            "train::step[7];(unknown) [3, 0]",
            "(unattributed) [5, 0]",
            "train::step[7] [0, 999]",
        ]
    );
    let file = written(&profile, pprof::write);
    let of_step = function(&file, "train::step[7]");
    let place = (text(&file, of_step.filename), of_step.start_line);
    assert_eq!(place, ("src/train.rs", 41));
    let of_kernel = function(&file, "void gemm<float, 2>(int)");
    assert_eq!(text(&file, of_kernel.system_name), "_Z4gemmIfLi2EEvi");
    assert!(text(&file, file.comment[0]).contains("CUPTI's records"));
}

#[test]
fn without_records_a_span_has_the_device_of_its_function() {
    let mut on_one = Function::default();
    on_one.gpu = Some(GpuSpanStats::default());
    let mut profile = tree(vec![node(0, None, "a", 5), node(1, Some(0), "b", 6)]);
    let mut on_two = on_one.clone();
    on_one.gpu.as_mut().unwrap().device = Some(2);
    on_two.gpu.as_mut().unwrap().device = None;
    (profile.tree[0].function, profile.tree[1].function) = (Some(0), Some(1));
    profile.functions = vec![on_one, on_two];
    let expected = ["a [5, 0] device=2", "a;b [6, 0]", "a [0, 5]", "a;b [0, 6]"];
    assert_eq!(lines(&profile), expected);
    let file = written(&profile, pprof::write);
    assert!(text(&file, file.comment[0]).contains("includes idle time"));
}

#[test]
fn the_head_has_types_times_and_the_program() {
    let mut profile = quickstart();
    let file = written(&profile, pprof::write);
    let types = file.sample_type.iter();
    let types: Vec<_> = types
        .map(|of| (text(&file, of.r#type), text(&file, of.unit)))
        .collect();
    assert_eq!(types, [("gpu", "nanoseconds"), ("cpu", "nanoseconds")]);
    assert_eq!(text(&file, file.default_sample_type), "gpu");
    let period = file.period_type.unwrap();
    assert_eq!((period, file.period), (file.sample_type[0], 1));
    assert_eq!(text(&file, file.mapping[0].filename), "quickstart");
    assert!(file.mapping[0].has_functions);
    let began = 1_773_480_413_000_000_000;
    assert_eq!((file.time_nanos, file.duration_nanos), (began, 412_000_000));
    // The next one of the same program has these times too.
    let file = written(&profile, pprof::write_cumulative);
    assert_eq!(
        (file.time_nanos, file.duration_nanos),
        (began + 412_000_000, 0)
    );
    profile.started_at = "yesterday".into();
    assert_eq!(written(&profile, pprof::write).time_nanos, 0);
}

#[test]
fn every_stack_of_a_simulated_device_says_so() {
    let lines = lines(&trouble());
    assert!(!lines.is_empty());
    for line in lines {
        assert!(line.starts_with("simulated device;"), "{line}");
    }
}

#[test]
fn a_name_is_whole_and_has_no_unsafe_character() {
    let long = "x".repeat(5_000);
    for (name, frame) in [
        ("a;b 3", "a;b 3"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\u{1b}[31m"),
        (&long, &long),
        ("", "(unnamed)"),
        (" ", "(unnamed)"),
    ] {
        let profile = tree(vec![node(0, None, name, 7)]);
        assert_eq!(lines(&profile)[0], format!("{frame} [7, 0]"));
    }
}

#[test]
fn a_number_beyond_those_of_pprof_is_its_largest() {
    let mut profile = tree(vec![node(0, None, "a", u64::MAX)]);
    profile.wall_ns = u64::MAX;
    assert_eq!(lines(&profile)[0], format!("a [{}, 0]", i64::MAX));
    let file = written(&profile, pprof::write_cumulative);
    assert_eq!(file.time_nanos, i64::MAX);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for room in [0, 5, 100] {
        let error = pprof::write(&digits(), &mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
