//! A user's library that leaves the choice of measuring to the final program: it uses gpuprof's
//! whole interface without the feature `enable`. Its compilation is the first test; `tests/`
//! contains the others.
//!
//! Mistakes in arguments are compile errors here too:
//!
//! ```compile_fail
//! #[gpuprof::gpu_profile(strem = 1)]
//! fn misspelled() {}
//! ```
//!
//! ```compile_fail
//! #[gpuprof::gpu_profile(color = 0x1000000)]
//! fn out_of_range() {}
//! ```

use gpuprof::{
    CurrentSpan, Diagnostic, HasStream, Mode, Output, Profile, Sampling, Session, SessionBuilder,
    SessionError, Severity, StreamRef, gpu_profile, profile, scope,
};
use std::cell::Cell;
use std::time::Duration;

/// A stream type of any library.
#[derive(Debug, Default)]
pub struct Stream;

/// A user's own type with a stream.
#[derive(Debug, Default)]
pub struct Model {
    stream: Stream,
    evaluated: Cell<u32>,
}

impl HasStream for Model {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        self.evaluated();
        Some(StreamRef::from(&self.stream))
    }
}

impl Model {
    /// How often the stream or the work of a call was requested.
    #[must_use]
    pub fn evaluations(&self) -> u32 {
        self.evaluated.get()
    }

    fn evaluated(&self) -> u32 {
        self.evaluated.set(self.evaluated.get() + 1);
        1
    }

    /// Uses every argument.
    #[gpu_profile(
        name = "model/forward",
        stream = self.evaluated(),
        bytes = self.evaluated(),
        flops = self.evaluated(),
        items = self.evaluated(),
        label = self.evaluated(),
        payload = self.evaluated(),
        color = 0x76B900,
        category = "forward",
        sample = 10
    )]
    pub fn forward(&self, x: u32) -> u32 {
        x + 1
    }

    /// Uses the arguments on an `async fn`.
    #[gpu_profile(stream = [self.evaluated(), self], items = self.evaluated())]
    pub async fn forward_later(&self, x: u32) -> u32 {
        x + 2
    }

    /// Scopes, with and without a stream.
    pub fn scoped(&self, x: u32) -> u32 {
        scope!("model/scoped");
        scope!("model/streamed", self);
        scope!("model/labelled", label = self.evaluated());
        scope!("model/both", self, label = self.evaluated());
        scope!("model/by value", self.evaluated());
        x + 3
    }
}

/// An annotated module, with a skipped function.
#[gpu_profile(cpu)]
pub mod block {
    /// An annotated function.
    #[must_use]
    pub fn inside(x: u32) -> u32 {
        x + 4
    }

    /// A skipped function.
    #[gpu_profile(skip)]
    #[must_use]
    pub fn skipped(x: u32) -> u32 {
        x + 5
    }
}

/// A default stream, from every accepted type.
pub fn with_streams(model: &Model) -> u32 {
    gpuprof::set_default_stream(model);
    gpuprof::set_default_stream(None::<StreamRef<'_>>);
    gpuprof::with_stream(model, || model.forward(1))
}

/// A span that is carried to another thread.
#[must_use]
pub fn carried(model: &Model) -> u32 {
    let span: CurrentSpan = gpuprof::current();
    let carried = span.clone();
    std::thread::scope(|scope| {
        let there = scope.spawn(move || carried.run(|| 1));
        span.run(|| model.forward(1)) + there.join().unwrap_or(0)
    })
}

/// A raw handle.
///
/// # Safety
/// As for [`StreamRef::from_raw`].
#[must_use]
pub unsafe fn raw<'a>(stream: *mut std::ffi::c_void) -> StreamRef<'a> {
    // SAFETY: guaranteed by the caller.
    unsafe { StreamRef::from_raw(stream, std::ptr::null_mut()) }
}

/// All information about the program.
#[must_use]
pub fn everything() -> [Profile; 2] {
    gpuprof::reset();
    let functions: Vec<profile::Function> = gpuprof::snapshot().functions;
    assert!(functions.is_empty());
    [gpuprof::snapshot(), gpuprof::collect()]
}

/// A callback for a log, which is never called.
#[must_use]
pub fn logged(callback: fn(&Diagnostic, Severity)) -> bool {
    gpuprof::on_diagnostic(move |line| callback(line, line.severity))
}

/// A session with every setting.
///
/// # Errors
/// As with the feature `enable`.
pub fn session(work: impl FnOnce()) -> Result<[Profile; 2], SessionError> {
    let builder: SessionBuilder = Session::builder()
        .mode(Mode::On)
        .filter("^model")
        .sampling(Sampling::AUTO)
        .memory(true)
        .stacks(true)
        .exit_wait(Duration::from_secs(1))
        .outputs([
            Output::Table,
            Output::FullTable,
            Output::Json("{pid}.json".into()),
        ]);
    let session: Session = builder.start()?;
    work();
    Ok([session.snapshot(), session.finish()])
}

/// A generic function of a library, which takes streams of any kind in both builds.
pub fn generic<'a>(stream: impl Into<StreamRef<'a>>) -> u32 {
    let stream: StreamRef<'a> = stream.into();
    gpuprof::with_stream(&stream, || 1)
}
