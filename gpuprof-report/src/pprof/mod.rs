//! GPU and CPU time by call path as a `profile.proto` of [pprof](https://github.com/google/pprof),
//! compressed by gzip: for `go tool pprof` and for what collects such profiles.
//!
//! Each sample is a call path with two values in nanoseconds: `gpu`, which is shown first, and
//! `cpu`. The paths, their leaves and all sums are those of the [folded stacks](crate::folded):
//! with CUPTI's records the leaves of GPU time are kernels, copies and memsets; without them it is
//! the self time of GPU spans, and a comment in the file says so.
//!
//! - A function has its file and line; a kernel its full name and, as the system name, its symbol.
//! - The label `device` of a sample is the CUDA ordinal; omitted if the function has GPU time on
//!   several devices, or of work outside of any function. Streams have no label, because a profile
//!   has only their numbers.
//! - Names are escaped as in every output, and whole.

// Generated from profile.proto.
#[allow(missing_docs, clippy::all, unreachable_pub)]
#[rustfmt::skip]
mod messages;
mod parts;
mod tables;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use self::messages::{Profile as Part, ValueType};
use self::parts::{Parts, TimeOf, signed};
use crate::call_paths::CallPaths;
use crate::profile::Profile;
use crate::wall_clock;

/// Where GPU times are from, as a comment of the file.
const OF_RECORDS: &str = "gpu: time of kernels, copies and memsets by CUPTI's records";
const OF_SPANS: &str = "gpu: self time of GPU spans, which includes idle time, and is an estimate \
                        under sampling";

/// Writes the profile of a run, which began when measuring began and lasted as long.
///
/// Memory beside the profile: the names of functions and kernels.
///
/// # Errors
/// Those of `out`.
///
/// ```
/// use gpuprof_report::profile::{Profile, TreeNode};
///
/// let mut step = TreeNode::default();
/// (step.name, step.cpu_self_ns) = ("train::step".into(), 9_300);
/// let mut profile = Profile::default();
/// profile.tree = vec![step];
/// let mut file = Vec::new();
/// gpuprof_report::pprof::write(&profile, &mut file)?;
/// assert_eq!(file[..2], [0x1f, 0x8b]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let began = began_ns(profile);
    write_at(profile, began, profile.wall_ns, out)
}

/// Writes what was measured since the start, at the moment of the profile. It has no duration,
/// because later ones of the same program have these times too.
///
/// # Errors
/// Those of `out`.
pub fn write_cumulative(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let now = began_ns(profile).saturating_add(profile.wall_ns);
    write_at(profile, now, 0, out)
}

fn began_ns(profile: &Profile) -> u64 {
    wall_clock::unix_ns(&profile.started_at).unwrap_or(0)
}

fn write_at(
    profile: &Profile,
    time_ns: u64,
    duration_ns: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut zipped = GzEncoder::new(out, Compression::default());
    let paths = CallPaths::new(profile);
    let mut parts = Parts::new(profile, paths.is_simulated(), &mut zipped);
    let mut type_of = |name| ValueType {
        r#type: parts.tables.text(name),
        unit: parts.tables.text("nanoseconds"),
    };
    let (gpu, cpu) = (type_of("gpu"), type_of("cpu"));
    let comment = match profile.cupti {
        Some(_) => OF_RECORDS,
        None => OF_SPANS,
    };
    let comment = parts.tables.text(comment);
    parts.write(&Part {
        sample_type: vec![gpu, cpu],
        default_sample_type: gpu.r#type,
        // Times are sums, of which every nanosecond counts.
        period_type: Some(gpu),
        period: 1,
        time_nanos: signed(time_ns),
        duration_nanos: signed(duration_ns),
        comment: vec![comment],
        ..Part::default()
    })?;
    paths.gpu(&mut |path, leaves| parts.samples(path, leaves, TimeOf::Gpu))?;
    paths.cpu(&mut |path, leaves| parts.samples(path, leaves, TimeOf::Cpu))?;
    parts.finish()?;
    zipped.finish()?;
    Ok(())
}
