//! Rules about the host.

use super::*;

fn waiting(change: impl FnOnce(&mut Function)) -> Profile {
    let wait = api("cuStreamSynchronize", "sync", 100, 150 * US);
    let function = function("solve", 50, MS)
        .kernels([kernel("k", 100, 100 * US)])
        .calls_cuda([wait, api("cuLaunchKernel", "launch", 100, 4 * US)]);
    one(function, change)
}

#[test]
fn a_wait_in_a_function_that_launches_is_reported_with_the_call_and_its_time() {
    let text = evidence("synchronization", &waiting(|_| ()));
    assert_eq!(
        text,
        "cuStreamSynchronize called 100 times, 2 per call of the function: 15.0 ms in all, 7.5 % \
         of the wall time."
    );
    let on_eight = waiting(|f| {
        f.threads = 8;
        f.activity.api[0].times.total_ns = 1_600 * MS;
    });
    let text = evidence("synchronization", &on_eight);
    assert!(
        text.ends_with(": 1.60 s in all of its 8 threads together, 800.0 % of the wall time."),
        "{text}"
    );
    assert!(
        !speaks("synchronization", &waiting(|f| f.cpu_only = true)),
        "on purpose"
    );
    assert!(
        !speaks("synchronization", &waiting(|f| *f = f.clone().kernels([]))),
        "no work"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].times.calls = 9)
        ),
        "rare"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].times.total_ns = 9 * MS)
        ),
        "short"
    );
    assert!(
        !speaks(
            "synchronization",
            &waiting(|f| f.activity.api[0].kind = "launch".into())
        ),
        "no wait"
    );
}

fn started(change: impl FnOnce(&mut Function)) -> Profile {
    let mut function = function("f", 20, MS).calls_cuda([
        api("cuLaunchKernel", "launch", 20, 4 * US),
        api("cuLibraryLoadData", "module", 2, 8 * MS),
    ]);
    function.activity.first_call_ns = Some(30 * MS);
    one(function, change)
}

#[test]
fn a_slow_first_call_is_reported_with_what_was_loaded() {
    let text = evidence("first-call", &started(|_| ()));
    assert_eq!(
        text,
        "the first call took 30.0 ms on the CPU, half of the calls at most 1.00 ms. In all its \
         calls and those inside, 2 CUDA calls that load modules or kernels took 16.0 ms; whether \
         the first call made them is not told."
    );
    let unknown = evidence("first-call", &started(|f| f.activity.api.truncate(1)));
    assert!(
        unknown.ends_with("the profile does not say why."),
        "{unknown}"
    );
    assert!(
        !speaks(
            "first-call",
            &started(|f| f.activity.first_call_ns = Some(9 * MS))
        ),
        "nine times"
    );
    assert!(
        !speaks("first-call", &started(|f| f.activity.first_call_ns = None)),
        "not seen"
    );
    assert!(
        !speaks("first-call", &started(|f| f.calls = 9)),
        "few calls"
    );
    assert!(
        !speaks("first-call", &started(|f| f.activity.api.clear())),
        "no CUDA"
    );
    let mut long = started(|_| ());
    long.wall_ns = 2 * S;
    assert!(!speaks("first-call", &long), "a small share");
    let soon = |first| {
        let mut profile = started(|f| {
            f.cpu.p50_ns = 50 * US;
            f.activity.first_call_ns = Some(first);
        });
        profile.wall_ns = 10 * MS;
        speaks("first-call", &profile)
    };
    assert!(
        soon(1_050 * US) && !soon(1_040 * US),
        "less than a millisecond"
    );
}

#[test]
fn of_nested_functions_with_a_slow_first_call_the_inner_one_is_reported() {
    let slow = |name: &str, first| {
        let mut function =
            function(name, 20, MS).calls_cuda([api("cuLaunchKernel", "launch", 20, 4 * US)]);
        function.activity.first_call_ns = Some(first);
        function
    };
    let tree = [("outer", None, 20), ("inner", Some(0), 20)];
    let nested = |inner| {
        program(
            h200(),
            [slow("outer", 40 * MS), slow("inner", inner)],
            &tree,
        )
    };
    assert_eq!(named("first-call", &nested(30 * MS)), ["inner"]);
    assert_eq!(named("first-call", &nested(20 * MS)), ["outer"]);
}
