//! Promise: `args(…)` records its values with each call, under their names, as they are at entry;
//! without a time line no value is evaluated.

use std::fmt::{self, Debug, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use gpuprof::gpu_profile;
use gpuprof::trace::Trace;
use support::executor::{pause, run};
use support::suite::Module;
use support::tests;
use support::{World, world};

use crate::spans::{calls, finish, recorded};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_value_has_the_name_it_is_written_with,
        methods_and_generic_functions_record_theirs,
        values_are_those_at_entry,
        a_future_records_them_with_its_first_poll,
        a_function_that_returns_a_future_records_those_of_its_call,
        what_is_not_recorded_is_not_evaluated,
        long_values_are_cut,
        a_panic_in_a_value_is_one_of_the_call,
        a_value_that_fails_to_format_is_cut_there,
    ]],
);

/// The arguments of each call of a function, as `name=value`.
fn arguments(trace: &Trace, of: &str) -> Vec<Vec<String>> {
    let calls = calls(trace, of);
    let each = calls.iter().map(|call| {
        let pairs = call.args.iter();
        pairs.map(|(name, value)| format!("{name}={value}"))
    });
    each.map(Iterator::collect).collect()
}

#[gpu_profile(
    args(batch, x.len( ) , x . len()+1, rows = x.len() / 2, rest = &x[1..], text, type = "a",)
)]
fn plain(w: &World, batch: u32, x: &[u32], text: &str) {
    w.cpu(10);
    let _ = (batch, x, text);
}

macro_rules! function {
    ($name:ident, $value:expr) => {
        #[gpu_profile(cpu, args($value, twice = 2 * $value))]
        fn $name(w: &World) {
            w.cpu(10);
        }
    };
}
function!(by_macro, 8 + 1);
function!(
    in_one_line,
    1_000_000_001
        + 1_000_000_002
        + 1_000_000_003
        + 1_000_000_004
        + 1_000_000_005
        + 1_000_000_006_u64
);

#[gpu_profile(label = number, args(number))]
fn labelled(w: &World, number: u32) {
    w.gpu.kernel(1_000);
    let _ = number;
}

fn a_value_has_the_name_it_is_written_with() {
    let w = world();
    let session = recorded(1_000);
    plain(&w, 8, &[1, 2, 3, 4], "cat");
    by_macro(&w);
    in_one_line(&w);
    labelled(&w, 1);
    labelled(&w, 2);
    let trace = finish(&w, session);
    let wanted = [
        "batch=8",
        "x.len()=4",
        "x.len() + 1=5",
        "rows=2",
        "rest=[2, 3, 4]",
        "text=\"cat\"",
        "type=\"a\"",
    ];
    assert_eq!(arguments(&trace, "plain"), [wanted]);
    assert_eq!(arguments(&trace, "by_macro"), [["8 + 1=9", "twice=18"]]);
    let long = arguments(&trace, "in_one_line").remove(0).remove(0);
    assert!(long.len() > 90 && !long.contains('\n'), "{long}");
    assert_eq!(arguments(&trace, "labelled[1]"), [["number=1"]]);
    assert_eq!(arguments(&trace, "labelled[2]"), [["number=2"]]);
}

#[derive(Clone, Debug)]
struct Layer {
    index: u32,
}

impl Layer {
    #[gpu_profile(args(self.index, self))]
    fn by_reference(&self, w: &World) {
        w.cpu(10);
    }

    #[gpu_profile(args(self.index, x))]
    fn by_value(self, w: &World, x: Self) {
        w.cpu(10);
        let _ = (self, x);
    }
}

#[gpu_profile(args(x, N, bytes = std::mem::size_of::<T>()))]
fn generic<T: Debug, const N: usize>(w: &World, x: &T) {
    w.cpu(10);
    let _ = x;
}

fn methods_and_generic_functions_record_theirs() {
    let w = world();
    let session = recorded(1_000);
    let layer = Layer { index: 3 };
    layer.by_reference(&w);
    layer.clone().by_value(&w, layer);
    generic::<_, 7>(&w, &1.5_f32);
    generic::<_, 8>(&w, &Some('x'));
    let trace = finish(&w, session);
    let of = |name| arguments(&trace, name);
    assert_eq!(
        of("by_reference"),
        [["self.index=3", "self=Layer { index: 3 }"]]
    );
    assert_eq!(of("by_value"), [["self.index=3", "x=Layer { index: 3 }"]]);
    let wanted = ["x=1.5", "N=7", "bytes=4"];
    assert!(of("generic").contains(&wanted.map(str::to_owned).to_vec()));
    let wanted = ["x=Some('x')", "N=8", "bytes=4"];
    assert!(of("generic").contains(&wanted.map(str::to_owned).to_vec()));
}

#[gpu_profile(args(x, x.len(), depth))]
fn shortens(w: &World, x: &mut Vec<u32>, mut depth: u32) {
    x.clear();
    depth += 1;
    if depth == 1 {
        shortens(w, x, depth);
    }
}

fn values_are_those_at_entry() {
    let w = world();
    let session = recorded(1_000);
    shortens(&w, &mut vec![4, 5], 0);
    let trace = finish(&w, session);
    let inner = ["x=[]", "x.len()=0", "depth=1"];
    let outer = ["x=[4, 5]", "x.len()=2", "depth=0"];
    let mut found = arguments(&trace, "shortens");
    found.sort();
    assert_eq!(found, [outer, inner]);
}

