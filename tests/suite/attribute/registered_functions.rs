//! Promise: each annotated function is listed with the name, source location and settings of its
//! attribute, whether or not it ran. Argument expressions are evaluated once, at entry, and only if
//! their value is used.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::profile::Function;
use gpuprof::{Mode, Profile, Session, gpu_profile};
use support::executor::poll;
use support::profile_lookups::{functions, local_name};
use support::suite::Module;
use support::tests;
use support::{function, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        names_are_paths_whether_a_function_ran_or_not,
        entries_know_their_place_and_kind,
        types_of_other_crates_are_named_as_programs_write_them,
        stated_work_is_that_at_entry_and_adds_up,
        what_is_off_or_filtered_out_evaluates_nothing,
    ]],
);

struct Net<T>(T);

#[gpu_profile]
impl<T> Net<T> {
    fn inherent(&self) {}
}

trait Layer {
    fn required(&self);

    #[gpu_profile]
    fn provided(&self) {}
}

#[gpu_profile]
impl<T> Layer for Net<T> {
    fn required(&self) {}
}

#[gpu_profile(cpu)]
mod nested {
    pub(super) mod deeper {
        pub(crate) fn innermost() {}

        #[gpu_profile(skip)]
        pub(crate) fn skipped() {}

        #[super::super::gpu_profile(name = "own name")]
        pub(crate) fn own() {}

        pub(crate) const fn constant() {}
    }
}

#[gpu_profile]
async fn asynchronous() {}

#[gpu_profile]
fn boxed() -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async {})
}

#[gpu_profile]
fn future() -> impl Future<Output = ()> {
    async {}
}

#[gpu_profile]
fn outer() {
    #[gpu_profile]
    fn local() {}
    let closure = || {
        #[gpu_profile]
        fn in_closure() {}
        in_closure();
    };
    local();
    closure();
}

fn run_everything() {
    let net = Net(1);
    net.inherent();
    net.required();
    net.provided();
    nested::deeper::innermost();
    nested::deeper::skipped();
    nested::deeper::own();
    nested::deeper::constant();
    outer();
    assert!(poll(pin!(asynchronous())).is_ready());
    assert!(poll(pin!(boxed())).is_ready());
    assert!(poll(pin!(future())).is_ready());
}

const NAMES: [&str; 12] = [
    "own name",
    "Layer::provided",
    "Net<_>::inherent",
    "asynchronous",
    "boxed",
    "future",
    "nested::deeper::innermost",
    "outer",
    "outer::in_closure",
    "outer::local",
    "recursive",
    "stated",
];

/// Those of this file that ran or could have; the trait impl's name is spelled by the compiler.
fn listed(profile: &Profile) -> Vec<&Function> {
    functions(profile)
        .filter(|function| !function.name.starts_with('<'))
        .collect()
}

fn names_are_paths_whether_a_function_ran_or_not() {
    let w = world();
    let before = w.session().finish();
    let session = w.session();
    run_everything();
    let after = session.finish();
    for profile in [&before, &after] {
        let names: Vec<&str> = listed(profile)
            .iter()
            .map(|function| local_name(&function.name))
            .collect();
        assert_eq!(names, NAMES);
    }
    let of_impl: Vec<&str> = functions(&after)
        .map(|function| function.name.as_str())
        .filter(|name| name.starts_with('<'))
        .collect();
    let expected = [
        "<registered_functions::Device as From<Arc<CudaStream>>>::from",
        "<registered_functions::Net<_> as registered_functions::Layer>::required",
    ];
    assert_eq!(of_impl, expected);
    assert!(listed(&before).iter().all(|function| function.calls == 0));
    let unmet = ["recursive", "stated"];
    assert!(
        listed(&after)
            .iter()
            .all(|function| (function.calls == 1) != unmet.contains(&local_name(&function.name)))
    );
}

struct Device;

#[gpu_profile]
impl From<Arc<CudaStream>> for Device {
    fn from(_stream: Arc<CudaStream>) -> Self {
        Self
    }
}

fn types_of_other_crates_are_named_as_programs_write_them() {
    let w = world();
    let session = w.session();
    let _: Device = Arc::clone(&w.gpu.stream).into();
    let profile = w.finish(session);
    let name = "<registered_functions::Device as From<Arc<CudaStream>>>::from";
    assert_eq!(function(&profile, name).calls, 1);
}

fn entries_know_their_place_and_kind() {
    let w = world();
    let profile = w.session().finish();
    let source: Vec<&str> = include_str!("registered_functions.rs").lines().collect();
    for function in listed(&profile) {
        let name = function.name.rsplit("::").next().unwrap();
        let word = if name == "own name" {
            "fn own("
        } else {
            &format!("fn {name}")
        };
        let line = source[function.line as usize - 1];
        assert!(
            line.contains(word),
            "{} is said to be at {line}",
            function.name
        );
        assert_eq!(
            function.file,
            "tests/suite/attribute/registered_functions.rs"
        );
    }
    assert_eq!(
        function(&profile, "nested::deeper::innermost").module,
        "attribute::registered_functions::nested::deeper"
    );
    let of = |test: fn(&Function) -> bool| -> Vec<&str> {
        functions(&profile)
            .filter(|&function| test(function))
            .map(|function| local_name(&function.name))
            .collect()
    };
    assert_eq!(
        of(|function| function.is_async),
        ["asynchronous", "boxed", "future"]
    );
    assert_eq!(
        of(|function| function.cpu_only),
        ["nested::deeper::innermost"]
    );
}

thread_local! {
    static EVALUATED: Cell<u32> = const { Cell::new(0) };
}

fn evaluated(x: u32) -> u32 {
    EVALUATED.set(EVALUATED.get() + 1);
    x
}

#[gpu_profile(bytes = evaluated(x), flops = 2.5, items = 6_000_000_000 * 2)]
fn stated(mut x: u32) -> u32 {
    x += 1;
    x
}

#[gpu_profile(items = evaluated(depth))]
fn recursive(depth: u32) {
    if depth > 1 {
        recursive(depth - 1);
    }
}

fn stated_work_is_that_at_entry_and_adds_up() {
    let w = world();
    let session = w.session();
    EVALUATED.set(0);
    assert_eq!(stated(10) + stated(20), 32);
    recursive(3);
    let profile = w.finish(session);
    assert_eq!(EVALUATED.get(), 5);
    let stated = function(&profile, "stated");
    assert_eq!(
        (stated.bytes, stated.flops, stated.items),
        (Some(30.0), Some(5.0), Some(24e9))
    );
    let recursive = function(&profile, "recursive");
    assert_eq!(
        (recursive.bytes, recursive.flops, recursive.items),
        (None, None, Some(6.0))
    );
}

fn what_is_off_or_filtered_out_evaluates_nothing() {
    let _w = world();
    EVALUATED.set(0);
    let off = Session::builder().mode(Mode::Off).start().unwrap();
    stated(1);
    drop(off);
    let filtered = Session::builder()
        .filter("^registered_functions::recursive$")
        .start()
        .unwrap();
    stated(1);
    assert_eq!(EVALUATED.get(), 0);
    recursive(1);
    assert_eq!(EVALUATED.get(), 1);
    drop(filtered);
    stated(1);
    assert_eq!(EVALUATED.get(), 1);
}
