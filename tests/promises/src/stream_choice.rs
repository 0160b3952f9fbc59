//! Promise: a parameter that is a stream is timed before one that carries a stream, and carriers
//! that disagree are named.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use cudarc::driver::{CudaSlice, CudaStream};
use gpuprof::{HasStream, Profile, StreamRef, gpu_profile};

use crate::blocked_streams::measured;
use crate::known_spans::{KnownSpans, observe};
use crate::observation::{Observation, Observed};
use crate::tolerance::Tolerance;
use crate::world::{Done, World, failed_in};

const MS: u64 = 1_000_000;

/// A type of the user's that carries a stream.
struct Carrier(Arc<CudaStream>);

impl HasStream for Carrier {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&self.0))
    }
}

impl Carrier {
    #[gpu_profile(name = "Carrier::method")]
    fn method(&self, world: &dyn World, other: &CudaSlice<f32>, stream: &Arc<CudaStream>) -> Done {
        let _ = other;
        world.spin(stream, 2 * MS)
    }
}

#[gpu_profile(name = "slice and stream")]
fn slice_and_stream(world: &dyn World, x: &CudaSlice<f32>, stream: &Arc<CudaStream>) -> Done {
    let _ = x;
    world.spin(stream, 2 * MS)
}

#[gpu_profile(name = "bare last")]
fn bare_last(
    x: Option<&mut CudaSlice<f32>>,
    _own: &Carrier,
    stream: &CudaStream,
    launch: impl FnOnce() -> Done,
) -> Done {
    let _ = (x, stream);
    launch()
}

#[gpu_profile(name = "wrapped")]
#[allow(clippy::redundant_allocation)]
fn wrapped(world: &dyn World, x: &CudaSlice<f32>, stream: Option<Box<Arc<CudaStream>>>) -> Done {
    let _ = x;
    stream.map_or(Ok(()), |stream| world.spin(&stream, 2 * MS))
}

#[gpu_profile(name = "absent")]
fn absent(world: &dyn World, stream: Option<&Arc<CudaStream>>, x: &CudaSlice<f32>) -> Done {
    assert!(stream.is_none());
    world.spin(x.stream(), 2 * MS)
}

#[gpu_profile(name = "in a future")]
async fn in_a_future(world: &dyn World, x: &CudaSlice<f32>, stream: Arc<CudaStream>) -> Done {
    let _ = x;
    world.spin(&stream, 2 * MS)
}

#[gpu_profile(name = "slices that agree")]
fn agree(world: &dyn World, x: &CudaSlice<f32>, y: &CudaSlice<f32>) -> Done {
    let _ = y;
    world.spin(x.stream(), MS)
}

#[gpu_profile(name = "slices that disagree")]
fn disagree(world: &dyn World, x: &CudaSlice<f32>, y: &CudaSlice<f32>) -> Done {
    let _ = y;
    world.spin(x.stream(), MS)
}

fn zeros(stream: &Arc<CudaStream>) -> Result<CudaSlice<f32>, String> {
    stream.alloc_zeros(1).map_err(failed_in("memory"))
}

/// A slice of one stream before another stream, and other carriers.
///
/// # Errors
/// A driver error as text.
pub fn streams_before_carriers(world: &dyn World, within: Tolerance) -> Observed {
    let (a, b) = (&world.stream()?, &world.stream()?);
    let (mut on_a, carrier) = (zeros(a)?, Carrier(Arc::clone(a)));
    let profile = measured(&[(world, a), (world, b)], |_| {
        slice_and_stream(world, &on_a, b)?;
        bare_last(Some(&mut on_a), &carrier, b, || world.spin(b, 2 * MS))?;
        wrapped(world, &on_a, Some(Box::new(Arc::clone(b))))?;
        carrier.method(world, &on_a, b)?;
        absent(world, None, &on_a)?;
        let future = pin!(in_a_future(world, &on_a, Arc::clone(b)));
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(launched) => launched,
            Poll::Pending => unreachable!("it awaits nothing"),
        }
    })?;
    let names = [
        "slice and stream",
        "bare last",
        "wrapped",
        "Carrier::method",
        "absent",
        "in a future",
    ];
    let expected = names.map(|name| KnownSpans::new(name, [2 * MS]));
    let what = "a slice of one stream before another stream, which is used";
    Ok(vec![
        observe(what, &profile, &expected, within),
        notes_of(&profile, "notes on them", "none", |notes| notes.is_empty()),
    ])
}

/// Two slices of one stream, and two of different streams.
///
/// # Errors
/// A driver error as text.
pub fn carriers_that_disagree(world: &dyn World, within: Tolerance) -> Observed {
    let (a, b) = (&world.stream()?, &world.stream()?);
    let (on_a, also_on_a, on_b) = (zeros(a)?, zeros(a)?, zeros(b)?);
    let profile = measured(&[(world, a), (world, b)], |_| {
        agree(world, &on_a, &also_on_a)?;
        disagree(world, &on_a, &on_b)
    })?;
    let names = ["slices that agree", "slices that disagree"];
    let expected = names.map(|name| KnownSpans::new(name, [MS]));
    let is_named = |notes: &[String]| match notes {
        [note] => {
            note.starts_with("parameters carry different streams in ")
                && note.contains("slices that disagree: the first")
                && !note.contains("slices that agree")
        }
        _ => false,
    };
    Ok(vec![
        observe(
            "two slices, whose first one's stream is used",
            &profile,
            &expected,
            within,
        ),
        notes_of(
            &profile,
            "the note on carriers that disagree",
            "names `slices that disagree` and no other function",
            is_named,
        ),
    ])
}

fn notes_of(
    profile: &Profile,
    what: &str,
    wanted: &str,
    is_kept: impl FnOnce(&[String]) -> bool,
) -> Observation {
    let notes = &profile.diagnostics.notes;
    let shown = if notes.is_empty() {
        "none".into()
    } else {
        notes.join("; ")
    };
    Observation::new(what, shown, wanted, is_kept(notes))
}
