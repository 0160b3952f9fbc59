//! In words: for what the warps of a kernel waited, and what helps.
//!
//! Sources: the warp stall reasons of Nsight Compute (Kernel Profiling Guide, "Metrics Reference",
//! Warp Stall Reasons), and the counters of NVIDIA's `libnvperf_host.so` (CUDA 13.0) with their
//! descriptions.

use std::borrow::Cow;

use crate::profile::StallReasonSamples;
use crate::sanitize;

/// Characters of a reason without words.
const MAX_NAME_CHARS: usize = 40;

/// Global and local memory and textures, through the L1 cache.
pub(crate) const LONG_SCOREBOARD: &str = "long_scoreboard";
/// An arithmetic unit that is busy.
pub(crate) const MATH_PIPE_THROTTLE: &str = "math_pipe_throttle";
/// The queue of loads and stores of global and local memory.
pub(crate) const LG_THROTTLE: &str = "lg_throttle";
/// The queue of shared memory, special functions and conversions.
pub(crate) const MIO_THROTTLE: &str = "mio_throttle";
/// A barrier of the block.
pub(crate) const BARRIER: &str = "barrier";
/// Instructions that are not in the instruction cache.
pub(crate) const NO_INSTRUCTIONS: &str = "no_instructions";
/// The warp issued an instruction.
const SELECTED: &str = "selected";
/// It could have, and another one did.
const NOT_SELECTED: &str = "not_selected";

/// A reason for a warp not to issue an instruction.
struct StallReason {
    /// CUPTI's name without `smsp__pcsamp_warps_issue_stalled_`.
    name: &'static str,
    /// What stands behind "the kernel waits".
    words: &'static str,
    /// What makes the wait shorter, in at most 90 characters; nothing for what is no wait, or a
    /// mixture.
    helps: &'static str,
}

const REASONS: [StallReason; 20] = [
    StallReason {
        name: LONG_SCOREBOARD,
        words: "for global or local memory",
        helps: "keep more loads in flight: more warps, several loads per thread before their use",
    },
    StallReason {
        name: "short_scoreboard",
        words: "for shared memory or special functions",
        helps: "avoid bank conflicts, keep values in registers, call fewer sin, exp and sqrt",
    },
    StallReason {
        name: MATH_PIPE_THROTTLE,
        words: "for a busy arithmetic unit",
        helps: "use other units too: fewer conversions and divisions, f32 or f16, tensor cores",
    },
    StallReason {
        name: LG_THROTTLE,
        words: "for room in the queue of loads and stores",
        helps: "load and store more bytes at once (float4), avoid repeated accesses and spills",
    },
    StallReason {
        name: MIO_THROTTLE,
        words: "for room in the queue of shared memory and conversions",
        helps: "use fewer, wider accesses to shared memory, fewer conversions, exp and sqrt",
    },
    StallReason {
        name: "tex_throttle",
        words: "for room in the queue of textures",
        helps: "fetch less by textures and surfaces, load from global memory instead",
    },
    StallReason {
        name: BARRIER,
        words: "at a barrier of the block",
        helps: "use fewer barriers, smaller blocks, equal work for all warps, __syncwarp in a warp",
    },
    StallReason {
        name: "membar",
        words: "at a memory fence",
        helps: "use fewer fences, and of the narrowest scope: __threadfence_block",
    },
    StallReason {
        name: "wait",
        words: "for the instruction before",
        helps: "have more independent instructions: unrolled loops, several results per thread",
    },
    StallReason {
        name: "dispatch_stall",
        words: "for the dispatcher",
        helps: "",
    },
    StallReason {
        name: "drain",
        words: "for its last stores",
        helps: "have neighbouring threads store to neighbouring addresses, reduce before storing",
    },
    StallReason {
        name: "imc_miss",
        words: "for constant memory",
        helps: "read constants at one address per warp, or from global memory",
    },
    StallReason {
        name: NO_INSTRUCTIONS,
        words: "for instructions",
        helps: "make the code smaller: unroll less, inline less, split the kernel, branch less far",
    },
    StallReason {
        name: "sleeping",
        words: "asleep or blocked",
        helps: "sleep for a shorter time, or wait for other blocks in another way",
    },
    StallReason {
        name: "branch_resolving",
        words: "for the target of a branch",
        helps: "branch less: merge conditions, use selects, unroll short loops",
    },
    StallReason {
        name: "warpgroup_arrive",
        words: "for the other warps of its warp group",
        helps: "give all warps of a group equal work before wgmma",
    },
    StallReason {
        name: "gmma",
        words: "for a product of its warp group",
        helps: "start several wgmma before waiting for one",
    },
    StallReason {
        name: "misc",
        words: "for something else",
        helps: "",
    },
    StallReason {
        name: SELECTED,
        words: "issues",
        helps: "",
    },
    StallReason {
        name: NOT_SELECTED,
        words: "is ready, but another warp issues",
        helps: "",
    },
];

