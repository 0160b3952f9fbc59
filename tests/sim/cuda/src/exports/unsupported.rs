//! Driver functions that are not simulated: each returns NOT_SUPPORTED.
//!
//! Versions of cudarc before 0.19.5 look up every function of the driver before they call the
//! first, and panic if one is missing. These functions are not counted, delayed or failed on
//! request.

use crate::result_codes::Code;

macro_rules! unsupported_functions {
    ($($name:ident;)*) => {$(
        // SAFETY: the name is the driver API's, as with every other exported function of this
        // crate.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        extern "C" fn $name() -> i32 {
            Code::NOT_SUPPORTED.0
        }
    )*};
}

unsupported_functions! {
    cuArray3DCreate_v2; cuArray3DGetDescriptor_v2; cuArrayCreate_v2; cuArrayDestroy;
    cuArrayGetDescriptor_v2; cuArrayGetMemoryRequirements; cuArrayGetPlane;
    cuArrayGetSparseProperties; cuCoredumpGetAttribute; cuCoredumpGetAttributeGlobal;
    cuCoredumpSetAttribute; cuCoredumpSetAttributeGlobal; cuCtxAttach; cuCtxCreate_v2;
    cuCtxCreate_v3; cuCtxDetach; cuCtxDisablePeerAccess; cuCtxEnablePeerAccess;
    cuCtxFromGreenCtx; cuCtxGetApiVersion; cuCtxGetDevResource; cuCtxGetDevice_v2;
    cuCtxGetExecAffinity; cuCtxGetFlags; cuCtxGetSharedMemConfig; cuCtxRecordEvent;
    cuCtxResetPersistingL2Cache; cuCtxSetSharedMemConfig; cuCtxSynchronize_v2; cuCtxWaitEvent;
    cuDestroyExternalMemory; cuDestroyExternalSemaphore; cuDevResourceGenerateDesc;
    cuDevSmResourceSplit; cuDevSmResourceSplitByCount; cuDeviceCanAccessPeer;
    cuDeviceComputeCapability; cuDeviceGetByPCIBusId;
    cuDeviceGetDevResource; cuDeviceGetExecAffinitySupport; cuDeviceGetGraphMemAttribute;
    cuDeviceGetHostAtomicCapabilities; cuDeviceGetLuid; cuDeviceGetMemPool;
    cuDeviceGetP2PAtomicCapabilities; cuDeviceGetP2PAttribute; cuDeviceGetProperties;
    cuDeviceGetTexture1DLinearMaxWidth; cuDeviceGraphMemTrim;
    cuDevicePrimaryCtxSetFlags_v2; cuDeviceRegisterAsyncNotification;
    cuDeviceSetGraphMemAttribute; cuDeviceSetMemPool; cuDeviceUnregisterAsyncNotification;
    cuExternalMemoryGetMappedBuffer; cuExternalMemoryGetMappedMipmappedArray;
    cuFlushGPUDirectRDMAWrites; cuFuncGetModule; cuFuncGetName; cuFuncGetParamInfo;
    cuFuncIsLoaded; cuFuncLoad; cuFuncSetBlockShape; cuFuncSetSharedMemConfig;
    cuFuncSetSharedSize; cuGetExportTable; cuGetProcAddress; cuGetProcAddress_v2;
    cuGraphAddBatchMemOpNode; cuGraphAddDependencies;
    cuGraphAddDependencies_v2; cuGraphAddEmptyNode; cuGraphAddEventRecordNode;
    cuGraphAddEventWaitNode; cuGraphAddExternalSemaphoresSignalNode;
    cuGraphAddExternalSemaphoresWaitNode; cuGraphAddHostNode; cuGraphAddKernelNode;
    cuGraphAddKernelNode_v2; cuGraphAddMemAllocNode; cuGraphAddMemFreeNode;
    cuGraphAddMemcpyNode; cuGraphAddMemsetNode; cuGraphAddNode; cuGraphAddNode_v2;
    cuGraphBatchMemOpNodeGetParams; cuGraphBatchMemOpNodeSetParams;
    cuGraphChildGraphNodeGetGraph; cuGraphConditionalHandleCreate; cuGraphCreate;
    cuGraphDebugDotPrint; cuGraphDestroyNode; cuGraphEventRecordNodeSetEvent;
    cuGraphEventWaitNodeGetEvent; cuGraphEventWaitNodeSetEvent;
    cuGraphExecBatchMemOpNodeSetParams; cuGraphExecChildGraphNodeSetParams;
    cuGraphExecEventWaitNodeSetEvent; cuGraphExecExternalSemaphoresSignalNodeSetParams;
    cuGraphExecExternalSemaphoresWaitNodeSetParams; cuGraphExecGetFlags; cuGraphExecGetId;
    cuGraphExecHostNodeSetParams; cuGraphExecKernelNodeSetParams;
    cuGraphExecKernelNodeSetParams_v2; cuGraphExecMemcpyNodeSetParams;
    cuGraphExecMemsetNodeSetParams; cuGraphExecNodeSetParams; cuGraphExecUpdate;
    cuGraphExternalSemaphoresSignalNodeGetParams;
    cuGraphExternalSemaphoresSignalNodeSetParams; cuGraphExternalSemaphoresWaitNodeGetParams;
    cuGraphExternalSemaphoresWaitNodeSetParams; cuGraphGetEdges; cuGraphGetEdges_v2;
    cuGraphGetId; cuGraphGetRootNodes; cuGraphHostNodeGetParams; cuGraphHostNodeSetParams;
    cuGraphInstantiateWithParams; cuGraphInstantiate_v2; cuGraphKernelNodeCopyAttributes;
    cuGraphKernelNodeGetAttribute; cuGraphKernelNodeGetParams; cuGraphKernelNodeGetParams_v2;
    cuGraphKernelNodeSetAttribute; cuGraphKernelNodeSetParams; cuGraphKernelNodeSetParams_v2;
    cuGraphMemAllocNodeGetParams; cuGraphMemFreeNodeGetParams; cuGraphMemcpyNodeGetParams;
    cuGraphMemcpyNodeSetParams; cuGraphMemsetNodeGetParams; cuGraphMemsetNodeSetParams;
    cuGraphNodeFindInClone; cuGraphNodeGetContainingGraph; cuGraphNodeGetDependencies;
    cuGraphNodeGetDependencies_v2; cuGraphNodeGetDependentNodes;
    cuGraphNodeGetDependentNodes_v2; cuGraphNodeGetEnabled; cuGraphNodeGetLocalId;
    cuGraphNodeGetToolsId; cuGraphNodeSetEnabled; cuGraphNodeSetParams;
    cuGraphReleaseUserObject; cuGraphRemoveDependencies; cuGraphRemoveDependencies_v2;
    cuGraphicsMapResources; cuGraphicsResourceGetMappedMipmappedArray;
    cuGraphicsResourceGetMappedPointer_v2; cuGraphicsResourceSetMapFlags_v2;
    cuGraphicsSubResourceGetMappedArray; cuGraphicsUnmapResources; cuGraphicsUnregisterResource;
    cuGreenCtxCreate; cuGreenCtxDestroy; cuGreenCtxGetDevResource; cuGreenCtxGetId;
    cuGreenCtxRecordEvent; cuGreenCtxStreamCreate; cuGreenCtxWaitEvent; cuImportExternalMemory;
    cuImportExternalSemaphore; cuIpcCloseMemHandle; cuIpcGetEventHandle; cuIpcGetMemHandle;
    cuIpcOpenEventHandle; cuIpcOpenMemHandle_v2; cuKernelGetAttribute; cuKernelGetFunction;
    cuKernelGetLibrary; cuKernelGetName; cuKernelGetParamInfo; cuKernelSetAttribute;
    cuKernelSetCacheConfig; cuLaunch; cuLaunchCooperativeKernel;
    cuLaunchCooperativeKernelMultiDevice; cuLaunchGrid; cuLaunchGridAsync; cuLaunchHostFunc;
    cuLaunchKernelEx; cuLibraryEnumerateKernels; cuLibraryGetGlobal; cuLibraryGetKernel;
    cuLibraryGetKernelCount; cuLibraryGetManaged; cuLibraryGetModule;
    cuLibraryGetUnifiedFunction; cuLibraryLoadData; cuLibraryLoadFromFile; cuLibraryUnload;
    cuLinkAddData_v2; cuLinkAddFile_v2; cuLinkComplete; cuLinkCreate_v2; cuLinkDestroy;
    cuLogsCurrent; cuLogsDumpToFile; cuLogsDumpToMemory; cuLogsRegisterCallback;
    cuLogsUnregisterCallback; cuMemAddressFree; cuMemAddressReserve; cuMemAdvise;
    cuMemAllocFromPoolAsync; cuMemAllocHost_v2; cuMemAllocPitch_v2; cuMemBatchDecompressAsync;
    cuMemCreate; cuMemDiscardAndPrefetchBatchAsync; cuMemDiscardBatchAsync;
    cuMemExportToShareableHandle; cuMemGetAccess; cuMemGetAddressRange_v2;
    cuMemGetAllocationGranularity; cuMemGetAllocationPropertiesFromHandle;
    cuMemGetDefaultMemPool; cuMemGetHandleForAddressRange; cuMemGetMemPool;
    cuMemHostGetDevicePointer_v2; cuMemHostGetFlags; cuMemHostRegister_v2; cuMemHostUnregister;
    cuMemImportFromShareableHandle; cuMemMap; cuMemMapArrayAsync; cuMemPoolCreate;
    cuMemPoolDestroy; cuMemPoolExportPointer; cuMemPoolExportToShareableHandle;
    cuMemPoolGetAccess; cuMemPoolImportFromShareableHandle;
    cuMemPoolImportPointer; cuMemPoolSetAccess; cuMemPoolTrimTo;
    cuMemPrefetchAsync; cuMemPrefetchBatchAsync; cuMemRangeGetAttribute;
    cuMemRangeGetAttributes; cuMemRelease; cuMemRetainAllocationHandle; cuMemSetAccess;
    cuMemSetMemPool; cuMemUnmap; cuMemcpy; cuMemcpy2DAsync_v2; cuMemcpy2DUnaligned_v2;
    cuMemcpy2D_v2; cuMemcpy3DAsync_v2; cuMemcpy3DBatchAsync; cuMemcpy3DBatchAsync_v2;
    cuMemcpy3DPeer; cuMemcpy3DPeerAsync; cuMemcpy3D_v2; cuMemcpyAsync; cuMemcpyAtoA_v2;
    cuMemcpyAtoD_v2; cuMemcpyAtoHAsync_v2; cuMemcpyAtoH_v2; cuMemcpyBatchAsync;
    cuMemcpyBatchAsync_v2; cuMemcpyDtoA_v2; cuMemcpyHtoAAsync_v2; cuMemcpyHtoA_v2; cuMemcpyPeer;
    cuMemsetD16Async; cuMemsetD16_v2; cuMemsetD2D16Async; cuMemsetD2D16_v2; cuMemsetD2D32Async;
    cuMemsetD2D32_v2; cuMemsetD2D8Async; cuMemsetD2D8_v2; cuMemsetD32Async; cuMemsetD32_v2;
    cuMipmappedArrayCreate; cuMipmappedArrayDestroy; cuMipmappedArrayGetLevel;
    cuMipmappedArrayGetMemoryRequirements; cuMipmappedArrayGetSparseProperties;
    cuModuleEnumerateFunctions; cuModuleGetFunctionCount; cuModuleGetLoadingMode;
    cuModuleGetSurfRef; cuModuleGetTexRef; cuModuleLoadDataEx; cuModuleLoadFatBinary;
    cuMulticastAddDevice; cuMulticastBindAddr; cuMulticastBindAddr_v2; cuMulticastBindMem;
    cuMulticastBindMem_v2; cuMulticastCreate; cuMulticastGetGranularity; cuMulticastUnbind;
    cuOccupancyAvailableDynamicSMemPerBlock; cuOccupancyMaxActiveClusters;
    cuOccupancyMaxPotentialBlockSize; cuOccupancyMaxPotentialClusterSize; cuParamSetSize;
    cuParamSetTexRef; cuParamSetf; cuParamSeti; cuParamSetv; cuPointerGetAttribute;
    cuPointerGetAttributes; cuPointerSetAttribute; cuProfilerInitialize;
    cuSignalExternalSemaphoresAsync; cuStreamAddCallback; cuStreamBatchMemOp;
    cuStreamBatchMemOp_v2; cuStreamBeginCaptureToGraph; cuStreamCopyAttributes;
    cuStreamGetAttribute; cuStreamGetCaptureInfo; cuStreamGetCaptureInfo_v3; cuStreamGetCtx_v2;
    cuStreamGetDevResource; cuStreamGetGreenCtx; cuStreamSetAttribute;
    cuStreamUpdateCaptureDependencies; cuStreamUpdateCaptureDependencies_v2;
    cuStreamWaitValue32; cuStreamWaitValue64; cuStreamWaitValue64_v2;
    cuStreamWriteValue32; cuStreamWriteValue32_v2; cuStreamWriteValue64;
    cuStreamWriteValue64_v2; cuSurfObjectCreate; cuSurfObjectDestroy;
    cuSurfObjectGetResourceDesc; cuSurfRefGetArray; cuSurfRefSetArray; cuTensorMapEncodeIm2col;
    cuTensorMapEncodeIm2colWide; cuTensorMapEncodeTiled; cuTensorMapReplaceAddress;
    cuTexObjectCreate; cuTexObjectDestroy; cuTexObjectGetResourceDesc;
    cuTexObjectGetResourceViewDesc; cuTexObjectGetTextureDesc; cuTexRefCreate; cuTexRefDestroy;
    cuTexRefGetAddressMode; cuTexRefGetAddress_v2; cuTexRefGetArray; cuTexRefGetBorderColor;
    cuTexRefGetFilterMode; cuTexRefGetFlags; cuTexRefGetFormat; cuTexRefGetMaxAnisotropy;
    cuTexRefGetMipmapFilterMode; cuTexRefGetMipmapLevelBias; cuTexRefGetMipmapLevelClamp;
    cuTexRefGetMipmappedArray; cuTexRefSetAddress2D_v3; cuTexRefSetAddressMode;
    cuTexRefSetAddress_v2; cuTexRefSetArray; cuTexRefSetBorderColor; cuTexRefSetFilterMode;
    cuTexRefSetFlags; cuTexRefSetFormat; cuTexRefSetMaxAnisotropy; cuTexRefSetMipmapFilterMode;
    cuTexRefSetMipmapLevelBias; cuTexRefSetMipmapLevelClamp; cuTexRefSetMipmappedArray;
    cuUserObjectRetain; cuWaitExternalSemaphoresAsync;
}
