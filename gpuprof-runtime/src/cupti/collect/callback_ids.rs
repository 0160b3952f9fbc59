//! Which CUDA calls are recorded, and of what kind each is, by CUPTI's numbers for them (`cupti_driver_cbid.h` and
//! `cupti_runtime_cbid.h` of CUDA 12.0 to 13.5: a number once given is never changed).
//!
//! Everything else stays out, gpuprof's own event calls above all. Must import nothing that calls CUPTI.

use super::record::Function;

/// Above every number of a call, with room for those to come.
const NUMBERS: usize = 1024;
/// `cuLaunchKernel`, which every libcupti knows.
pub(crate) const DRIVER_LAUNCH: u32 = 307;
/// `cudaLaunchKernel_v7000`.
pub(crate) const RUNTIME_LAUNCH: u32 = 211;

/// What a CUDA call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Launch,
    Graph,
    Copy,
    Memset,
    Sync,
    Alloc,
    Free,
    /// Loads or unloads code, or looks a kernel up, which loads it where loading is lazy.
    Module,
    /// What is launched until the end runs in no way yet.
    BeginCapture,
    EndCapture,
}

impl Purpose {
    /// As the profile has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Graph => "graph",
            Self::Copy => "copy",
            Self::Memset => "memset",
            Self::Sync => "sync",
            Self::Alloc => "alloc",
            Self::Free => "free",
            Self::Module => "module",
            Self::BeginCapture | Self::EndCapture => "other",
        }
    }
}

/// Each with its variants for the per-thread default stream.
type Numbers = &'static [(Purpose, &'static [usize])];

const DRIVER: Numbers = &[
    // cuLaunchKernel, cuLaunchKernelEx, the cooperative ones, and cuLaunch, cuLaunchGrid of old.
    (
        Purpose::Launch,
        &[115, 116, 117, 307, 442, 477, 478, 480, 652, 653],
    ),
    (Purpose::Graph, &[514, 515]),
    // All whose name begins with cuMemcpy.
    (
        Purpose::Copy,
        &[
            43, 45, 47, 49, 51, 53, 54, 55, 56, 57, 58, 60, 62, 64, 66, 67, 68, 69, 248, 276, 277,
            278, 279, 280, 281, 282, 283, 284, 285, 286, 287, 288, 289, 290, 291, 292, 293, 305,
            306, 318, 319, 320, 321, 397, 398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408,
            409, 410, 418, 419, 420, 421, 422, 423, 424, 425, 426, 427, 776, 777, 778, 779, 796,
            797, 798, 799, 837, 838, 839, 840,
        ],
    ),
    // All whose name begins with cuMemset.
    (
        Purpose::Memset,
        &[
            71, 73, 75, 77, 79, 81, 216, 218, 220, 222, 224, 226, 249, 250, 251, 252, 253, 254,
            411, 412, 413, 414, 415, 416, 428, 429, 430, 431, 432, 433,
        ],
    ),
    // cuCtxSynchronize, cuEventSynchronize, cuStreamSynchronize.
    (Purpose::Sync, &[17, 121, 126, 440, 800]),
    // Device, host, managed and pooled memory, registered host memory, physical memory, arrays.
    (
        Purpose::Alloc,
        &[
            29, 31, 37, 39, 87, 90, 243, 244, 271, 272, 274, 294, 301, 347, 371, 379, 549, 598,
            599, 611, 612,
        ],
    ),
    (Purpose::Free, &[33, 38, 89, 245, 302, 349, 550, 600, 601]),
    // cuModuleLoad*, cuModuleUnload, cuModuleGetFunction, cuLibraryLoad*, cuLibraryUnload, cuLibraryGetModule, cuLinkAdd*,
    // cuLinkComplete.
    (
        Purpose::Module,
        &[
            18, 19, 20, 21, 22, 23, 363, 364, 365, 382, 383, 678, 679, 680, 682,
        ],
    ),
    // cuStreamBeginCapture, cuStreamBeginCaptureToGraph, cuStreamEndCapture.
    (Purpose::BeginCapture, &[495, 496, 539, 540, 720, 721]),
    (Purpose::EndCapture, &[497, 498]),
];

