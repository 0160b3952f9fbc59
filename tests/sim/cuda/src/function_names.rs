//! The names of all exported driver functions. Their indices address arrays of counts and call
//! durations.

use simbase::cbid;
use simbase::control::position;

/// Every exported `cu*` function.
pub(crate) const NAMES: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceGetUuid",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetPCIBusId",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset_v2",
    "cuDevicePrimaryCtxGetState",
    "cuCtxCreate_v4",
    "cuCtxDestroy_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuCtxSynchronize",
    "cuCtxSetFlags",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuCtxGetStreamPriorityRange",
    "cuCtxGetLimit",
    "cuCtxSetLimit",
    "cuCtxGetCacheConfig",
    "cuCtxSetCacheConfig",
    "cuOccupancyMaxPotentialBlockSizeWithFlags",
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemPrefetchAsync_v2",
    "cuMemAdvise_v2",
    "cuMemHostAlloc",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuMemGetInfo_v2",
    "cuDeviceGetDefaultMemPool",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoD_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuMemsetD8_v2",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamWaitEvent",
    "cuStreamWaitValue32_v2",
    "cuStreamIsCapturing",
    "cuStreamGetCaptureInfo_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuStreamAttachMemAsync",
    "cuThreadExchangeStreamCaptureMode",
    "cuStreamGetCtx",
    "cuStreamGetId",
    "cuStreamGetDevice",
    "cuStreamGetPriority",
    "cuStreamGetFlags",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventRecordWithFlags",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventElapsedTime_v2",
    "cuModuleLoad",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleGetGlobal_v2",
    "cuModuleUnload",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuFuncSetCacheConfig",
    "cuLaunchKernel",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuGraphInstantiateWithFlags",
    "cuGraphClone",
    "cuGraphAddChildGraphNode",
    "cuGraphExecUpdate_v2",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuGraphGetNodes",
    "cuGraphNodeGetType",
    "cuGraphEventRecordNodeGetEvent",
    "cuGraphExecEventRecordNodeSetEvent",
    "cuGraphRetainUserObject",
    "cuUserObjectCreate",
    "cuUserObjectRelease",
];

/// A function, as an index into [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol(pub(crate) usize);

impl Symbol {
    /// The function called `name`, at compile time. A name that is not listed does not compile.
    pub(crate) const fn named(name: &str) -> Symbol {
        Symbol(position(NAMES, name))
    }

    /// Its CUPTI callback id.
    pub(crate) fn cbid(self) -> u32 {
        const NUMBERS: [u32; NAMES.len()] = {
            let mut numbers = [0; NAMES.len()];
            let mut index = 0;
            while index < NAMES.len() {
                numbers[index] = cbid::driver(NAMES[index]);
                index += 1;
            }
            numbers
        };
        NUMBERS[self.0]
    }

    /// The function called `name`.
    pub(crate) fn find(name: &str) -> Option<Symbol> {
        NAMES.iter().position(|known| *known == name).map(Symbol)
    }
}
