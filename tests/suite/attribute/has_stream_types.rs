//! Promise: a user's type that implements `HasStream` provides the stream of its methods, with
//! every form of `self`.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;
use gpuprof::{HasStream, StreamRef, gpu_profile, scope, with_stream};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        every_form_of_self,
        a_stated_stream_wins_over_the_arguments,
        trait_objects_of_the_users_own,
        the_search_goes_on_where_a_value_has_no_stream_at_present,
        a_stream_that_is_given_by_value_lasts_until_the_end_of_the_call,
    ]],
);

/// Every call below takes this long on its stream, by the CPU time that passes between the events
/// of an idle stream.
const NS: u64 = 1_000;

/// A user's type that owns its stream.
struct Model {
    stream: Arc<CudaStream>,
    other: Arc<CudaStream>,
}

impl HasStream for Model {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&self.stream))
    }
}

#[gpu_profile]
impl Model {
    fn by_ref(&self, w: &World) {
        w.cpu(NS);
    }

    fn by_mut(&mut self, w: &World) {
        w.cpu(NS);
    }

    fn by_value(self, w: &World) {
        w.cpu(NS);
    }

    fn by_mut_value(mut self, w: &World) {
        w.cpu(NS);
        self.stream = Arc::clone(&self.other);
    }

    fn boxed(self: Box<Self>, w: &World) {
        w.cpu(NS);
    }

    fn counted(self: Rc<Self>, w: &World) {
        w.cpu(NS);
    }

    fn shared(self: Arc<Self>, w: &World) {
        w.cpu(NS);
    }

    fn shared_by_ref(self: &Arc<Self>, w: &World) {
        w.cpu(NS);
    }

    fn pinned(self: Pin<&Self>, w: &World) {
        w.cpu(NS);
    }

    fn pinned_mut(self: Pin<&mut Self>, w: &World) {
        w.cpu(NS);
    }

    fn pinned_box(self: Pin<Box<Self>>, w: &World) {
        w.cpu(NS);
    }

    #[gpu_profile(stream = self.other)]
    fn stated_field(&self, w: &World) {
        w.cpu(NS);
    }

    #[gpu_profile(stream = self.other.clone())]
    fn stated_value(&self, w: &World) {
        w.cpu(NS);
    }

    #[gpu_profile(stream = [self, self.other])]
    fn stated_both(&self, w: &World) {
        w.cpu(NS);
    }
}

#[gpu_profile]
fn in_struct(w: &World, Model { other: _found, .. }: &Model) {
    w.cpu(NS);
}

fn every_form_of_self() {
    let w = world();
    let model = || Model {
        stream: w.gpu.another_stream(),
        other: w.gpu.another_stream(),
    };
    let session = w.session();
    let mut one = model();
    one.by_ref(&w);
    one.by_mut(&w);
    Pin::new(&one).pinned(&w);
    Pin::new(&mut one).pinned_mut(&w);
    one.by_value(&w);
    model().by_mut_value(&w);
    Box::new(model()).boxed(&w);
    Rc::new(model()).counted(&w);
    Arc::new(model()).shared(&w);
    Arc::new(model()).shared_by_ref(&w);
    Box::pin(model()).pinned_box(&w);
    in_struct(&w, &model());
    let profile = w.finish(session);
    for name in [
        "by_ref",
        "by_mut",
        "pinned",
        "pinned_mut",
        "by_value",
        "by_mut_value",
        "boxed",
        "counted",
        "shared",
        "shared_by_ref",
        "pinned_box",
    ] {
        let name = format!("Model::{name}");
        assert_eq!(gpu_times(&profile, &name), (1, NS, NS), "{name}");
    }
    assert_eq!(gpu_times(&profile, "in_struct"), (1, NS, NS));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_stated_stream_wins_over_the_arguments() {
    let w = world();
    let model = Model {
        stream: w.gpu.another_stream(),
        other: w.gpu.another_stream(),
    };
    // `other` is busy, so no CPU time is between two events on it.
    let session = w.session();
    w.gpu.kernel_on(&model.other, 100_000);
    model.by_ref(&w);
    model.stated_field(&w);
    model.stated_value(&w);
    model.stated_both(&w);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "Model::by_ref"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "Model::stated_field"), (1, 0, 0));
    assert_eq!(gpu_times(&profile, "Model::stated_value"), (1, 0, 0));
    // From the start event on `stream`, at 3,000, to the end event on `other`, at 100,000.
    let (calls, total_ns, _) = gpu_times(&profile, "Model::stated_both");
    assert_eq!((calls, total_ns), (1, 97_000));
}

/// A user's own trait object.
trait Layer {
    fn stream(&self) -> &Arc<CudaStream>;
}

