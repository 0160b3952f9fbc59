//! Promise: `label` divides the calls of a function by a value: each label has its own counts and
//! times, the function has their sums, and a call with a known label allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::profile::{Function, LabelStats, OTHER_LABELS};
use gpuprof::{Profile, gpu_profile, scope};
use support::executor::{pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{World, assert_consistent, cpu_times, function, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        layers_are_told_apart,
        integers_and_strings_of_any_type_are_labels,
        labels_beyond_the_bound_are_summed_and_counted,
        futures_have_the_label_of_their_call,
        a_recursion_counts_once_within_a_label,
        threads_share_the_labels,
        labels_of_an_earlier_window_are_gone,
        a_label_is_evaluated_once_and_only_for_calls_that_are_measured,
        a_sample_is_scaled_up_for_each_label,
        a_known_label_allocates_nothing,
        scopes_have_labels,
    ]],
);

struct Block {
    index: usize,
    stream: Arc<CudaStream>,
}

#[gpu_profile]
impl Block {
    #[gpu_profile(stream = self.stream, label = self.index, bytes = 1_000 * (self.index + 1))]
    fn forward(&self, w: &World) {
        w.gpu.kernel_on(&self.stream, 100);
        self.attention(w);
        w.cpu(10);
    }

    fn attention(&self, w: &World) {
        w.gpu
            .kernel_on(&self.stream, 1_000 * (self.index as u64 + 1));
    }
}

/// The labels of a function with their calls.
fn calls(function: &Function) -> Vec<(&str, u64)> {
    let labels = function.labels.iter();
    labels.map(|stats| (&*stats.label, stats.calls)).collect()
}

fn label<'a>(profile: &'a Profile, name: &str, label: &str) -> &'a LabelStats {
    let mut labels = function(profile, name).labels.iter();
    labels
        .find(|stats| stats.label == label)
        .expect("the label")
}

/// `(timed calls, total, self, longest)` of one label on the GPU.
fn on_gpu(profile: &Profile, name: &str, of: &str) -> (u64, u64, u64, u64) {
    let gpu = label(profile, name, of).gpu.as_ref().expect("it is timed");
    (gpu.timed_calls, gpu.total_ns, gpu.self_ns, gpu.max_ns)
}

fn layers_are_told_apart() {
    let w = world();
    // The stream is busy from here on, so that only kernels are between two events.
    w.gpu.kernel_on(&w.gpu.stream, 1_000_000);
    let blocks: Vec<_> = [1, 0]
        .map(|index| Block {
            index,
            stream: w.gpu.stream.clone(),
        })
        .into();
    let session = w.session();
    for _ in 0..3 {
        blocks.iter().for_each(|block| block.forward(&w));
    }
    let profile = w.finish(session);
    let forward = function(&profile, "Block::forward");
    assert_eq!(calls(forward), [("0", 3), ("1", 3)]);
    assert_eq!(
        on_gpu(&profile, "Block::forward", "0"),
        (3, 3_300, 300, 1_100)
    );
    assert_eq!(
        on_gpu(&profile, "Block::forward", "1"),
        (3, 6_300, 300, 2_100)
    );
    assert_eq!(gpu_times(&profile, "Block::forward"), (6, 9_600, 600));
    assert_eq!(cpu_times(&profile, "Block::forward"), (6, 60, 60));
    let first = label(&profile, "Block::forward", "0");
    let cpu = [
        first.cpu_total_ns,
        first.cpu_self_ns,
        first.cpu_mean_ns,
        first.cpu_max_ns,
    ];
    assert_eq!((cpu, first.open_calls), ([30, 30, 10, 10], 0));
    let bytes = |of| {
        let gpu = label(&profile, "Block::forward", of).gpu.as_ref();
        gpu.and_then(|gpu| gpu.timed_bytes)
    };
    assert_eq!([bytes("0"), bytes("1")], [Some(3_000.0), Some(6_000.0)]);
    // Nested spans are told apart in the tree.
    let attention = |of: &str| node(&profile, &[of, "Block::attention"]).gpu_self_ns;
    assert_eq!(attention("Block::forward[0]"), Some(3_000));
    assert_eq!(attention("Block::forward[1]"), Some(6_000));
    assert_eq!(profile.tree.len(), 4);
    assert_eq!(calls(function(&profile, "Block::attention")), []);
    let table = profile.to_string();
    for row in ["Block::forward[1]  ", "Block::forward[0]  "] {
        assert!(table.contains(row), "{table}");
    }
}

