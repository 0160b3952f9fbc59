//! NCCL's kernels by the collective that they compute.

use std::fmt;

/// A collective of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective<'a> {
    /// `AllReduce`, `SendRecv`; `Generic` for a kernel that computes any.
    pub operation: &'a str,
    /// What else the kernel's name has: `Sum_f32_RING_LL`. NCCL builds kernels for some variants
    /// only, and lets them compute others too, so that reduction and protocol may be others.
    pub variant: &'a str,
}

impl<'a> Collective<'a> {
    /// The collective of a kernel by its symbol or its demangled name; `None` for other kernels.
    /// NCCL's are called like `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, before 2.19
    /// `ncclKernel_AllReduce_RING_LL_Sum_float`.
    #[must_use]
    pub fn of_kernel(name: &'a str) -> Option<Self> {
        let at = name.find("nccl")?;
        let (before, name) = name.split_at_checked(at)?;
        // A mangled name has its length before it.
        let is_whole = !before.ends_with(|c: char| c.is_ascii_alphabetic() && c != 'Z' || c == '_')
            || before.ends_with("_Z");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
        let (kernel, rest) = name.get(..end)?.split_once('_')?;
        if !is_whole || !kernel.ends_with("Kernel") {
            return None;
        }
        // The length of the type of the parameters in a mangled name.
        let rest = match rest
            .find("ncclDevKernelArgs")
            .or_else(|| rest.find("ncclDevComm"))
        {
            Some(at) => rest
                .get(..at)?
                .trim_end_matches(|c: char| c.is_ascii_digit()),
            None => rest,
        };
        let (operation, variant) = rest.split_once('_').unwrap_or((rest, ""));
        Some(Self { operation, variant })
    }

    /// Whether no rank can end it before the last one has begun. The root of a broadcast and the
    /// sender of a transfer wait for no other rank, nor do ranks other than the root in a
    /// reduction.
    #[must_use]
    pub fn waits_for_all(&self) -> bool {
        ["AllReduce", "AllGather", "ReduceScatter"].contains(&self.operation)
    }
}

/// `NCCL AllReduce Sum_f32_RING_LL`.
impl fmt::Display for Collective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NCCL {}", self.operation)?;
        match self.variant {
            "" => Ok(()),
            variant => write!(f, " {variant}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Collective;

    #[test]
    fn kernels_of_every_version_are_collectives() {
        let shown = |name| Collective::of_kernel(name).map(|of| of.to_string());
        for (name, expected) in [
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "NCCL AllReduce Sum_f32_RING_LL",
            ),
            (
                "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                "NCCL AllReduce Sum_f32_RING_LL",
            ),
            (
                "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                "NCCL SendRecv",
            ),
            (
                "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
                "NCCL AllReduce RING_LL_Sum_float",
            ),
            ("ncclSymkDevKernel_AllGather_LL", "NCCL AllGather LL"),
            ("ncclDevKernel_Generic", "NCCL Generic"),
        ] {
            assert_eq!(shown(name).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn other_kernels_are_none() {
        for name in [
            "saxpy",
            "",
            "nccl",
            "ncclDevKernel",
            "my_ncclDevKernel_AllReduce",
            "ncclTests_fill",
            "pack<ncclDevKernelArgs>",
        ] {
            assert_eq!(Collective::of_kernel(name), None, "{name}");
        }
    }
}
