//! Promise: the stream is taken from the first argument that has one, of whatever type, and from
//! nowhere else.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use gpuprof::{HasStream, gpu_profile};
use support::executor::run;
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_form_of_cudarcs_own_types,
        what_carries_no_stream_is_cpu_only,
        the_first_argument_that_has_one_unless_another_is_stated,
        every_form_of_an_optional_stream,
        of_several_streams_in_one_argument_the_stated_ones,
    ]],
);

/// Every call below takes this long on its stream, by the CPU time that passes between the events
/// of an idle stream.
const NS: u64 = 1_000;

#[gpu_profile]
fn stream_ref(w: &World, _stream: &CudaStream) {
    w.cpu(NS);
}

#[gpu_profile]
fn arc_ref(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(NS);
    assert!(Arc::strong_count(stream) > 1);
}

#[gpu_profile]
fn arc_by_value(w: &World, stream: Arc<CudaStream>) {
    drop(stream);
    w.cpu(NS);
}

#[gpu_profile]
fn slice_ref(_n: usize, _slice: &CudaSlice<f32>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn slice_mut(_n: usize, _slice: &mut CudaSlice<u8>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn slice_by_value(slice: CudaSlice<f32>, w: &World) {
    w.cpu(NS);
    drop(slice);
}

#[gpu_profile]
fn slice_returned(mut slice: CudaSlice<f32>, w: &World) -> CudaSlice<f32> {
    w.cpu(NS);
    slice = slice.clone();
    slice
}

#[gpu_profile]
fn view(_view: CudaView<'_, f32>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn view_ref(_view: &CudaView<'_, f32>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn view_mut(_view: CudaViewMut<'_, f32>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn view_mut_ref(_view: &mut CudaViewMut<'_, f32>, w: &World) {
    w.cpu(NS);
}

#[gpu_profile]
fn in_tuple(w: &World, (_n, _slice): (usize, &CudaSlice<f32>)) {
    w.cpu(NS);
}

#[gpu_profile]
fn underscore(w: &World, _: &Arc<CudaStream>) {
    w.cpu(NS);
}

#[gpu_profile]
fn bound<S: HasStream>(w: &World, _stream: &S) {
    w.cpu(NS);
}

#[gpu_profile]
fn impl_trait(w: &World, _stream: impl HasStream) {
    w.cpu(NS);
}

#[gpu_profile]
fn unsized_bound<S: HasStream + ?Sized>(w: &World, _stream: &S) {
    w.cpu(NS);
}

#[gpu_profile]
fn unbound_then_stream<T>(w: &World, _unknown: &T, _stream: &CudaStream) {
    w.cpu(NS);
}

#[gpu_profile]
fn unbound<T>(w: &World, _unknown: &T) {
    w.cpu(NS);
}

#[gpu_profile]
fn optional(w: &World, _stream: Option<&Arc<CudaStream>>) {
    w.cpu(NS);
}

#[gpu_profile]
fn two_slices(w: &World, _first: &CudaSlice<f32>, _second: &CudaSlice<f32>) {
    w.cpu(NS);
}

#[gpu_profile(stream = _second)]
fn second_stated(w: &World, _first: &CudaSlice<f32>, _second: &CudaSlice<f32>) {
    w.cpu(NS);
}

#[gpu_profile(stream = stream)]
fn stated_parameter_by_value(w: &World, stream: Arc<CudaStream>) {
    drop(stream);
    w.cpu(NS);
}

fn every_form_of_cudarcs_own_types() {
    let w = world();
    let s = w.gpu.another_stream();
    let mut floats = s.alloc_zeros::<f32>(4).expect("memory");
    let mut bytes = s.alloc_zeros::<u8>(4).expect("memory");
    let owned = s.alloc_zeros::<f32>(4).expect("memory");
    let session = w.session();
    stream_ref(&w, &s);
    arc_ref(&w, &s);
    arc_by_value(&w, Arc::clone(&s));
    stated_parameter_by_value(&w, Arc::clone(&s));
    slice_ref(4, &floats, &w);
    slice_mut(4, &mut bytes, &w);
    let owned = slice_returned(owned, &w);
    slice_by_value(owned, &w);
    view(floats.slice(1..3), &w);
    view_ref(&floats.slice(1..3), &w);
    view_mut(floats.slice_mut(1..3), &w);
    view_mut_ref(&mut floats.slice_mut(1..3), &w);
    in_tuple(&w, (4, &floats));
    bound(&w, &s);
    impl_trait(&w, &floats);
    let unsized_stream: &dyn HasStream = &s;
    unsized_bound(&w, unsized_stream);
    optional(&w, Some(&s));
    unbound_then_stream(&w, &"neither", &s);
    let profile = w.finish(session);
    for name in [
        "stream_ref",
        "arc_ref",
        "arc_by_value",
        "stated_parameter_by_value",
        "slice_ref",
        "slice_mut",
        "slice_returned",
        "slice_by_value",
        "view",
        "view_ref",
        "view_mut",
        "view_mut_ref",
        "in_tuple",
        "bound",
        "impl_trait",
        "unsized_bound",
        "optional",
        "unbound_then_stream",
    ] {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
    assert_eq!(profile.diagnostics.errors, []);
}

fn what_carries_no_stream_is_cpu_only() {
    let w = world();
    let s = &w.gpu.stream;
    let session = w.session();
    // `_` binds nothing; a generic parameter without the bound `HasStream` has no stream for the
    // attribute.
    underscore(&w, s);
    unbound(&w, s);
    optional(&w, None);
    let profile = w.finish(session);
    for name in ["underscore", "unbound", "optional"] {
        let function = function(&profile, name);
        assert_eq!((function.calls, function.has_stream), (1, false), "{name}");
        assert_eq!(
            (&function.gpu, function.untimed_calls),
            (&None, 0),
            "{name}"
        );
    }
}

fn the_first_argument_that_has_one_unless_another_is_stated() {
    let w = world();
    let (idle, busy) = (w.gpu.another_stream(), w.gpu.another_stream());
    let floats = idle.alloc_zeros::<f32>(4).expect("memory");
    let on_busy = busy.alloc_zeros::<f32>(4).expect("memory");
    let session = w.session();
    // On a busy stream no CPU time is between two events.
    w.gpu.kernel_on(&busy, 100_000);
    two_slices(&w, &floats, &on_busy);
    second_stated(&w, &floats, &on_busy);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "two_slices"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "second_stated"), (1, 0, 0));
}

#[gpu_profile]
fn option_by_value(w: &World, _stream: Option<Arc<CudaStream>>) {
    w.cpu(NS);
}

#[gpu_profile]
fn option_ref(w: &World, _stream: &Option<Arc<CudaStream>>) {
    w.cpu(NS);
}

#[gpu_profile]
fn option_mut(w: &World, _stream: &mut Option<Arc<CudaStream>>) {
    w.cpu(NS);
}

#[gpu_profile]
fn option_of_a_slice(w: &World, _slice: Option<&mut CudaSlice<f32>>) {
    w.cpu(NS);
}

#[gpu_profile]
async fn option_later(w: &World, _stream: Option<&CudaStream>) {
    w.cpu(NS);
}

fn every_form_of_an_optional_stream() {
    let w = world();
    let s = w.gpu.another_stream();
    let mut floats = s.alloc_zeros::<f32>(4).expect("memory");
    let session = w.session();
    option_by_value(&w, Some(Arc::clone(&s)));
    option_ref(&w, &Some(Arc::clone(&s)));
    option_mut(&w, &mut Some(Arc::clone(&s)));
    option_of_a_slice(&w, Some(&mut floats));
    run(&w, option_later(&w, Some(&s)), 0);
    let profile = w.finish(session);
    for name in [
        "option_by_value",
        "option_ref",
        "option_mut",
        "option_of_a_slice",
        "option_later",
    ] {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
}

#[gpu_profile]
fn not_searched(w: &World, _streams: &[Arc<CudaStream>], _pair: &(u8, Arc<CudaStream>)) {
    w.cpu(NS);
}

#[gpu_profile(stream = streams[0])]
fn first_of_a_slice(w: &World, streams: &[Arc<CudaStream>]) {
    w.cpu(NS);
}

#[gpu_profile(stream = [streams[0], pair.1])]
fn from_a_vec_and_a_tuple(w: &World, streams: Vec<Arc<CudaStream>>, pair: (u8, Arc<CudaStream>)) {
    w.cpu(NS);
}

fn of_several_streams_in_one_argument_the_stated_ones() {
    let w = world();
    let streams = [w.gpu.another_stream(), w.gpu.another_stream()];
    let pair = (0, Arc::clone(&streams[1]));
    let session = w.session();
    not_searched(&w, &streams, &pair);
    first_of_a_slice(&w, &streams);
    from_a_vec_and_a_tuple(&w, streams.to_vec(), pair);
    let profile = w.finish(session);
    assert!(!function(&profile, "not_searched").has_stream);
    assert_eq!(gpu_times(&profile, "first_of_a_slice"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "from_a_vec_and_a_tuple"), (1, NS, NS));
}