const RUNTIME: Numbers = &[
    // The same in the CUDA runtime; 505 and 506 are __cudaLaunchKernel, which nvcc's `<<<>>>` calls from CUDA 13 on.
    (
        Purpose::Launch,
        &[13, 211, 213, 214, 269, 270, 272, 430, 431, 505, 506],
    ),
    (Purpose::Graph, &[311, 312]),
    (
        Purpose::Copy,
        &[
            31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 144, 145, 160,
            161, 162, 163, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228,
            229, 230, 231, 232, 245, 246, 249, 250, 482, 483, 484, 485, 509, 510, 511, 512, 554,
            555, 556, 557,
        ],
    ),
    (
        Purpose::Memset,
        &[49, 50, 51, 52, 142, 143, 233, 234, 235, 236, 243, 244],
    ),
    (Purpose::Sync, &[126, 131, 137, 165, 239, 534]),
    (
        Purpose::Alloc,
        &[
            20, 21, 23, 25, 27, 140, 141, 152, 192, 206, 373, 374, 391, 392,
        ],
    ),
    (Purpose::Free, &[22, 24, 26, 153, 194, 375, 376]),
    (Purpose::Module, &[470, 471, 472, 501]),
    (Purpose::BeginCapture, &[315, 316, 452, 453]),
    (Purpose::EndCapture, &[319, 320]),
];

static DRIVER_PURPOSES: [Option<Purpose>; NUMBERS] = by_number(DRIVER);
static RUNTIME_PURPOSES: [Option<Purpose>; NUMBERS] = by_number(RUNTIME);

// A number beyond the table, or in it twice, does not compile.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler alone")]
const fn by_number(numbers: Numbers) -> [Option<Purpose>; NUMBERS] {
    let mut purposes = [None; NUMBERS];
    let mut row = 0;
    while row < numbers.len() {
        let (purpose, of_it) = numbers[row];
        let mut at = 0;
        while at < of_it.len() {
            assert!(purposes[of_it[at]].is_none());
            purposes[of_it[at]] = Some(purpose);
            at += 1;
        }
        row += 1;
    }
    purposes
}

impl Function {
    /// What it is for; `None` for those that are not recorded.
    pub(crate) fn purpose(self) -> Option<Purpose> {
        let purposes = match self.runtime {
            true => &RUNTIME_PURPOSES,
            false => &DRIVER_PURPOSES,
        };
        *purposes.get(self.cbid as usize)?
    }
}

/// Every call of the driver, or of the runtime, that is recorded.
pub(crate) fn recorded(runtime: bool) -> impl Iterator<Item = u32> {
    let numbers = if runtime { RUNTIME } else { DRIVER };
    let all = numbers.iter().flat_map(|(_, of_it)| of_it.iter());
    all.filter_map(|number| u32::try_from(*number).ok())
}

/// A function's name as programs write it: CUPTI's without what tells its variants apart.
pub(crate) fn shown(name: &str) -> &str {
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
    use super::{DRIVER_LAUNCH, Function, Purpose, RUNTIME_LAUNCH, recorded, shown};

    #[test]
    fn calls_of_gpuprof_itself_are_not_recorded() {
        const UNKNOWN: u32 = 60_000;
        // cuCtxGetCurrent, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2, cuStreamIsCapturing, cuEventCreate, cuEventRecord, its _ptsz,
        // cuEventQuery, cuEventElapsedTime, cuEventDestroy_v2, cuThreadExchangeStreamCaptureMode.
        for cbid in [
            304, 323, 324, 499, 118, 119, 441, 120, 123, 325, 541, UNKNOWN,
        ] {
            assert_eq!(driver(cbid).purpose(), None, "{cbid}");
            assert!(recorded(false).all(|number| number != cbid), "{cbid}");
        }
    }

    #[test]
    fn launches_of_driver_and_runtime_are_recorded() {
        assert_eq!(driver(DRIVER_LAUNCH).purpose(), Some(Purpose::Launch));
        let runtime = Function {
            runtime: true,
            cbid: RUNTIME_LAUNCH,
        };
        assert_eq!(runtime.purpose(), Some(Purpose::Launch));
        // The number means another call in each of the two.
        assert_eq!(driver(RUNTIME_LAUNCH).purpose(), None);
        assert!(recorded(true).all(|cbid| {
            let function = Function {
                runtime: true,
                cbid,
            };
            function.purpose().is_some()
        }));
    }

    #[test]
    fn names_are_those_that_programs_write() {
        for (name, plain) in [
            ("cuLaunchKernel_ptsz", "cuLaunchKernel"),
            ("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"),
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
            ("cudaMallocFromPoolAsync_v11020", "cudaMallocFromPoolAsync"),
            ("cuGraphLaunch", "cuGraphLaunch"),
            ("cuMemcpy_view", "cuMemcpy_view"),
        ] {
            assert_eq!(shown(name), plain);
        }
    }

    fn driver(cbid: u32) -> Function {
        Function {
            runtime: false,
            cbid,
        }
    }
}
