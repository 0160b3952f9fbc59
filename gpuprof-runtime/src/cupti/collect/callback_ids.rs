//! Which CUDA calls are recorded, and the purpose of each, by CUPTI's callback ids.
//!
//! The ids are those of `cupti_driver_cbid.h` and `cupti_runtime_cbid.h` of CUDA 12.0 to 13.5; an
//! id never changes once it is assigned. All other calls are not recorded, above all gpuprof's own
//! event calls. A callback makes a call 0.2 µs longer (on an H200's machine), so calls that can be
//! as frequent as launches and are only needed for the table of API calls are optional.

use super::bindings::{DOMAIN_DRIVER, DOMAIN_RUNTIME};
use super::record::ApiFunction;
use gpuprof_report::profile::ApiKind;

/// Above every known id, with room for new ones.
const MAX_IDS: usize = 1024;
/// `cuLaunchKernel`, known to every libcupti.
pub(crate) const DRIVER_LAUNCH: u32 = 307;
/// `cudaLaunchKernel_v7000`.
pub(crate) const RUNTIME_LAUNCH: u32 = 211;

/// The purpose of a CUDA call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallPurpose {
    Launch,
    Graph,
    Copy,
    Memset,
    Sync,
    Alloc,
    Free,
    /// Loads or unloads code.
    Module,
    /// Looks up a kernel, which loads it under lazy loading. Some frameworks do so for each launch.
    Lookup,
    /// Work launched until the end is captured, and does not run.
    BeginCapture,
    EndCapture,
}

/// Calls that are recorded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallGroup {
    /// In every process that runs CUPTI.
    Always,
    /// Allocations and frees, on request.
    Memory,
    /// Look-ups of kernels, on request.
    Lookups,
}

impl CallPurpose {
    pub(super) fn group(self) -> CallGroup {
        match self {
            Self::Alloc | Self::Free => CallGroup::Memory,
            Self::Lookup => CallGroup::Lookups,
            _ => CallGroup::Always,
        }
    }

    /// Its kind in the profile.
    pub(crate) fn kind(self) -> ApiKind {
        match self {
            Self::Launch => ApiKind::Launch,
            Self::Graph => ApiKind::Graph,
            Self::Copy => ApiKind::Copy,
            Self::Memset => ApiKind::Memset,
            Self::Sync => ApiKind::Sync,
            Self::Alloc => ApiKind::Alloc,
            Self::Free => ApiKind::Free,
            Self::Module | Self::Lookup => ApiKind::Module,
            Self::BeginCapture | Self::EndCapture => ApiKind::Other,
        }
    }
}

/// A call that bounds the part of the program that is measured; it is no row of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfilerCall {
    Start,
    Stop,
}

/// By domain and id: `cuProfilerStart`, `cuProfilerStop`, `cudaProfilerStart_v4000`,
/// `cudaProfilerStop_v4000`.
pub(crate) const PROFILER_CALLS: [(u32, u32, ProfilerCall); 4] = [
    (DOMAIN_DRIVER, 308, ProfilerCall::Start),
    (DOMAIN_DRIVER, 309, ProfilerCall::Stop),
    (DOMAIN_RUNTIME, 171, ProfilerCall::Start),
    (DOMAIN_RUNTIME, 172, ProfilerCall::Stop),
];

/// `None` of all other calls.
#[inline]
pub(crate) fn profiler_call(domain: u32, cbid: u32) -> Option<ProfilerCall> {
    let is_it = |known: &&(u32, u32, _)| (known.0, known.1) == (domain, cbid);
    PROFILER_CALLS.iter().find(is_it).map(|known| known.2)
}

/// Ids by purpose, including the variants for the per-thread default stream.
type IdsByPurpose = &'static [(CallPurpose, &'static [usize])];