macro_rules! labelled {
    ($($name:ident: $label:ty),+ $(,)?) => {$(
        #[gpu_profile(cpu, label = label)]
        fn $name(label: $label) {}
    )+};
}
labelled!(
    by_u64: u64,
    by_i8: &i8,
    by_str: &str,
    by_string: String,
    by_arc: &Arc<str>,
    by_mut: &mut i32,
);

fn integers_and_strings_of_any_type_are_labels() {
    let w = world();
    let session = w.session();
    [u64::MAX, 3, 20].into_iter().for_each(by_u64);
    [-1, i8::MIN, 0, -1].iter().for_each(by_i8);
    ["prefill", "decode", "", "prefill", "7"]
        .into_iter()
        .for_each(by_str);
    by_string("owned".to_owned());
    by_arc(&Arc::from("shared"));
    by_mut(&mut 4);
    let profile = w.finish(session);
    let labels = |name| calls(function(&profile, name));
    assert_eq!(
        labels("by_u64"),
        [("3", 1), ("20", 1), ("18446744073709551615", 1)]
    );
    assert_eq!(labels("by_i8"), [("-128", 1), ("-1", 2), ("0", 1)]);
    assert_eq!(
        labels("by_str"),
        [("", 1), ("7", 1), ("decode", 1), ("prefill", 2)]
    );
    assert_eq!(labels("by_string"), [("owned", 1)]);
    assert_eq!(labels("by_arc"), [("shared", 1)]);
    assert_eq!(labels("by_mut"), [("4", 1)]);
}

fn labels_beyond_the_bound_are_summed_and_counted() {
    let w = world();
    let session = w.session();
    for _ in 0..2 {
        (0..300).for_each(by_u64);
    }
    let profile = w.finish(session);
    let function = function(&profile, "by_u64");
    assert_eq!((function.calls, function.labels.len()), (600, 257));
    assert_eq!(calls(function)[255..], [("255", 2), (OTHER_LABELS, 88)]);
    let line = "summed in [other labels]: labels::by_u64 88 calls. A function has at most 256";
    let table = profile.to_string();
    assert!(table.contains(line), "{table}");
    assert_eq!(profile.diagnostics.dropped, 0);
}

#[gpu_profile(label = request)]
async fn serve(w: &World, stream: &Arc<CudaStream>, request: &str) {
    w.gpu.kernel_on(stream, 1_000);
    pause().await;
    w.gpu.kernel_on(stream, 200);
}

#[gpu_profile(label = request, cpu)]
fn boxed(request: u32) -> std::pin::Pin<Box<dyn Future<Output = u32>>> {
    Box::pin(async move { request })
}

fn futures_have_the_label_of_their_call() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let session = w.session();
    let mut first = Box::pin(serve(&w, &a, "short"));
    let mut second = Box::pin(serve(&w, &b, "long"));
    // Their polls take turns.
    assert!(poll(first.as_mut()).is_pending());
    assert!(poll(second.as_mut()).is_pending());
    let open = session.snapshot();
    assert_eq!(label(&open, "serve", "short").open_calls, 1);
    assert!(poll(first.as_mut()).is_ready());
    // One that is dropped is a call as well.
    drop(second);
    assert_eq!(run(&w, boxed(8), 0), 8);
    let profile = w.finish(session);
    assert_eq!(
        calls(function(&profile, "serve")),
        [("long", 1), ("short", 1)]
    );
    assert_eq!(on_gpu(&profile, "serve", "short"), (1, 1_200, 1_200, 1_200));
    assert_eq!(on_gpu(&profile, "serve", "long"), (1, 1_000, 1_000, 1_000));
    assert_eq!(calls(function(&profile, "boxed")), [("8", 1)]);
    assert_eq!(label(&profile, "serve", "short").open_calls, 0);
}

#[gpu_profile(label = depth % 2)]
fn descend(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    w.cpu(10);
    w.gpu.kernel_on(stream, 100);
    if depth > 0 {
        descend(w, stream, depth - 1);
    }
}

