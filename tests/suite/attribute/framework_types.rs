//! Promise: a type that can only give an owned stream, as the device of a framework, lends it to
//! its functions; on the CPU it has none, and the function runs as ever. Trait objects and guards
//! of such types have their stream too.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use cudarc::driver::CudaStream;
use gpuprof::{HasStream, StreamRef, gpu_profile, with_stream};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_device_gives_its_stream_by_value,
        on_the_cpu_there_is_no_stream,
        trait_objects_and_guards_have_the_stream_of_their_model,
    ]],
);

const NS: u64 = 1_000;

/// The device of a framework: the program can neither implement `HasStream` for it nor borrow its
/// stream.
#[derive(Clone)]
enum Device {
    Cpu,
    Cuda(Arc<CudaStream>),
}

impl Device {
    fn cuda_stream(&self) -> Option<Arc<CudaStream>> {
        match self {
            Self::Cpu => None,
            Self::Cuda(stream) => Some(Arc::clone(stream)),
        }
    }
}

struct Model {
    device: Device,
}

impl HasStream for Model {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(self.device.cuda_stream()?))
    }
}

/// A trait of the program's own.
trait Layer: HasStream + Send + Sync {
    fn run(&self, w: &World);
}

impl Layer for Model {
    #[gpu_profile(name = "run")]
    fn run(&self, w: &World) {
        w.cpu(NS);
    }
}

#[gpu_profile]
impl Model {
    fn forward(&self, w: &World) {
        w.cpu(NS);
    }

    #[gpu_profile(stream = self.device.cuda_stream())]
    fn stated(&self, w: &World) {
        w.cpu(NS);
    }
}

#[gpu_profile(stream = device.cuda_stream())]
fn free(w: &World, device: &Device) {
    w.cpu(NS);
}

#[gpu_profile(stream = device.cuda_stream())]
async fn awaited(w: &World, device: Device) {
    w.cpu(NS);
}

fn run_all(w: &World, device: &Device) {
    let model = Model {
        device: device.clone(),
    };
    model.forward(w);
    model.stated(w);
    free(w, device);
    with_stream(device.cuda_stream(), || inherits(w));
    support::executor::run(w, awaited(w, device.clone()), 0);
}

#[gpu_profile]
fn inherits(w: &World) {
    w.cpu(NS);
}

const ALL: [&str; 5] = [
    "Model::forward",
    "Model::stated",
    "free",
    "inherits",
    "awaited",
];

fn a_device_gives_its_stream_by_value() {
    let w = world();
    let session = w.session();
    run_all(&w, &Device::Cuda(w.gpu.another_stream()));
    let profile = w.finish(session);
    for name in ALL {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
    assert_eq!(profile.diagnostics.errors, []);
}

fn on_the_cpu_there_is_no_stream() {
    let w = world();
    let session = w.session();
    run_all(&w, &Device::Cpu);
    let profile = w.finish(session);
    for name in ALL {
        let function = function(&profile, name);
        assert_eq!((function.calls, function.has_stream), (1, false), "{name}");
    }
}

#[gpu_profile]
fn shared_object(w: &World, _layer: &Arc<dyn Layer>) {
    w.cpu(NS);
}

#[gpu_profile]
fn owned_object(w: &World, layer: Arc<dyn Layer>) {
    drop(layer);
    w.cpu(NS);
}

#[gpu_profile]
fn locked(w: &World, model: MutexGuard<'_, Model>) {
    drop(model);
    w.cpu(NS);
}

#[gpu_profile]
fn read_locked(w: &World, _model: &RwLockReadGuard<'_, Model>) {
    w.cpu(NS);
}

/// Replaces the stream that the call was given.
#[gpu_profile]
fn write_locked(w: &World, mut model: RwLockWriteGuard<'_, Model>) {
    model.device = Device::Cpu;
    w.cpu(NS);
}

#[gpu_profile]
fn borrowed(w: &World, _model: std::cell::Ref<'_, Box<dyn Layer>>) {
    w.cpu(NS);
}

#[gpu_profile]
fn locked_stream(w: &World, _stream: MutexGuard<'_, Arc<CudaStream>>) {
    w.cpu(NS);
}

fn trait_objects_and_guards_have_the_stream_of_their_model() {
    let w = world();
    let model = || Model {
        device: Device::Cuda(w.gpu.another_stream()),
    };
    let session = w.session();
    let object: Arc<dyn Layer> = Arc::new(model());
    shared_object(&w, &object);
    object.run(&w);
    owned_object(&w, object);
    locked(&w, Mutex::new(model()).lock().expect("no panic"));
    let lock = RwLock::new(model());
    read_locked(&w, &lock.read().expect("no panic"));
    write_locked(&w, lock.write().expect("no panic"));
    let cell: RefCell<Box<dyn Layer>> = RefCell::new(Box::new(model()));
    borrowed(&w, cell.borrow());
    let stream = Mutex::new(w.gpu.another_stream());
    locked_stream(&w, stream.lock().expect("no panic"));
    let profile = w.finish(session);
    for name in [
        "shared_object",
        "owned_object",
        "run",
        "locked",
        "read_locked",
        "write_locked",
        "borrowed",
        "locked_stream",
    ] {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
    assert_eq!(profile.diagnostics.errors, []);
}