const DRIVER: IdsByPurpose = &[
    // cuLaunchKernel, cuLaunchKernelEx, cooperative launches, and the old cuLaunch, cuLaunchGrid.
    (
        CallPurpose::Launch,
        &[115, 116, 117, 307, 442, 477, 478, 480, 652, 653],
    ),
    (CallPurpose::Graph, &[514, 515]),
    // All names that begin with cuMemcpy.
    (
        CallPurpose::Copy,
        &[
            43, 45, 47, 49, 51, 53, 54, 55, 56, 57, 58, 60, 62, 64, 66, 67, 68, 69, 248, 276, 277,
            278, 279, 280, 281, 282, 283, 284, 285, 286, 287, 288, 289, 290, 291, 292, 293, 305,
            306, 318, 319, 320, 321, 397, 398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408,
            409, 410, 418, 419, 420, 421, 422, 423, 424, 425, 426, 427, 776, 777, 778, 779, 796,
            797, 798, 799, 837, 838, 839, 840,
        ],
    ),
    // All names that begin with cuMemset.
    (
        CallPurpose::Memset,
        &[
            71, 73, 75, 77, 79, 81, 216, 218, 220, 222, 224, 226, 249, 250, 251, 252, 253, 254,
            411, 412, 413, 414, 415, 416, 428, 429, 430, 431, 432, 433,
        ],
    ),
    // cuCtxSynchronize, cuEventSynchronize, cuStreamSynchronize.
    (CallPurpose::Sync, &[17, 121, 126, 440, 800]),
    // Device, host, managed and pooled memory, registered host memory, physical memory, arrays.
    (
        CallPurpose::Alloc,
        &[
            29, 31, 37, 39, 87, 90, 243, 244, 271, 272, 274, 294, 301, 347, 371, 379, 549, 598,
            599, 611, 612,
        ],
    ),
    (
        CallPurpose::Free,
        &[33, 38, 89, 245, 302, 349, 550, 600, 601],
    ),
    // cuModuleLoad*, cuModuleUnload, cuLibraryLoad*, cuLibraryUnload, cuLinkAdd*, cuLinkComplete.
    (
        CallPurpose::Module,
        &[18, 19, 20, 21, 22, 363, 364, 365, 382, 383, 678, 679, 680],
    ),
    // cuModuleGetFunction, cuLibraryGetModule.
    (CallPurpose::Lookup, &[23, 682]),
    // cuStreamBeginCapture, cuStreamBeginCaptureToGraph, cuStreamEndCapture.
    (CallPurpose::BeginCapture, &[495, 496, 539, 540, 720, 721]),
    (CallPurpose::EndCapture, &[497, 498]),
];

const RUNTIME: IdsByPurpose = &[
    // The same of the CUDA runtime; 505 and 506 are __cudaLaunchKernel, which nvcc's `<<<>>>` calls
    // since CUDA 13.
    (
        CallPurpose::Launch,
        &[13, 211, 213, 214, 269, 270, 272, 430, 431, 505, 506],
    ),
    (CallPurpose::Graph, &[311, 312]),
    (
        CallPurpose::Copy,
        &[
            31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 144, 145, 160,
            161, 162, 163, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228,
            229, 230, 231, 232, 245, 246, 249, 250, 482, 483, 484, 485, 509, 510, 511, 512, 554,
            555, 556, 557,
        ],
    ),
    (
        CallPurpose::Memset,
        &[49, 50, 51, 52, 142, 143, 233, 234, 235, 236, 243, 244],
    ),
    (CallPurpose::Sync, &[126, 131, 137, 165, 239, 534]),
    (
        CallPurpose::Alloc,
        &[
            20, 21, 23, 25, 27, 140, 141, 152, 192, 206, 373, 374, 391, 392,
        ],
    ),
    (CallPurpose::Free, &[22, 24, 26, 153, 194, 375, 376]),
    (CallPurpose::Module, &[470, 471, 472, 501]),
    (CallPurpose::BeginCapture, &[315, 316, 452, 453]),
    (CallPurpose::EndCapture, &[319, 320]),
];

/// The one-dimensional copies and memsets whose arguments begin with [`LinearParameters`], by
/// `generated_cuda_meta.h` of CUDA 12.0, 13.0 and 13.3. The old functions of 32-bit sizes do not.
///
/// [`LinearParameters`]: super::bindings::LinearParameters
const LINEAR_DRIVER: &[u32] = &[
    // cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, the same of DtoH and DtoD, cuMemcpy, cuMemcpyAsync.
    276, 277, 278, 279, 280, 281, 305, 306,
    // cuMemcpy{HtoD,DtoH,DtoD}_v2_ptds, cuMemcpy_ptds, cuMemcpyAsync_ptsz,
    // cuMemcpy{HtoD,DtoH,DtoD}Async_v2_ptsz.
    397, 398, 399, 408, 418, 421, 422, 423,
    // cuMemsetD{8,16,32}Async, cuMemsetD{8,16,32}_v2, cuMemsetD{8,16,32}_v2_ptds,
    // cuMemsetD{8,16,32}Async_ptsz.
    216, 218, 220, 249, 250, 251, 411, 412, 413, 428, 429, 430,
];

/// The same by `generated_cuda_runtime_api_meta.h`.
const LINEAR_RUNTIME: &[u32] = &[
    // cudaMemcpy, cudaMemcpyAsync, cudaMemcpy_ptds, cudaMemcpyAsync_ptsz, the same of cudaMemset.
    31, 41, 215, 225, 49, 51, 233, 235,
];

static DRIVER_PURPOSES: [Option<CallPurpose>; MAX_IDS] = purpose_by_id(DRIVER);
static RUNTIME_PURPOSES: [Option<CallPurpose>; MAX_IDS] = purpose_by_id(RUNTIME);

// An id beyond the table, or listed twice, does not compile.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler alone")]
const fn purpose_by_id(ids: IdsByPurpose) -> [Option<CallPurpose>; MAX_IDS] {
    let mut purposes = [None; MAX_IDS];
    let mut row = 0;
    while row < ids.len() {
        let (purpose, listed) = ids[row];
        let mut index = 0;
        while index < listed.len() {
            assert!(purposes[listed[index]].is_none());
            purposes[listed[index]] = Some(purpose);
            index += 1;
        }
        row += 1;
    }
    purposes
}

