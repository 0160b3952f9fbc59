//! Samples of program counters of several profiles.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::rows::RowsByName;
use crate::figures::Sum;
use crate::profile::{
    DoubleLine, KernelStalls, MAX_STALL_LINES, Profile, StallInstruction, StallLine,
    StallReasonSamples, Stalls, add_reasons,
};

/// Reasons of one kernel, line or instruction that are told apart: more than any chip has.
const MAX_REASONS: usize = 64;

/// Adds the samples of profiles: kernels by name, lines by file and number, instructions by offset.
///
/// Each profile lists some lines of a kernel only: a line has the samples of those profiles that
/// list it. Instructions are those of profiles of one program: code that differs under one kernel
/// name, as in two versions of a program, is not told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedStalls {
    sums: Option<Stalls>,
    kernels: RowsByName<KernelStalls>,
    /// Each with the place of its kernel.
    lines: RowsByName<(u32, StallLine)>,
    instructions: RowsByName<(u32, StallInstruction)>,
    double_lines: RowsByName<DoubleLine>,
}

impl MergedStalls {
    pub(super) fn add(&mut self, profile: &Profile) {
        for line in &profile.double_lines {
            self.add_double_line(line);
        }
        let Some(stalls) = &profile.stalls else {
            return;
        };
        self.sums.get_or_insert_default().add(stalls);
        for kernel in &stalls.kernels {
            self.add_kernel(kernel);
        }
    }

    fn add_kernel(&mut self, kernel: &KernelStalls) {
        let named = || KernelStalls {
            name: kernel.name.clone(),
            ..KernelStalls::default()
        };
        let Some(at) = self.kernels.position(&kernel.name, 0, named) else {
            return;
        };
        if let Some(sums) = self.kernels.get_mut(at) {
            sums.add(kernel);
            add_some_reasons(&mut sums.reasons, &kernel.reasons);
        }
        for line in kernel.lines.iter().take(MAX_STALL_LINES) {
            let key = format!("{at}\n{}", line.file);
            let known = || {
                let place = StallLine {
                    file: line.file.clone(),
                    line: line.line,
                    ..StallLine::default()
                };
                (at, place)
            };
            let row = self.lines.position(&key, line.line, known);
            if let Some((_, sums)) = row.and_then(|row| self.lines.get_mut(row)) {
                sums.add(line);
                add_some_reasons(&mut sums.reasons, &line.reasons);
            }
        }
        for more in kernel.instructions.iter().take(MAX_STALL_LINES) {
            let known = || {
                let instruction = StallInstruction {
                    offset: more.offset,
                    ..StallInstruction::default()
                };
                (at, instruction)
            };
            let key = more.offset.to_string();
            let row = self.instructions.position(&key, at, known);
            if let Some((_, sums)) = row.and_then(|row| self.instructions.get_mut(row)) {
                sums.add(more);
                add_some_reasons(&mut sums.reasons, &more.reasons);
            }
        }
    }

    /// The ranks of a job run the same code: counts are of the one with the most instructions.
    fn add_double_line(&mut self, line: &DoubleLine) {
        let key = format!("{}\n{}", line.kernel, line.file);
        let row = self.double_lines.position(&key, line.line, || line.clone());
        let Some(known) = row.and_then(|row| self.double_lines.get_mut(row)) else {
            return;
        };
        if line.instructions > known.instructions {
            known.clone_from(line);
        }
    }

    /// Rows for which there was no room.
    pub(super) fn dropped(&self) -> u64 {
        let lines = [self.lines.dropped, self.instructions.dropped];
        let kernels = [self.kernels.dropped, self.double_lines.dropped];
        lines
            .into_iter()
            .chain(kernels)
            .fold(0, u64::saturating_add)
    }

    /// The sums, and the lines that use double precision.
    pub(super) fn finish(self) -> (Option<Stalls>, Vec<DoubleLine>) {
        let mut lines: HashMap<u32, Vec<StallLine>> = HashMap::new();
        let (rows, _) = self
            .lines
            .sorted_by_key(|(_, line)| (Reverse(line.samples), line.file.clone(), line.line));
        for (kernel, line) in rows {
            push_some(lines.entry(kernel).or_default(), line);
        }
        let mut instructions: HashMap<u32, Vec<StallInstruction>> = HashMap::new();
        let order = |(_, of): &(u32, StallInstruction)| (Reverse(of.samples), of.offset);
        let (rows, _) = self.instructions.sorted_by_key(order);
        for (kernel, instruction) in rows {
            push_some(instructions.entry(kernel).or_default(), instruction);
        }
        let mut kernels: Vec<KernelStalls> = (0..)
            .zip(self.kernels.iter())
            .map(|(at, kernel)| KernelStalls {
                lines: lines.remove(&at).unwrap_or_default(),
                instructions: instructions.remove(&at).unwrap_or_default(),
                ..kernel.clone()
            })
            .collect();
        kernels.sort_by(|a, b| {
            let order = Reverse(a.samples).cmp(&Reverse(b.samples));
            order.then_with(|| a.name.cmp(&b.name))
        });
        let stalls = self.sums.map(|sums| Stalls { kernels, ..sums });
        let (double_lines, _) = self
            .double_lines
            .sorted_by_key(|line| (line.kernel.clone(), line.file.clone(), line.line));
        (stalls, double_lines)
    }
}

/// Adds reasons as long as there are few: a document may name any number of them.
fn add_some_reasons(sum: &mut Vec<StallReasonSamples>, more: &[StallReasonSamples]) {
    add_reasons(sum, more.get(..MAX_REASONS).unwrap_or(more));
    sum.truncate(MAX_REASONS);
}

fn push_some<T>(listed: &mut Vec<T>, row: T) {
    if listed.len() < MAX_STALL_LINES {
        listed.push(row);
    }
}
