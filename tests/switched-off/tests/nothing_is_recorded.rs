//! Promise: switched off, gpuprof records and evaluates nothing, and the program behaves as without
//! it.

use gpuprof::Profile;
use std::task::{Context, Poll, Waker};
use switched_off::{
    Model, Stream, block, carried, everything, generic, logged, session, with_streams,
};

#[test]
fn functions_run_and_their_arguments_are_not_evaluated() {
    let model = Model::default();
    assert_eq!(model.forward(1), 2);
    assert_eq!(model.scoped(1), 4);
    assert_eq!(with_streams(&model), 2);
    assert_eq!(carried(&model), 3);
    assert_eq!(block::inside(1) + block::skipped(1), 11);
    let mut future = std::pin::pin!(model.forward_later(1));
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(3));
    assert_eq!(model.evaluations(), 0);
}

#[test]
fn profiles_are_empty() {
    let model = Model::default();
    model.forward(1);
    model.scoped(1);
    assert_eq!(everything(), [Profile::default(), Profile::default()]);
    let measured = session(|| assert_eq!(model.forward(generic(&Stream)), 2));
    assert_eq!(measured.unwrap(), [Profile::default(), Profile::default()]);
}

#[test]
fn a_callback_for_a_log_is_not_called() {
    assert!(!logged(|line, _| panic!("{line}")));
}
