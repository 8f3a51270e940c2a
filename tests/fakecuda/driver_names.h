/*
 * Every function of the pretend driver as cuGetProcAddress knows it: X(exported name, version it
 * came with). Names with a version suffix are found without it; of several, the newest that is not
 * too new wins. U(name) exists by name only and answers "not supported".
 */
#define FK_DRIVER_FUNCTIONS(X)                                                                     \
    X(cuInit, 2000)                                                                                \
    X(cuDriverGetVersion, 2020)                                                                    \
    X(cuDeviceGet, 2000)                                                                           \
    X(cuDeviceGetCount, 2000)                                                                      \
    X(cuDeviceGetName, 2000)                                                                       \
    X(cuDeviceGetUuid, 9020)                                                                       \
    X(cuDeviceGetUuid_v2, 11040)                                                                   \
    X(cuDeviceGetPCIBusId, 4010)                                                                   \
    X(cuDeviceTotalMem_v2, 3020)                                                                   \
    X(cuDeviceGetAttribute, 2000)                                                                  \
    X(cuDeviceComputeCapability, 2000)                                                             \
    X(cuDeviceCanAccessPeer, 4000)                                                                 \
    X(cuDevicePrimaryCtxRetain, 7000)                                                              \
    X(cuDevicePrimaryCtxRelease_v2, 11000)                                                         \
    X(cuDevicePrimaryCtxGetState, 7000)                                                            \
    X(cuDevicePrimaryCtxSetFlags_v2, 11000)                                                        \
    X(cuCtxCreate_v2, 3020)                                                                        \
    X(cuCtxCreate_v4, 12050)                                                                       \
    X(cuCtxDestroy_v2, 4000)                                                                       \
    X(cuCtxGetCurrent, 4000)                                                                       \
    X(cuCtxSetCurrent, 4000)                                                                       \
    X(cuCtxPushCurrent_v2, 4000)                                                                   \
    X(cuCtxPopCurrent_v2, 4000)                                                                    \
    X(cuCtxGetDevice, 2000)                                                                        \
    X(cuCtxGetFlags, 7000)                                                                         \
    X(cuCtxGetApiVersion, 3020)                                                                    \
    X(cuCtxGetLimit, 3010)                                                                         \
    X(cuCtxSetLimit, 3010)                                                                         \
    X(cuCtxSynchronize, 2000)                                                                      \
    X(cuCtxGetStreamPriorityRange, 5050)                                                           \
    X(cuGetErrorName, 6000)                                                                        \
    X(cuGetErrorString, 6000)                                                                      \
    X(cuModuleLoad, 2000)                                                                          \
    X(cuModuleLoadData, 2000)                                                                      \
    X(cuModuleLoadDataEx, 2010)                                                                    \
    X(cuModuleLoadFatBinary, 2000)                                                                 \
    X(cuModuleUnload, 2000)                                                                        \
    X(cuModuleGetLoadingMode, 11070)                                                               \
    X(cuModuleGetFunction, 2000)                                                                   \
    X(cuModuleGetFunctionCount, 12040)                                                             \
    X(cuModuleGetGlobal_v2, 3020)                                                                  \
    X(cuLibraryLoadData, 12000)                                                                    \
    X(cuLibraryLoadFromFile, 12000)                                                                \
    X(cuLibraryUnload, 12000)                                                                      \
    X(cuLibraryGetModule, 12000)                                                                   \
    X(cuLibraryGetKernel, 12000)                                                                   \
    X(cuLibraryGetKernelCount, 12040)                                                              \
    X(cuKernelGetFunction, 12000)                                                                  \
    X(cuKernelGetAttribute, 12000)                                                                 \
    X(cuKernelSetAttribute, 12000)                                                                 \
    X(cuFuncGetAttribute, 2020)                                                                    \
    X(cuFuncSetAttribute, 9000)                                                                    \
    X(cuFuncSetCacheConfig, 3000)                                                                  \
    X(cuFuncGetName, 12030)                                                                        \
    X(cuLaunchKernel, 4000)                                                                        \
    X(cuLaunchCooperativeKernel, 9000)                                                             \
    X(cuLaunchKernelEx, 11060)                                                                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                                           \
    X(cuOccupancyMaxActiveClusters, 11070)                                                         \
    X(cuTensorMapEncodeTiled, 12000)                                                               \
    X(cuTensorMapEncodeIm2col, 12000)                                                              \
    X(cuLinkCreate_v2, 6050)                                                                       \
    X(cuLinkAddData_v2, 6050)                                                                      \
    X(cuLinkComplete, 5050)                                                                        \
    X(cuLinkDestroy, 5050)                                                                         \
    X(cuMemAlloc_v2, 3020)                                                                         \
    X(cuMemAllocManaged, 6000)                                                                     \
    X(cuMemHostAlloc, 2020)                                                                        \
    X(cuMemAllocHost_v2, 3020)                                                                     \
    X(cuMemFree_v2, 3020)                                                                          \
    X(cuMemFreeHost, 2000)                                                                         \
    X(cuMemGetInfo_v2, 3020)                                                                       \
    X(cuMemGetAddressRange_v2, 3020)                                                               \
    X(cuMemcpy, 4000)                                                                              \
    X(cuMemcpyAsync, 4000)                                                                         \
    X(cuMemcpyHtoD_v2, 3020)                                                                       \
    X(cuMemcpyDtoH_v2, 3020)                                                                       \
    X(cuMemcpyDtoD_v2, 3020)                                                                       \
    X(cuMemcpyHtoDAsync_v2, 3020)                                                                  \
    X(cuMemcpyDtoHAsync_v2, 3020)                                                                  \
    X(cuMemsetD8_v2, 3020)                                                                         \
    X(cuMemsetD8Async, 3020)                                                                       \
    X(cuMemsetD32_v2, 3020)                                                                        \
    X(cuMemsetD32Async, 3020)                                                                      \
    X(cuPointerGetAttribute, 4000)                                                                 \
    X(cuStreamCreate, 2000)                                                                        \
    X(cuStreamCreateWithPriority, 5050)                                                            \
    X(cuStreamDestroy_v2, 4000)                                                                    \
    X(cuStreamSynchronize, 2000)                                                                   \
    X(cuStreamQuery, 2000)                                                                         \
    X(cuStreamWaitEvent, 3020)                                                                     \
    X(cuStreamGetCtx, 9020)                                                                        \
    X(cuStreamBeginCapture_v2, 10010)                                                              \
    X(cuStreamEndCapture, 10000)                                                                   \
    X(cuStreamIsCapturing, 10000)                                                                  \
    X(cuEventCreate, 2000)                                                                         \
    X(cuEventDestroy_v2, 4000)                                                                     \
    X(cuEventRecord, 2000)                                                                         \
    X(cuEventQuery, 2000)                                                                          \
    X(cuEventSynchronize, 2000)                                                                    \
    X(cuEventElapsedTime, 2000)                                                                    \
    X(cuGraphInstantiateWithFlags, 11040)                                                          \
    X(cuGraphLaunch, 10000)                                                                        \
    X(cuGraphExecDestroy, 10000)                                                                   \
    X(cuGraphDestroy, 10000)                                                                       \
    X(cuGetProcAddress, 11030)                                                                     \
    X(cuGetProcAddress_v2, 12000)