impl Layer for Model {
    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl HasStream for dyn Layer + '_ {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(Layer::stream(self)))
    }
}

#[gpu_profile]
fn dyn_ref(w: &World, _layer: &dyn Layer) {
    w.cpu(NS);
}

#[gpu_profile]
fn dyn_box(w: &World, _layer: Box<dyn Layer>) {
    w.cpu(NS);
}

#[gpu_profile]
fn dyn_rc(w: &World, _layer: Rc<dyn Layer>) {
    w.cpu(NS);
}

#[gpu_profile]
fn dyn_arc(w: &World, _layer: Arc<dyn Layer>) {
    w.cpu(NS);
}

#[gpu_profile]
fn dyn_has_stream(w: &World, _layer: Box<dyn HasStream>) {
    w.cpu(NS);
}

fn trait_objects_of_the_users_own() {
    let w = world();
    let model = || Model {
        stream: w.gpu.another_stream(),
        other: w.gpu.another_stream(),
    };
    let session = w.session();
    dyn_ref(&w, &model());
    dyn_box(&w, Box::new(model()));
    dyn_rc(&w, Rc::new(model()));
    dyn_arc(&w, Arc::new(model()));
    dyn_has_stream(&w, Box::new(model()));
    let profile = w.finish(session);
    for name in ["dyn_ref", "dyn_box", "dyn_rc", "dyn_arc", "dyn_has_stream"] {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
}

/// A type whose stream is set later, and may be replaced at any time.
#[derive(Default)]
struct Lazy {
    stream: Mutex<Option<Arc<CudaStream>>>,
}

impl HasStream for Lazy {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        let stream = self.stream.lock().unwrap();
        stream.clone().map(StreamRef::from)
    }
}

#[gpu_profile]
fn searched(w: &World, _first: &Lazy, _second: &Arc<CudaStream>) {
    w.cpu(NS);
}

#[gpu_profile]
fn last(w: &World, _only: &Lazy) {
    w.cpu(NS);
}

#[gpu_profile(stream = lazy)]
fn stated(w: &World, lazy: &Lazy, _not_searched: &Arc<CudaStream>) {
    w.cpu(NS);
}

#[gpu_profile(stream = [lazy, stream])]
fn stated_several(w: &World, lazy: &Lazy, stream: &Arc<CudaStream>) {
    w.cpu(NS);
}

fn scoped(w: &World, lazy: &Lazy) {
    scope!("scoped", lazy);
    w.cpu(NS);
}

#[gpu_profile]
fn encloses(_stream: &Arc<CudaStream>, f: impl FnOnce()) {
    f();
}

fn the_search_goes_on_where_a_value_has_no_stream_at_present() {
    let w = world();
    let (idle, busy) = (w.gpu.another_stream(), w.gpu.another_stream());
    let lazy = Lazy::default();
    let session = w.session();
    // On a busy stream no CPU time is between two events.
    w.gpu.kernel_on(&busy, 100_000);
    searched(&w, &lazy, &idle);
    // There is neither an enclosing span nor a default stream.
    last(&w, &lazy);
    with_stream(&lazy, || last(&w, &lazy));
    encloses(&idle, || {
        last(&w, &lazy);
        // The default is still the enclosing span's stream.
        with_stream(&lazy, || last(&w, &lazy));
        stated(&w, &lazy, &busy);
        scoped(&w, &lazy);
    });
    stated_several(&w, &lazy, &idle);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "searched"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "stated"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "scoped"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "stated_several"), (1, NS, NS));
    let last = function(&profile, "last");
    // Two calls had no stream.
    assert_eq!((last.calls, last.untimed_calls), (4, 2));
    assert_eq!(last.untimed.no_stream, 2);
    assert_eq!(gpu_times(&profile, "last"), (2, 2 * NS, 2 * NS));
    assert_eq!(profile.diagnostics.errors, []);
}

/// Drops the last handle of its stream while it runs.
#[gpu_profile]
fn unsets(w: &World, lazy: &Lazy) {
    drop(lazy.stream.lock().unwrap().take());
    w.cpu(NS);
}

fn a_stream_that_is_given_by_value_lasts_until_the_end_of_the_call() {
    let w = world();
    let lazy = || Lazy {
        stream: Mutex::new(Some(w.gpu.another_stream())),
    };
    let session = w.session();
    unsets(&w, &lazy());
    last(&w, &lazy());
    with_stream(lazy(), || w.cpu(NS));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "unsets"), (1, NS, NS));
    assert_eq!(gpu_times(&profile, "last"), (1, NS, NS));
    assert_eq!(profile.diagnostics.errors, []);
}
