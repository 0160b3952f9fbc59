//! CUPTI's callback ids of driver and runtime functions (`cupti_driver_cbid.h` and
//! `cupti_runtime_cbid.h` of CUDA 13). They are the same in all versions.

use std::ffi::CStr;

/// The functions of the simulated driver, by callback id.
pub const DRIVER: &[(u32, &CStr)] = &[
    (1, c"cuInit"),
    (2, c"cuDriverGetVersion"),
    (3, c"cuDeviceGet"),
    (4, c"cuDeviceGetCount"),
    (5, c"cuDeviceGetName"),
    (9, c"cuDeviceGetAttribute"),
    (16, c"cuCtxGetDevice"),
    (17, c"cuCtxSynchronize"),
    (18, c"cuModuleLoad"),
    (19, c"cuModuleLoadData"),
    (22, c"cuModuleUnload"),
    (23, c"cuModuleGetFunction"),
    (38, c"cuMemFreeHost"),
    (39, c"cuMemHostAlloc"),
    (85, c"cuFuncGetAttribute"),
    (86, c"cuFuncSetCacheConfig"),
    (118, c"cuEventCreate"),
    (119, c"cuEventRecord"),
    (120, c"cuEventQuery"),
    (121, c"cuEventSynchronize"),
    (123, c"cuEventElapsedTime"),
    (124, c"cuStreamCreate"),
    (125, c"cuStreamQuery"),
    (126, c"cuStreamSynchronize"),
    (136, c"cuCtxSetLimit"),
    (137, c"cuCtxGetLimit"),
    (216, c"cuMemsetD8Async"),
    (241, c"cuModuleGetGlobal_v2"),
    (242, c"cuMemGetInfo_v2"),
    (243, c"cuMemAlloc_v2"),
    (245, c"cuMemFree_v2"),
    (249, c"cuMemsetD8_v2"),
    (259, c"cuDeviceTotalMem_v2"),
    (276, c"cuMemcpyHtoD_v2"),
    (277, c"cuMemcpyHtoDAsync_v2"),
    (278, c"cuMemcpyDtoH_v2"),
    (279, c"cuMemcpyDtoHAsync_v2"),
    (280, c"cuMemcpyDtoD_v2"),
    (281, c"cuMemcpyDtoDAsync_v2"),
    (295, c"cuStreamWaitEvent"),
    (299, c"cuCtxGetCacheConfig"),
    (300, c"cuCtxSetCacheConfig"),
    (303, c"cuCtxSetCurrent"),
    (304, c"cuCtxGetCurrent"),
    (307, c"cuLaunchKernel"),
    (308, c"cuProfilerStart"),
    (309, c"cuProfilerStop"),
    (319, c"cuMemcpyPeerAsync"),
    (322, c"cuCtxDestroy_v2"),
    (323, c"cuCtxPushCurrent_v2"),
    (324, c"cuCtxPopCurrent_v2"),
    (325, c"cuEventDestroy_v2"),
    (326, c"cuStreamDestroy_v2"),
    (332, c"cuDeviceGetPCIBusId"),
    (367, c"cuStreamCreateWithPriority"),
    (368, c"cuStreamGetPriority"),
    (369, c"cuStreamGetFlags"),
    (370, c"cuCtxGetStreamPriorityRange"),
    (371, c"cuMemAllocManaged"),
    (372, c"cuGetErrorString"),
    (373, c"cuGetErrorName"),
    (374, c"cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    (377, c"cuStreamAttachMemAsync"),
    (386, c"cuDevicePrimaryCtxRetain"),
    (392, c"cuDevicePrimaryCtxGetState"),
    // Not exported by the simulated driver: the simulated libcupti can report launches as this one.
    (442, c"cuLaunchKernel_ptsz"),
    (451, c"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"),
    (452, c"cuOccupancyMaxPotentialBlockSizeWithFlags"),
    (481, c"cuFuncSetAttribute"),
    (482, c"cuDeviceGetUuid"),
    (483, c"cuStreamGetCtx"),
    (497, c"cuStreamEndCapture"),
    (499, c"cuStreamIsCapturing"),
    (509, c"cuGraphNodeGetType"),
    (514, c"cuGraphLaunch"),
    (516, c"cuGraphExecDestroy"),
    (517, c"cuGraphDestroy"),
    (523, c"cuGraphClone"),
    (525, c"cuGraphAddChildGraphNode"),
    (534, c"cuGraphGetNodes"),
    (539, c"cuStreamBeginCapture_v2"),
    (541, c"cuThreadExchangeStreamCaptureMode"),
    (544, c"cuDevicePrimaryCtxRelease_v2"),
    (545, c"cuDevicePrimaryCtxReset_v2"),
    (580, c"cuGraphUpload"),
    (587, c"cuEventRecordWithFlags"),
    (591, c"cuGraphEventRecordNodeGetEvent"),
    (595, c"cuGraphExecEventRecordNodeSetEvent"),
    (598, c"cuMemAllocAsync"),
    (600, c"cuMemFreeAsync"),
    (603, c"cuMemPoolSetAttribute"),
    (604, c"cuMemPoolGetAttribute"),
    (606, c"cuDeviceGetDefaultMemPool"),
    (629, c"cuStreamGetCaptureInfo_v2"),
    (633, c"cuUserObjectCreate"),
    (635, c"cuUserObjectRelease"),
    (636, c"cuGraphRetainUserObject"),
    (643, c"cuGraphInstantiateWithFlags"),
    (647, c"cuDeviceGetUuid_v2"),
    (659, c"cuStreamWaitValue32_v2"),
    (693, c"cuStreamGetId"),
    (695, c"cuCtxGetId"),
    (696, c"cuGraphExecUpdate_v2"),
    (705, c"cuCtxSetFlags"),
    (715, c"cuMemAdvise_v2"),
    (716, c"cuMemPrefetchAsync_v2"),
    (757, c"cuCtxCreate_v4"),
    (774, c"cuStreamGetDevice"),
    (780, c"cuEventElapsedTime_v2"),
];

/// `cudaLaunchKernel_v7000`, by which programs launch through the runtime.
pub const CUDA_LAUNCH_KERNEL: u32 = 211;

/// `cudaProfilerStart_v4000`.
pub const CUDA_PROFILER_START: u32 = 171;

/// `cudaProfilerStop_v4000`.
pub const CUDA_PROFILER_STOP: u32 = 172;

/// The simulated functions of the runtime, by callback id.
pub const RUNTIME: &[(u32, &CStr)] = &[
    (CUDA_PROFILER_START, c"cudaProfilerStart_v4000"),
    (CUDA_PROFILER_STOP, c"cudaProfilerStop_v4000"),
    (CUDA_LAUNCH_KERNEL, c"cudaLaunchKernel_v7000"),
];

/// The callback id of the driver function `name`, at compile time. A name that is not listed does
/// not compile.
pub const fn driver(name: &str) -> u32 {
    let mut index = 0;
    while index < DRIVER.len() {
        if same(DRIVER[index].1.to_bytes(), name.as_bytes()) {
            return DRIVER[index].0;
        }
        index += 1;
    }
    panic!("cbid::DRIVER lacks a driver function")
}

/// The name of the function with `cbid` in `list`.
pub fn name(list: &[(u32, &'static CStr)], cbid: u32) -> Option<&'static CStr> {
    list.iter()
        .find(|(number, _)| *number == cbid)
        .map(|(_, name)| *name)
}

/// Whether two texts are equal, at compile time.
pub const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}
