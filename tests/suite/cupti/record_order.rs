//! Promise: the tables are the same for every order and buffer size of the records, and missing
//! records are counted.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use simcupti::{InvalidStamps, Order};
use support::cupti_world::{Tier, all_kernels, busy, cupti, kernels, tier};
use support::suite::Module;
use support::tests;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        order_and_buffers_make_no_difference,
        dropped_records_are_counted_and_what_depends_on_them_is_missing,
        stamps_that_are_no_times_are_left_out_and_counted,
    ]],
)
.with_subscriber_calls();

/// `CUpti_ActivityKind`.
const CONCURRENT_KERNEL: u32 = 10;

#[gpu_profile]
fn outer(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 100);
    inner(t, stream);
}

#[gpu_profile]
fn inner(t: &Tier, stream: &Arc<CudaStream>) {
    t.gpu.kernel_on(stream, 1_000);
}

fn run(t: &Tier) {
    for _ in 0..20 {
        outer(t, &t.gpu.stream);
        t.gpu.kernel(3);
    }
}

/// What must be equal for every order of records.
#[derive(Debug, PartialEq)]
struct Told<'a> {
    inner: Vec<(&'a str, u64, u64)>,
    outer: (u64, u64, u64, u64),
    all: (u64, u64),
    outside: u64,
}

fn tables(profile: &Profile) -> Told<'_> {
    Told {
        inner: kernels(profile, "inner"),
        outer: busy(profile, "outer"),
        all: all_kernels(profile),
        outside: cupti(profile).unattributed,
    }
}

fn order_and_buffers_make_no_difference() {
    let t = tier();
    let orders = [
        Order::Measured,
        Order::ActivitiesFirst,
        Order::ActivitiesLast,
        Order::Reversed,
        Order::KernelsReversed,
    ];
    for by_runtime in [false, true] {
        t.cupti.launch_by_runtime(by_runtime);
        for order in orders {
            // Within the limit of buffers; 16 and 25 separate records of one call.
            for records in [0, 16, 25] {
                t.cupti.set_order(order);
                t.cupti.split(records);
                let session = t.session();
                run(&t);
                let profile = t.finish(session);
                let all = Told {
                    inner: vec![("saxpy", 20, 20_000)],
                    outer: (22_000, 20, 40, 40),
                    all: (60, 22_060),
                    outside: 20,
                };
                assert_eq!(tables(&profile), all, "{order:?}, {records}, {by_runtime}");
            }
        }
    }
}

/// The profile of the program after `change`, in which records may be missing.
fn changed(t: &Tier, change: impl FnOnce()) -> Profile {
    let session = t.session();
    change();
    run(t);
    let profile = t.finish_unchecked(session);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
    profile
}

fn dropped_records_are_counted_and_what_depends_on_them_is_missing() {
    let t = tier();
    let whole = cupti(&changed(&t, || ())).records;
    let profile = changed(&t, || t.cupti.drop_record(CONCURRENT_KERNEL, 2));
    let cupti = cupti(&profile);
    assert_eq!((cupti.dropped_records, cupti.unfinished), (1, 1));
    assert_eq!(cupti.records, whole - 1);
    assert_eq!(kernels(&profile, "inner"), [("saxpy", 19, 19_000)]);
    assert_eq!(busy(&profile, "outer"), (21_000, 20, 39, 39));
    // Without the record the device would look idle.
    let busy = profile.gpu_busy.iter().map(|busy| busy.records);
    assert!(busy.eq([None]), "{:?}", profile.gpu_busy);
}

fn stamps_that_are_no_times_are_left_out_and_counted() {
    let t = tier();
    let whole = cupti(&changed(&t, || ())).records;
    for stamps in [InvalidStamps::Zero, InvalidStamps::Reversed] {
        let profile = changed(&t, || t.cupti.corrupt_stamps(2, stamps));
        let cupti = cupti(&profile);
        assert_eq!((cupti.invalid_records, cupti.records), (1, whole - 1));
        assert_eq!(kernels(&profile, "inner"), [("saxpy", 19, 19_000)]);
        assert_eq!(busy(&profile, "outer"), (21_000, 20, 39, 39));
    }
}