#define FK_DRIVER_UNSUPPORTED(U)                                                                   \
    U(cuCtxFromGreenCtx)                                                                           \
    U(cuDevResourceGenerateDesc)                                                                   \
    U(cuDevSmResourceSplit)                                                                        \
    U(cuDevSmResourceSplitByCount)                                                                 \
    U(cuDeviceGetDevResource)                                                                      \
    U(cuGetExportTable)                                                                            \
    U(cuGreenCtxCreate)                                                                            \
    U(cuGreenCtxDestroy)                                                                           \
    U(cuGreenCtxStreamCreate)                                                                      \
    U(cuLogsRegisterCallback)                                                                      \
    U(cuLogsUnregisterCallback)                                                                    \
    U(cuMemAddressFree)                                                                            \
    U(cuMemAddressReserve)                                                                         \
    U(cuMemCreate)                                                                                 \
    U(cuMemExportToShareableHandle)                                                                \
    U(cuMemGetAllocationGranularity)                                                               \
    U(cuMemGetAllocationPropertiesFromHandle)                                                      \
    U(cuMemGetHandleForAddressRange)                                                               \
    U(cuMemImportFromShareableHandle)                                                              \
    U(cuMemMap)                                                                                    \
    U(cuMemRelease)                                                                                \
    U(cuMemRetainAllocationHandle)                                                                 \
    U(cuMemSetAccess)                                                                              \
    U(cuMemUnmap)                                                                                  \
    U(cuMulticastAddDevice)                                                                        \
    U(cuMulticastBindMem)                                                                          \
    U(cuMulticastCreate)                                                                           \
    U(cuMulticastUnbind)                                                                           \
    U(cuPointerGetAttributes)                                                                      \
    U(cuStreamWriteValue32_v2)