fn a_recursion_counts_once_within_a_label() {
    let w = world();
    let stream = w.gpu.another_stream();
    w.gpu.kernel_on(&stream, 1_000_000);
    let session = w.session();
    descend(&w, &stream, 2);
    descend(&w, &stream, 0);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "descend"), (4, 40, 40));
    assert_eq!(gpu_times(&profile, "descend"), (4, 400, 400));
    let on_cpu = |of| {
        let stats = label(&profile, "descend", of);
        (stats.calls, stats.cpu_total_ns, stats.cpu_self_ns)
    };
    assert_eq!([on_cpu("0"), on_cpu("1")], [(3, 40, 30), (1, 20, 10)]);
    assert_eq!(on_gpu(&profile, "descend", "0"), (3, 400, 300, 300));
    assert_eq!(on_gpu(&profile, "descend", "1"), (1, 200, 100, 200));
    let innermost = node(&profile, &["descend[0]", "descend[1]", "descend[0]"]);
    assert_eq!((innermost.calls, innermost.gpu_total_ns), (1, Some(100)));
}

fn threads_share_the_labels() {
    let w = world();
    let session = w.session();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(by_u64));
        }
    });
    let profile = w.finish(session);
    let function = function(&profile, "by_u64");
    assert_eq!((function.threads, function.labels.len()), (4, 100));
    assert!(function.labels.iter().all(|stats| stats.calls == 4));
}

fn labels_of_an_earlier_window_are_gone() {
    let w = world();
    let session = w.session();
    [1, 2].into_iter().for_each(by_u64);
    gpuprof::reset();
    [2, 3].into_iter().for_each(by_u64);
    let profile = w.finish(session);
    assert_eq!(calls(function(&profile, "by_u64")), [("2", 1), ("3", 1)]);
}

#[gpu_profile(cpu, label = { evaluated.set(evaluated.get() + 1); 1 })]
fn counts(evaluated: &Cell<u32>) {}

fn a_label_is_evaluated_once_and_only_for_calls_that_are_measured() {
    let w = world();
    let evaluated = Cell::new(0);
    let session = w.session();
    counts(&evaluated);
    counts(&evaluated);
    let profile = w.finish(session);
    assert_eq!(
        (evaluated.get(), function(&profile, "counts").calls),
        (2, 2)
    );
    // No session is open.
    counts(&evaluated);
    assert_eq!(evaluated.get(), 2);
}

#[gpu_profile(label = size, sample = 4)]
fn sampled(w: &World, stream: &Arc<CudaStream>, size: u64) {
    w.gpu.kernel_on(stream, 1_000 * size);
}

fn a_sample_is_scaled_up_for_each_label() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    w.gpu.kernel_on(&stream, 100_000_000);
    (0..2_000).for_each(|call| sampled(&w, &stream, 1 + call % 2));
    let profile = w.finish(session);
    let all = function(&profile, "sampled");
    let total = all.gpu.as_ref().expect("timed").times.total_ns;
    let parts = ["1", "2"].map(|of| on_gpu(&profile, "sampled", of));
    assert!(
        (parts[0].1 + parts[1].1).abs_diff(total) <= 2,
        "{parts:?} {total}"
    );
    // 1,000 calls of 1,000 ns and 1,000 of 2,000 ns.
    assert!(parts[0].1.abs_diff(1_000_000) < 300_000, "{parts:?}");
    assert!(parts[1].1.abs_diff(2_000_000) < 600_000, "{parts:?}");
    assert_consistent(&profile);
}

fn scopes_have_labels() {
    let w = world();
    let stream = w.gpu.another_stream();
    let session = w.session();
    for layer in ["embed", "head"] {
        scope!("on the CPU", label = layer);
        w.cpu(10);
    }
    for layer in 0..3 {
        scope!("layer", &stream, label = layer % 2);
        w.gpu.kernel_on(&stream, 1_000);
    }
    let profile = w.finish(session);
    assert_eq!(
        calls(function(&profile, "on the CPU")),
        [("embed", 1), ("head", 1)]
    );
    assert_eq!(on_gpu(&profile, "layer", "0"), (2, 2_000, 2_000, 1_000));
    assert_eq!(on_gpu(&profile, "layer", "1"), (1, 1_000, 1_000, 1_000));
}

/// The system's allocator, which counts what this thread allocates.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn a_known_label_allocates_nothing() {
    let w = world();
    let session = w.session();
    let call_all = || {
        // More than one cache of nodes holds.
        (0..300).for_each(by_u64);
        ["prefill", "decode"].into_iter().for_each(by_str);
    };
    call_all();
    let before = ALLOCATIONS.get();
    call_all();
    assert_eq!(ALLOCATIONS.get(), before);
    let known: BTreeMap<_, _> = [(1, 2)].into();
    assert!(ALLOCATIONS.get() > before, "{known:?}");
    drop(w.finish(session));
}
