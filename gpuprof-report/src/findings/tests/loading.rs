//! Rules about loading code.

use super::*;

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
    let finding = the("first-call", &started(|_| ()));
    assert_eq!(
        finding.evidence,
        "30.0 ms for the first call, median 1.00 ms; 2 calls that load code took 16.0 ms"
    );
    assert_eq!(finding.gain_ns, 29 * MS);
    let unknown = evidence("first-call", &started(|f| f.activity.api.truncate(1)));
    assert_eq!(unknown, "30.0 ms for the first call, median 1.00 ms");
    let speaks = |change: fn(&mut Function)| speaks("first-call", &started(change));
    assert!(
        !speaks(|f| f.activity.first_call_ns = Some(9 * MS)),
        "nine times"
    );
    assert!(!speaks(|f| f.activity.first_call_ns = None), "not seen");
    assert!(!speaks(|f| f.calls = 9), "few calls");
    assert!(!speaks(|f| f.activity.api.clear()), "no CUDA");
}

#[test]
fn a_first_call_that_hardly_counts_in_the_run_is_not_reported() {
    let mut long = started(|_| ());
    long.wall_ns = 2 * S;
    assert!(!speaks("first-call", &long), "a small share");
    let soon = |first| {
        let mut profile = started(|f| {
            f.cpu.p50_ns = 50 * US;
            f.activity.first_call_ns = Some(first);
        });
        profile.wall_ns = 20 * MS;
        speaks("first-call", &profile)
    };
    assert!(soon(1_050 * US));
    assert!(!soon(1_040 * US), "less than a millisecond");
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
        let functions = [
            slow("outer", 40 * MS),
            slow("inner", inner),
            beside(100 * US),
        ];
        program(h200(), functions, &tree)
    };
    assert_eq!(named("first-call", &nested(30 * MS)), ["inner"]);
    assert_eq!(named("first-call", &nested(20 * MS)), ["outer"]);
}

/// A function with these calls that load code, 1 ms each.
fn loading(name: &str, loads: u64) -> Profile {
    let infer = function("infer", 20, 2 * MS)
        .kernels([kernel("k", 10, 400 * US)])
        .calls_cuda([api(name, "module", loads, MS)]);
    one(infer, |_| ())
}

#[test]
fn a_module_that_is_loaded_in_each_call_is_reported() {
    let finding = the("module-loads", &loading("cuModuleLoadData", 20));
    assert_eq!(
        finding.evidence,
        "10 % of the wall loads modules: 20 loads, 1/call, 1.00 ms each"
    );
    assert_eq!(finding.gain_ns, 20 * MS);
    assert!(speaks("module-loads", &loading("cuLibraryLoadData", 10)));
    assert!(!speaks("module-loads", &loading("cuModuleLoadData", 9)));
    assert!(!speaks("module-loads", &loading("cuModuleGetFunction", 20)));
}

#[test]
fn so_many_loads_outside_of_every_function_cannot_be_as_many_modules() {
    let outside = |loads| {
        let mut profile = program(h200(), [beside(100 * US)], &[]);
        profile.api = vec![api("cuModuleLoadDataEx", "module", loads, MS)];
        named("module-loads", &profile)
    };
    assert_eq!(outside(100), [""]);
    assert_eq!(outside(99), [""; 0]);
}