impl ApiFunction {
    /// `None` if the function is not recorded.
    pub(crate) fn purpose(self) -> Option<CallPurpose> {
        let purposes = if self.is_runtime {
            &RUNTIME_PURPOSES
        } else {
            &DRIVER_PURPOSES
        };
        *purposes.get(self.cbid as usize)?
    }

    /// Whether its arguments begin with [`LinearParameters`](super::bindings::LinearParameters).
    pub(crate) fn is_linear(self) -> bool {
        let ids = if self.is_runtime {
            LINEAR_RUNTIME
        } else {
            LINEAR_DRIVER
        };
        let purpose = self.purpose();
        matches!(purpose, Some(CallPurpose::Copy | CallPurpose::Memset)) && ids.contains(&self.cbid)
    }
}

/// The ids of the driver or runtime functions of a group.
pub(crate) fn ids_of_group(is_runtime: bool, group: CallGroup) -> impl Iterator<Item = u32> {
    let ids = if is_runtime { RUNTIME } else { DRIVER };
    let chosen = ids
        .iter()
        .filter(move |(purpose, _)| purpose.group() == group);
    let listed = chosen.flat_map(|(_, listed)| listed.iter());
    listed.filter_map(|id| u32::try_from(*id).ok())
}

/// A function's name as programs write it: without the suffixes of its variants and versions.
pub(crate) fn plain_name(name: &str) -> &str {
    let mut name = name;
    loop {
        let cut = name
            .strip_suffix("_ptsz")
            .or_else(|| name.strip_suffix("_ptds"))
            .or_else(|| without_version(name));
        match cut {
            Some(shorter) => name = shorter,
            None => return name,
        }
    }
}

fn without_version(name: &str) -> Option<&str> {
    let (before, version) = name.rsplit_once("_v")?;
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(before)
}

#[cfg(test)]
mod tests {
    use super::{
        ApiFunction, CallGroup, CallPurpose, DOMAIN_DRIVER, DOMAIN_RUNTIME, DRIVER_LAUNCH,
        PROFILER_CALLS, RUNTIME_LAUNCH, ids_of_group, plain_name, profiler_call,
    };

    const GROUPS: [CallGroup; 3] = [CallGroup::Always, CallGroup::Memory, CallGroup::Lookups];

    #[test]
    fn calls_of_gpuprof_are_not_recorded() {
        const UNKNOWN: u32 = 60_000;
        // cuCtxGetCurrent, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2, cuStreamIsCapturing,
        // cuEventCreate, cuEventRecord, cuEventRecord_ptsz, cuEventQuery, cuEventElapsedTime,
        // cuEventDestroy_v2, cuThreadExchangeStreamCaptureMode.
        for cbid in [
            304, 323, 324, 499, 118, 119, 441, 120, 123, 325, 541, UNKNOWN,
        ] {
            assert_eq!(driver(cbid).purpose(), None, "{cbid}");
            for group in GROUPS {
                assert!(ids_of_group(false, group).all(|id| id != cbid), "{cbid}");
            }
        }
    }

    #[test]
    fn driver_and_runtime_launches_are_recorded() {
        assert_eq!(driver(DRIVER_LAUNCH).purpose(), Some(CallPurpose::Launch));
        let runtime = ApiFunction {
            is_runtime: true,
            cbid: RUNTIME_LAUNCH,
        };
        assert_eq!(runtime.purpose(), Some(CallPurpose::Launch));
        // The same id is another function in each of the two.
        assert_eq!(driver(RUNTIME_LAUNCH).purpose(), None);
        for group in GROUPS {
            assert!(ids_of_group(true, group).all(|cbid| {
                let function = ApiFunction {
                    is_runtime: true,
                    cbid,
                };
                function
                    .purpose()
                    .is_some_and(|purpose| purpose.group() == group)
            }));
        }
    }

    #[test]
    fn names_are_as_programs_write_them() {
        for (name, plain) in [
            ("cuLaunchKernel_ptsz", "cuLaunchKernel"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
            ("cudaMallocFromPoolAsync_v11020", "cudaMallocFromPoolAsync"),
            ("cuGraphLaunch", "cuGraphLaunch"),
            ("cuMemcpy_view", "cuMemcpy_view"),
        ] {
            assert_eq!(plain_name(name), plain);
        }
    }

    #[test]
    fn the_calls_that_bound_a_part_of_the_program_are_not_recorded() {
        for (domain, cbid, call) in PROFILER_CALLS {
            let is_runtime = domain == DOMAIN_RUNTIME;
            assert_eq!(ApiFunction { is_runtime, cbid }.purpose(), None);
            assert_eq!(profiler_call(domain, cbid), Some(call));
        }
        // The same ids of the other domain are other functions.
        assert_eq!(profiler_call(DOMAIN_DRIVER, 171), None);
        assert_eq!(profiler_call(DOMAIN_RUNTIME, 308), None);
    }

    fn driver(cbid: u32) -> ApiFunction {
        ApiFunction {
            is_runtime: false,
            cbid,
        }
    }
}
