//! How random programs are drawn, and made smaller after a failure.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::strategy::Union;

use super::program::{Call, Function, Lane, Program, SLOTS, STREAMS, Step};

/// What the programs of a test contain.
#[derive(Clone, Copy, Default)]
pub(super) struct Features {
    /// Threads use the same streams, and several futures are pending at once.
    pub(super) overlap: bool,
    /// `stream = [a, b]`.
    pub(super) several_streams: bool,
    pub(super) resets: bool,
    /// The profile is made while calls are in progress.
    pub(super) ends_inside: bool,
}

/// Programs with these features.
pub(super) fn programs(features: Features) -> impl Strategy<Value = Program> {
    let threads = vec(vec(steps(features), 1..6), 1..4);
    let ends_after = if features.ends_inside {
        option::weighted(0.9, 1..40_usize).boxed()
    } else {
        Just(None).boxed()
    };
    let order = vec(any::<u8>(), 1..12);
    (threads, order, ends_after).prop_map(move |(threads, order, ends_after)| Program {
        threads,
        shares_streams: features.overlap,
        order,
        ends_after,
    })
}

fn steps(features: Features) -> BoxedStrategy<Step> {
    let slot = || 0..SLOTS;
    let mut simple = vec![
        (
            6,
            (lane(), 1..2_000_u64)
                .prop_map(|(lane, ns)| Step::Kernel(lane, ns))
                .boxed(),
        ),
        (2, (1..1_000_u64).prop_map(Step::Cpu).boxed()),
        (1, Just(Step::Synchronize).boxed()),
        (2, Just(Step::Pause).boxed()),
    ];
    if features.overlap {
        simple.push((3, slot().prop_map(Step::Poll).boxed()));
        simple.push((1, slot().prop_map(Step::Drop).boxed()));
    }
    simple.push(if features.resets {
        (2, Just(Step::Reset).boxed())
    } else {
        (1, Just(Step::Snapshot).boxed())
    });
    Union::new_weighted(simple)
        .prop_recursive(4, 24, 4, move |inner| {
            let block = || vec(inner.clone(), 0..5);
            let call = move || (function(features), block());
            let calls = |calls: BoxedStrategy<Call>| vec(calls, 1..4).prop_map(Step::Join);
            let mut nested = vec![
                (5, call().prop_map(Step::Call).boxed()),
                (
                    1,
                    (lane(), block())
                        .prop_map(|(lane, to)| Step::WithStream(lane, to))
                        .boxed(),
                ),
                (2, call().prop_map(Step::Await).boxed()),
            ];
            if features.overlap {
                nested.push((2, calls(call().boxed()).boxed()));
                nested.push((
                    3,
                    (slot(), call())
                        .prop_map(|(at, to)| Step::Make(at, to))
                        .boxed(),
                ));
            }
            Union::new_weighted(nested)
        })
        .boxed()
}

fn lane() -> impl Strategy<Value = Lane> + Clone {
    let stream = (0..STREAMS).prop_map(Lane::Stream).boxed();
    Union::new_weighted(vec![(5, stream), (1, Just(Lane::PerThread).boxed())])
}

fn function(features: Features) -> impl Strategy<Value = Function> {
    let mut functions = vec![
        (4, lane().prop_map(Function::On).boxed()),
        (3, lane().prop_map(Function::Other).boxed()),
        (2, Just(Function::Inherits).boxed()),
        (1, Just(Function::Cpu).boxed()),
    ];
    if features.several_streams {
        let both = (lane(), lane()).prop_map(|(a, b)| Function::Both(a, b));
        functions.push((3, both.boxed()));
    }
    Union::new_weighted(functions)
}
