//! A file as parts that follow one another: samples as they come, and at the end what they refer
//! to.

use std::io::{self, Write};

use prost::Message;

use super::messages::{Function, Label, Line, Location, Mapping, Profile as Part, Sample};
use super::tables::{Frame, Tables};
use crate::call_paths::{Leaf, SIMULATED};
use crate::profile::{Profile, TreeNode};
use crate::sanitize;

/// Samples of a part.
const MAX_SAMPLES: usize = 1_000;

/// Id of the one program of a file.
const PROGRAM: u64 = 1;

/// Which of the two values of a sample is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeOf {
    Gpu,
    Cpu,
}

/// Writes parts.
pub(super) struct Parts<'a, 'o> {
    profile: &'a Profile,
    pub(super) tables: Tables<'a>,
    is_simulated: bool,
    samples: Vec<Sample>,
    bytes: Vec<u8>,
    out: &'o mut dyn Write,
}

impl<'a, 'o> Parts<'a, 'o> {
    pub(super) fn new(profile: &'a Profile, is_simulated: bool, out: &'o mut dyn Write) -> Self {
        Self {
            profile,
            tables: Tables::default(),
            is_simulated,
            samples: Vec::new(),
            bytes: Vec::new(),
            out,
        }
    }

    /// Adds a sample for each leaf of a path.
    pub(super) fn samples(
        &mut self,
        path: &[&'a TreeNode],
        leaves: &[(Leaf<'a>, u64)],
        time_of: TimeOf,
    ) -> io::Result<()> {
        let mut callers = Vec::with_capacity(path.len() + 1);
        for node in path.iter().rev() {
            callers.push(self.tables.location(Frame::of_node(node), self.profile));
        }
        if self.is_simulated {
            callers.push(self.tables.location(Frame::Fixed(SIMULATED), self.profile));
        }
        for (leaf, ns) in leaves {
            let frame = Frame::of_leaf(*leaf).into_iter();
            let frame = frame.map(|frame| self.tables.location(frame, self.profile));
            let location_id = frame.chain(callers.iter().copied()).collect();
            let ns = signed(*ns);
            let (value, device) = match time_of {
                TimeOf::Gpu => (vec![ns, 0], self.device(path, *leaf)),
                TimeOf::Cpu => (vec![0, ns], None),
            };
            let label = device.map(|device| Label {
                key: self.tables.text("device"),
                str: self.tables.text(&device.to_string()),
            });
            self.samples.push(Sample {
                location_id,
                value,
                label: label.into_iter().collect(),
            });
        }
        if self.samples.len() >= MAX_SAMPLES {
            self.flush_samples()?;
        }
        Ok(())
    }

    /// CUDA ordinal of the device that has the time of a leaf, if it is one.
    fn device(&self, path: &[&TreeNode], leaf: Leaf) -> Option<u32> {
        match leaf {
            Leaf::Kernel(kernel) => Some(kernel.device),
            Leaf::Copies(copies) => Some(copies.device),
            Leaf::Function => {
                let index = usize::try_from(path.last()?.function?).ok()?;
                self.profile.functions.get(index)?.gpu.as_ref()?.device
            }
            Leaf::Unknown | Leaf::Deeper | Leaf::Unattributed => None,
        }
    }

    fn flush_samples(&mut self) -> io::Result<()> {
        let sample = std::mem::take(&mut self.samples);
        self.write(&Part {
            sample,
            ..Part::default()
        })
    }

    /// Writes the rest of the samples, and what all of them refer to.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush_samples()?;
        let program = sanitize::name(&self.profile.program);
        let filename = self.tables.text(&program);
        let (function, string_table) = std::mem::take(&mut self.tables).into_parts();
        self.write(&Part {
            // What has names already needs no program file to look them up in.
            mapping: vec![Mapping {
                id: PROGRAM,
                filename,
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
            }],
            location: function.iter().map(location).collect(),
            function,
            string_table,
            ..Part::default()
        })
    }

    /// Writes a part by a buffer that is used again.
    pub(super) fn write(&mut self, part: &Part) -> io::Result<()> {
        self.bytes.clear();
        part.encode(&mut self.bytes).map_err(io::Error::other)?;
        self.out.write_all(&self.bytes)
    }
}

/// The frame of a function: there is one for each.
fn location(function: &Function) -> Location {
    Location {
        id: function.id,
        mapping_id: PROGRAM,
        line: vec![Line {
            function_id: function.id,
            line: function.start_line,
        }],
    }
}

/// pprof's numbers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
