//! Promise: the number of series is bounded: the first 500 functions that run have their own, the
//! others are summed and counted, and no series changes its function.

use gpuprof::metrics::prometheus_text;
use support::suite::Module;
use support::tests;
use support::world;

use crate::exposition::Exposition;
use crate::many_functions;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        functions_beyond_the_bound_are_summed_and_counted,
        hostile_names_stay_in_their_label,
    ]],
);

fn functions_beyond_the_bound_are_summed_and_counted() {
    let _world = world();
    let session = gpuprof::Session::builder().start().expect("the only one");
    let all = many_functions::all();
    assert_eq!(all.len(), 520);
    // The last by name run first: a series is of who ran first.
    let (late, early) = all.split_at(19);
    early.iter().for_each(|call| call());
    let calls = "gpuprof_function_calls_total";
    let others = [("function", "other functions")];
    let before = Exposition::read(&prometheus_text());
    assert_eq!(before.of(calls, &[]).count(), 501);
    assert_eq!(before.one(calls, &others), 1.0);
    assert_eq!(before.one("gpuprof_functions_over_limit", &[]), 1.0);
    for _ in 0..3 {
        late.iter().for_each(|call| call());
    }
    let after = Exposition::read(&prometheus_text());
    let names = |of: &Exposition| -> Vec<String> {
        of.of(calls, &[])
            .map(|(series, _)| series.to_owned())
            .collect()
    };
    assert_eq!(names(&after), names(&before));
    assert_eq!(after.one(calls, &others), 58.0);
    assert_eq!(after.one("gpuprof_functions_over_limit", &[]), 20.0);
    let sum: f64 = after.of(calls, &[]).map(|(_, value)| value).sum();
    assert_eq!(sum, 501.0 + 57.0);
    drop(session);
}

fn hostile_names_stay_in_their_label() {
    let _world = world();
    let _session = gpuprof::Session::builder().start().expect("the only one");
    gpuprof::scope!("a\"} 1\\");
    let found = Exposition::read(&prometheus_text());
    let open: Vec<_> = found.of("gpuprof_function_open_calls", &[]).collect();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0].0.contains(r#"function="a\"} 1\\""#), "{open:?}");
}
