//! Enums of a profile that are written as words. A word from a newer version reads as `Unknown`.

/// An enum whose variants are written as fixed words; any other word reads as `Unknown`.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum $name {
            $(
                $(#[$variant_doc])*
                #[cfg_attr(feature = "serde", serde(rename = $word))]
                $variant,
            )*
            /// None of the others: unknown to CUPTI, or to this version of gpuprof.
            #[default]
            #[cfg_attr(feature = "serde", serde(other, rename = "unknown"))]
            Unknown,
        }

        impl $name {
            /// All variants, `Unknown` last.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)* Self::Unknown];

            /// The word that stands for this variant in JSON and in tables.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Unknown => "unknown",
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                let mut all = Self::ALL.iter();
                all.find(|kind| kind.as_str() == word).copied().unwrap_or_default()
            }
        }

        impl $crate::json_writer::JsonValue for $name {
            fn write(&self, writer: &mut $crate::json_writer::JsonWriter) {
                writer.string(self.as_str());
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// A kind of memory that a program allocates.
    MemoryKind {
        /// Device memory, arrays and static variables of modules included.
        Device = "device",
        /// Managed memory, which moves between host and device.
        Managed = "managed",
        /// Page-locked host memory.
        Pinned = "pinned",
    }
}

words! {
    /// The direction of a copy, or a memset, in CUPTI's terms: H is host memory, D device memory,
    /// A a CUDA array, P another device.
    CopyKind {
        /// Host to device.
        HtoD = "HtoD",
        /// Device to host.
        DtoH = "DtoH",
        /// Within one device.
        DtoD = "DtoD",
        /// Host to host.
        HtoH = "HtoH",
        /// Between two devices.
        PtoP = "PtoP",
        /// Host to array.
        HtoA = "HtoA",
        /// Array to host.
        AtoH = "AtoH",
        /// Array to array.
        AtoA = "AtoA",
        /// Array to device.
        AtoD = "AtoD",
        /// Device to array.
        DtoA = "DtoA",
        /// Memory set to a value.
        Memset = "memset",
    }
}

impl CopyKind {
    /// Whether the copy is between host and device.
    #[must_use]
    pub const fn is_between_host_and_device(self) -> bool {
        matches!(self, Self::HtoD | Self::DtoH | Self::HtoA | Self::AtoH)
    }

    /// The name of the copies of this direction, or of the memsets, in reports.
    pub(crate) fn row_name(self) -> String {
        match self {
            Self::Memset => "[CUDA memset]".to_owned(),
            kind => format!("[CUDA memcpy {kind}]"),
        }
    }
}

words! {
    /// What a CUDA API function does.
    ApiKind {
        /// Launches a kernel.
        Launch = "launch",
        /// Launches a graph.
        Graph = "graph",
        /// Copies memory.
        Copy = "copy",
        /// Sets memory.
        Memset = "memset",
        /// Waits for the GPU.
        Sync = "sync",
        /// Allocates memory.
        Alloc = "alloc",
        /// Frees memory.
        Free = "free",
        /// Loads or unloads code, or looks up a kernel, which loads it under lazy loading.
        Module = "module",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// Why a device ran below its maximum clock, in NVML's terms.
    ThrottleReason {
        /// Hardware slowdown: temperature, power brake or power draw.
        HardwareSlowdown = "hardware slowdown",
        /// Hardware slowdown because of temperature.
        HardwareThermalSlowdown = "hardware thermal slowdown",
        /// Hardware slowdown because of the external power brake.
        PowerBrake = "power brake",
        /// Software slowdown because of temperature.
        ThermalSlowdown = "thermal slowdown",
        /// The power limit was reached.
        PowerCap = "power cap",
        /// Clocks are held at those of the slowest GPU of a sync boost group.
        SyncBoost = "sync boost",
    }
}

words! {
    /// The unit that floating-point operations are for: a precision, by itself or in tensor cores.
    Precision {
        /// Double precision.
        F64 = "f64",
        /// Single precision.
        F32 = "f32",
        /// Half precision, two values an instruction (`half2`).
        F16 = "f16",
        /// Double precision in tensor cores.
        F64Tensor = "f64_tensor",
        /// TF32 in tensor cores: single precision with 10 bits of mantissa.
        Tf32Tensor = "tf32_tensor",
        /// Half precision in tensor cores.
        F16Tensor = "f16_tensor",
        /// bfloat16 in tensor cores.
        Bf16Tensor = "bf16_tensor",
        /// 8-bit floating point in tensor cores.
        F8Tensor = "f8_tensor",
        /// 8-bit integers in tensor cores.
        I8Tensor = "i8_tensor",
    }
}

words! {
    /// What a hardware counter measures.
    Metric {
        /// Bytes per second read from device memory.
        DramRead = "dram_read",
        /// Bytes per second written to device memory.
        DramWrite = "dram_write",
        /// Share of the time that a multiprocessor had a warp, 0 to 1; the mean over all of them.
        SmActive = "sm_active",
        /// Share of the time that the tensor cores of a multiprocessor worked, 0 to 1.
        TensorActive = "tensor_active",
        /// Instructions over those that the multiprocessors could have executed, 0 to 1.
        IssueRate = "issue_rate",
        /// Share of the peak rate of the double-precision units, 0 to 1.
        Fp64Active = "fp64_active",
        /// Share of the peak throughput of the L2 cache, 0 to 1.
        L2Throughput = "l2_throughput",
        /// Share of the peak rate of the data path of L1 caches and shared memory, 0 to 1.
        L1Throughput = "l1_throughput",
        /// Share of the peak rate of the units for integers, logic and comparisons, 0 to 1.
        AluActive = "alu_active",
        /// Share of the peak rate of the units for conversions and special functions, 0 to 1.
        XuActive = "xu_active",
        /// Share of the peak rate of that data path which shared memory took, 0 to 1.
        SharedThroughput = "shared_throughput",
        /// Warps over those that the multiprocessors can hold, 0 to 1: the achieved occupancy.
        WarpsActive = "warps_active",
        /// Threads that executed their instruction over those of all executed ones, 0 to 1.
        ThreadsActive = "threads_active",
        /// Share of the passes of shared memory that an access needed beyond its first, 0 to 1: for
        /// bank conflicts, and for more than 4 bytes per thread.
        SharedConflicts = "shared_conflicts",
        /// Passes of the L1 data path without those of shared memory, per load or store of any
        /// kind.
        AccessPasses = "access_passes",
        /// Share of the time that the tensor cores multiplied floating-point numbers, 0 to 1.
        TensorFloat = "tensor_float",
        /// Share of the time that the tensor cores multiplied integers, 0 to 1.
        TensorInteger = "tensor_integer",
        /// Bytes per second that the device read over PCIe.
        PcieRead = "pcie_read",
        /// Bytes per second that the device wrote over PCIe.
        PcieWrite = "pcie_write",
        /// Bytes per second received over NVLink.
        NvlinkReceived = "nvlink_received",
        /// Bytes per second sent over NVLink.
        NvlinkSent = "nvlink_sent",
    }
}

impl Metric {
    /// Whether only kernels use what it measures. The L2 cache also serves copies.
    #[must_use]
    pub const fn is_of_kernels(self) -> bool {
        !self.is_bytes_per_s() && !matches!(self, Self::L2Throughput)
    }

    /// Whether it is sampled in turn with most others, and not all the time.
    #[must_use]
    pub const fn is_in_turn(self) -> bool {
        matches!(
            self,
            Self::SharedThroughput
                | Self::WarpsActive
                | Self::ThreadsActive
                | Self::SharedConflicts
                | Self::AccessPasses
                | Self::TensorFloat
                | Self::TensorInteger
        )
    }

    /// Whether its unit is bytes per second; else it is a share from 0 to 1, and
    /// [`AccessPasses`](Self::AccessPasses) a number.
    #[must_use]
    pub const fn is_bytes_per_s(self) -> bool {
        matches!(
            self,
            Self::DramRead
                | Self::DramWrite
                | Self::PcieRead
                | Self::PcieWrite
                | Self::NvlinkReceived
                | Self::NvlinkSent
        )
    }
}

words! {
    /// What the mean of a listed metric is in.
    MetricUnit {
        /// Bytes per second.
        BytesPerS = "bytes_per_s",
        /// What the metric counts, per second.
        PerS = "per_s",
        /// A share, 1 being the whole.
        Share = "share",
        /// A ratio of two counts.
        Ratio = "ratio",
    }
}

words! {
    /// The rule that made a finding; docs/findings.md describes each.
    FindingRule {
        /// The device was idle for most of the run.
        GpuIdle = "gpu-idle",
        /// The host computes between launches for longer than the GPU works.
        HostBound = "host-bound",
        /// Kernels that are shorter than their launches.
        ShortKernels = "short-kernels",
        /// Memsets that take as long as the kernels after them.
        Memsets = "memsets",
        /// Many copies of a few bytes, each with a call of its own.
        SmallCopies = "small-copies",
        /// Memory that is allocated and freed all the time.
        AllocationChurn = "allocation-churn",
        /// Modules that are loaded again and again.
        ModuleLoads = "module-loads",
        /// Small kernels that run one after another and could run at once.
        SerialKernels = "serial-kernels",
        /// Matrix products that use no tensor cores.
        NoTensorCores = "no-tensor-cores",
        /// Kernels that compute in double precision without its being stated.
        DoublePrecision = "double-precision",
        /// Kernels that a cache or shared memory limits.
        CacheBound = "cache-bound",
        /// Kernels whose accesses to shared memory take several passes, for bank conflicts.
        BankConflicts = "bank-conflicts",
        /// Kernels whose neighbouring threads use addresses that are far apart.
        UncoalescedAccess = "uncoalesced-access",
        /// Kernels in which most threads of a warp wait for the others' branch.
        Divergence = "divergence",
        /// Kernels whose warps mostly wait for memory, with too few of them to hide it.
        MemoryLatency = "memory-latency",
        /// Kernels whose warps mostly wait for an arithmetic unit.
        MathThrottle = "math-throttle",
        /// Kernels whose warps mostly wait at barriers.
        BarrierWait = "barrier-wait",
        /// A kernel waits for room in the queue of loads and stores.
        LoadStoreQueue = "load-store-queue",
        /// A kernel waits for room in the queue of shared memory and special functions.
        SharedMemoryQueue = "shared-memory-queue",
        /// Kernels whose warps mostly wait for instructions.
        InstructionFetch = "instruction-fetch",
        /// Kernels that use local memory.
        LocalMemory = "local-memory",
        /// A last wave of blocks that leaves most of the device idle.
        TailWave = "tail-wave",
        /// Many short kernels with idle time between them.
        LaunchBound = "launch-bound",
        /// Long copies between host and device.
        HostCopies = "host-copies",
        /// Copies and kernels that could overlap are on one stream.
        OneStream = "one-stream",
        /// NCCL's collectives beside which nothing is computed.
        ExposedCollectives = "exposed-collectives",
        /// Waits for the GPU inside a function.
        Synchronization = "synchronization",
        /// Kernels that do not fill the GPU.
        UnderusedGpu = "underused-gpu",
        /// Far below the peaks of the device.
        BelowRoofline = "below-roofline",
        /// More bytes moved than stated.
        MeasuredBytes = "measured-bytes",
        /// A first call that is far slower than the others.
        FirstCall = "first-call",
        /// Durations that differ widely between calls.
        WideSpread = "wide-spread",
        /// GPU work outside any profiled function.
        Outside = "outside",
        /// A device that ran below its clocks.
        ClocksThrottled = "clocks-throttled",
        /// A rank for which the others wait in collectives.
        LateRank = "late-rank",
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKind, CopyKind, FindingRule, ThrottleReason};

    #[test]
    fn each_word_reads_as_its_variant_and_any_other_as_unknown() {
        for kind in CopyKind::ALL {
            assert_eq!(CopyKind::from(kind.as_str()), *kind);
        }
        for rule in FindingRule::ALL {
            assert_eq!(FindingRule::from(rule.as_str()), *rule);
        }
        assert_eq!(ApiKind::from("wait"), ApiKind::Unknown);
        assert_eq!(ThrottleReason::from(""), ThrottleReason::Unknown);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn json_has_the_same_words() {
        for kind in CopyKind::ALL {
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<CopyKind>(&json).unwrap(), *kind);
        }
        for reason in ThrottleReason::ALL {
            let json = serde_json::to_string(reason).unwrap();
            assert_eq!(
                serde_json::from_str::<ThrottleReason>(&json).unwrap(),
                *reason
            );
        }
        let newer = |word| serde_json::from_str::<ApiKind>(word).unwrap();
        assert_eq!(
            (newer("\"sync\""), newer("\"v2\"")),
            (ApiKind::Sync, ApiKind::Unknown)
        );
    }
}