#[gpu_profile(args(first, x.len(), stream = w.gpu.stream.context().ordinal()))]
async fn request(w: &World, (first, _): (u32, u32), x: Vec<u32>) {
    w.gpu.kernel(1_000);
    drop(x);
    pause().await;
    w.cpu(50 + u64::from(first));
}

fn a_future_records_them_with_its_first_poll() {
    let w = world();
    let session = recorded(1_000);
    drop(request(&w, (1, 2), Vec::new()));
    run(&w, request(&w, (3, 4), vec![1, 2]), 100);
    let trace = finish(&w, session);
    let wanted = ["first=3", "x.len()=2", "stream=0"];
    let [first, later] = &arguments(&trace, "request")[..] else {
        panic!("{:?}", trace.cpu_spans);
    };
    assert_eq!(
        (&first[..], later.len()),
        (&wanted.map(str::to_owned)[..], 0)
    );
}

#[gpu_profile(args(x))]
fn returns_future(w: &World, mut x: u32) -> impl Future<Output = u32> {
    x += 1;
    async move {
        w.cpu(10);
        x
    }
}

fn a_function_that_returns_a_future_records_those_of_its_call() {
    let w = world();
    let session = recorded(1_000);
    assert_eq!(run(&w, returns_future(&w, 1), 100), 2);
    let trace = finish(&w, session);
    assert_eq!(arguments(&trace, "returns_future"), [["x=1"]]);
}

/// How often it was evaluated.
#[derive(Default)]
struct Counted {
    borrowed: AtomicU32,
    formatted: AtomicU32,
}

impl Counted {
    fn value(&self) -> &Self {
        self.borrowed.fetch_add(1, Relaxed);
        self
    }

    fn take(&self) -> (u32, u32) {
        (
            self.borrowed.swap(0, Relaxed),
            self.formatted.swap(0, Relaxed),
        )
    }
}

impl Debug for Counted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.formatted.fetch_add(1, Relaxed);
        f.write_str("counted")
    }
}

#[gpu_profile(args(x.value()))]
fn counts(w: &World, x: &Counted) {
    w.gpu.kernel(1_000);
    let _ = x;
}

#[gpu_profile(args(x.value()))]
async fn counts_later(w: &World, x: &Counted) {
    w.gpu.kernel(1_000);
    let _ = x;
}

fn what_is_not_recorded_is_not_evaluated() {
    let w = world();
    let x = Counted::default();
    let call = || {
        counts(&w, &x);
        run(&w, counts_later(&w, &x), 100);
        x.take()
    };
    assert_eq!(call(), (0, 0));
    let session = w.session();
    assert_eq!(call(), (0, 0));
    w.finish(session);

    let session = recorded(1_000);
    assert_eq!(call(), (2, 2));
    assert!(gpuprof::set_recording(false));
    assert_eq!(call(), (0, 0));
    assert!(gpuprof::set_recording(true));
    drop(counts_later(&w, &x));
    assert_eq!(call(), (2, 2));
    let trace = finish(&w, session);
    for of in ["counts", "counts_later"] {
        assert_eq!(arguments(&trace, of), [["x.value()=counted"]; 2]);
    }
    assert_eq!(call(), (0, 0));
}

fn long_values_are_cut() {
    let w = world();
    let session = recorded(1_000);
    plain(&w, 1, &[7; 100_000], &"ä".repeat(1_000));
    let trace = finish(&w, session);
    let arguments = &arguments(&trace, "plain")[0];
    let list = format!("rest=[{}…", &"7, ".repeat(100)[..199]);
    let text = format!("text=\"{}…", "ä".repeat(99));
    assert_eq!(arguments[4], list);
    assert_eq!(arguments[5].replace(' ', ""), text);
}

struct Unstable;

impl Debug for Unstable {
    fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
        panic!("wanted")
    }
}

#[gpu_profile(stream = w.gpu.stream, args(number, x))]
fn fragile<T: Debug>(w: &World, number: u32, x: T) {
    w.gpu.kernel(1_000);
    let _ = (number, x);
}

#[gpu_profile(stream = w.gpu.stream, args(number, x))]
async fn fragile_later<T: Debug>(w: &World, number: u32, x: T) {
    w.gpu.kernel(1_000);
    let _ = (number, x);
}

/// As with every expression of the attribute: the call has not begun, and later ones are recorded.
fn a_panic_in_a_value_is_one_of_the_call() {
    let w = world();
    let session = recorded(1_000);
    let fails = |call: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"wanted"));
    };
    fails(&|| fragile(&w, 1, Unstable));
    fails(&|| run(&w, fragile_later(&w, 1, Unstable), 100));
    fragile(&w, 2, ());
    run(&w, fragile_later(&w, 2, ()), 100);
    let trace = finish(&w, session);
    for of in ["fragile", "fragile_later"] {
        assert_eq!(arguments(&trace, of), [["number=2", "x=()"]]);
    }
    assert_eq!(trace.gpu_spans.len(), 2);
}

struct Halting;

impl Debug for Halting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("half")?;
        Err(fmt::Error)
    }
}

fn a_value_that_fails_to_format_is_cut_there() {
    let w = world();
    let session = recorded(1_000);
    fragile(&w, 1, Halting);
    let trace = finish(&w, session);
    assert_eq!(arguments(&trace, "fragile"), [["number=1", "x=half"]]);
}