/// The reason in words, or its name if it has none: safe to show.
#[must_use]
pub fn words(reason: &str) -> Cow<'_, str> {
    match find(reason) {
        Some(known) => Cow::Borrowed(known.words),
        None => sanitize::short(reason, MAX_NAME_CHARS),
    }
}

/// What makes the wait shorter; nothing for a reason that is not known.
#[must_use]
pub fn helps(reason: &str) -> &'static str {
    find(reason).map_or("", |known| known.helps)
}

fn find(reason: &str) -> Option<&'static StallReason> {
    REASONS.iter().find(|known| known.name == reason)
}

/// Whether the warp waits: neither does it issue, nor could it.
pub(crate) fn is_wait(reason: &str) -> bool {
    ![SELECTED, NOT_SELECTED].contains(&reason)
}

/// The waits among the reasons, in their order: the most frequent one first.
pub fn waits(reasons: &[StallReasonSamples]) -> impl Iterator<Item = &StallReasonSamples> + Clone {
    reasons.iter().filter(|of| is_wait(&of.reason))
}

/// Samples in which the warp issued or could have issued.
#[must_use]
pub fn ready_samples(reasons: &[StallReasonSamples]) -> u64 {
    let ready = reasons.iter().filter(|of| !is_wait(&of.reason));
    ready.fold(0, |sum, of| sum.saturating_add(of.samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words_of_its_own_and_short_advice() {
        for (at, reason) in REASONS.iter().enumerate() {
            assert_eq!(words(reason.name), reason.words);
            let others = REASONS.iter().skip(at + 1);
            for other in others {
                assert_ne!(reason.name, other.name);
                assert_ne!(reason.words, other.words);
            }
            assert!(reason.helps.chars().count() <= 90, "{}", reason.helps);
            assert!(is_wait(reason.name) || reason.helps.is_empty());
        }
    }

    #[test]
    fn a_reason_without_words_is_shown_by_its_name() {
        assert_eq!(words("of_a_newer_chip"), "of_a_newer_chip");
        assert_eq!(words("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(helps("of_a_newer_chip"), "");
        assert!(is_wait("of_a_newer_chip"));
    }

    #[test]
    fn what_issues_or_could_issue_is_no_wait() {
        let of = |reason: &str, samples| StallReasonSamples {
            reason: reason.into(),
            samples,
        };
        let reasons = [of(SELECTED, 5), of("wait", 4), of(NOT_SELECTED, u64::MAX)];
        let found: Vec<_> = waits(&reasons).map(|of| of.samples).collect();
        assert_eq!(found, [4]);
        assert_eq!(ready_samples(&reasons), u64::MAX);
    }

    #[test]
    fn the_documentation_has_every_reason() {
        let page = include_str!("../../docs/stalls.md");
        let section = page
            .split("\n## ")
            .find(|part| part.starts_with("The reasons"));
        let section = section.expect("a section");
        for reason in &REASONS {
            let row = format!(
                "| `{}` | {} | {} |",
                reason.name, reason.words, reason.helps
            );
            assert!(section.contains(&row.replace("|  |", "| |")), "{row}");
        }
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.count(), REASONS.len());
    }
}
