/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls GraphDoctor follows, with fixed numbers: they are written into traces, so a number is never
 * reused or changed. `_v2`, `_v3`, `_ptsz` and `_ptds` variants of a CUDA driver call fold into one id.
 *
 * X(number, NAME, driver name, runtime name, CLASS): CLASS is one of the GD_API_CLASS_* values and says what
 * a call does to a capture and to the host: CAPTURE begins, ends or inspects a capture · EDGE adds a
 * dependency (event record, wait) · LAUNCH enqueues a kernel COPY enqueues a copy or fill · COPY_SYNC copies
 * and blocks · SYNC blocks the host · QUERY polls · ALLOC, FREE device or host memory · POOL memory pools and
 * their attributes · VMM address ranges · GRAPH builds or changes graphs EXEC instantiates, updates, destroys
 * executables · REPLAY launches an executable · STREAM, EVENT, CONTEXT object life MODULE code loading · HOST
 * host callbacks · IPC · COMM collective calls (host runtimes; NCCL has its own records) OTHER. Source of the
 * names: cuda.h and cuda_runtime_api.h of CUDA 13.0.
 */
#ifndef GRAPHDOCTOR_API_IDS_H
#define GRAPHDOCTOR_API_IDS_H

/* clang-format off */
#define GD_API_CLASSES(X)                                                                                    \
    X(0, OTHER)                                                                                              \
    X(1, CAPTURE) X(2, EDGE) X(3, LAUNCH) X(4, COPY) X(5, COPY_SYNC) X(6, SYNC) X(7, QUERY) X(8, ALLOC)      \
        X(9, FREE) X(10, POOL) X(11, VMM) X(12, GRAPH) X(13, EXEC) X(14, REPLAY) X(15, STREAM) X(16, EVENT)  \
            X(17, CONTEXT) X(18, MODULE) X(19, HOST) X(20, IPC) X(21, COMM)

#define GD_API_CALLS(X)                                                                                      \
    X(1, STREAM_BEGIN_CAPTURE, "cuStreamBeginCapture", "cudaStreamBeginCapture", CAPTURE)                    \
    X(2, STREAM_BEGIN_CAPTURE_TO_GRAPH, "cuStreamBeginCaptureToGraph", "cudaStreamBeginCaptureToGraph",      \
        CAPTURE)                                                                                             \
    X(3, STREAM_END_CAPTURE, "cuStreamEndCapture", "cudaStreamEndCapture", CAPTURE)                          \
    X(4, STREAM_IS_CAPTURING, "cuStreamIsCapturing", "cudaStreamIsCapturing", CAPTURE)                       \
    X(5, STREAM_GET_CAPTURE_INFO, "cuStreamGetCaptureInfo", "cudaStreamGetCaptureInfo", CAPTURE)             \
    X(6, STREAM_UPDATE_CAPTURE_DEPENDENCIES, "cuStreamUpdateCaptureDependencies",                            \
        "cudaStreamUpdateCaptureDependencies", CAPTURE)                                                      \
    X(7, THREAD_EXCHANGE_STREAM_CAPTURE_MODE, "cuThreadExchangeStreamCaptureMode",                           \
        "cudaThreadExchangeStreamCaptureMode", CAPTURE)                                                      \
    X(10, EVENT_RECORD, "cuEventRecord", "cudaEventRecord", EDGE)                                            \
    X(11, EVENT_RECORD_WITH_FLAGS, "cuEventRecordWithFlags", "cudaEventRecordWithFlags", EDGE)               \
    X(12, STREAM_WAIT_EVENT, "cuStreamWaitEvent", "cudaStreamWaitEvent", EDGE)                               \
    X(13, STREAM_WAIT_VALUE, "cuStreamWaitValue32", "", EDGE)                                                \
    X(14, STREAM_WRITE_VALUE, "cuStreamWriteValue32", "", EDGE)                                              \
    X(15, STREAM_BATCH_MEM_OP, "cuStreamBatchMemOp", "", EDGE)                                               \
    X(20, LAUNCH_KERNEL, "cuLaunchKernel", "cudaLaunchKernel", LAUNCH)                                       \
    X(21, LAUNCH_KERNEL_EX, "cuLaunchKernelEx", "cudaLaunchKernelExC", LAUNCH)                               \
    X(22, LAUNCH_COOPERATIVE_KERNEL, "cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel", LAUNCH)     \
    X(23, LAUNCH_HOST_FUNC, "cuLaunchHostFunc", "cudaLaunchHostFunc", HOST)                                  \
    X(24, STREAM_ADD_CALLBACK, "cuStreamAddCallback", "cudaStreamAddCallback", HOST)                         \
    X(30, MEMCPY, "cuMemcpy", "cudaMemcpy", COPY_SYNC)                                                       \
    X(31, MEMCPY_HTOD, "cuMemcpyHtoD", "cudaMemcpy", COPY_SYNC)                                              \
    X(32, MEMCPY_DTOH, "cuMemcpyDtoH", "cudaMemcpy", COPY_SYNC)                                              \
    X(33, MEMCPY_DTOD, "cuMemcpyDtoD", "cudaMemcpy", COPY_SYNC)                                              \
    X(34, MEMCPY_2D, "cuMemcpy2D", "cudaMemcpy2D", COPY_SYNC)                                                \
    X(35, MEMCPY_3D, "cuMemcpy3D", "cudaMemcpy3D", COPY_SYNC)                                                \
    X(36, MEMCPY_PEER, "cuMemcpyPeer", "cudaMemcpyPeer", COPY_SYNC)                                          \
    X(37, MEMCPY_ASYNC, "cuMemcpyAsync", "cudaMemcpyAsync", COPY)                                            \
    X(38, MEMCPY_HTOD_ASYNC, "cuMemcpyHtoDAsync", "cudaMemcpyAsync", COPY)                                   \
    X(39, MEMCPY_DTOH_ASYNC, "cuMemcpyDtoHAsync", "cudaMemcpyAsync", COPY)                                   \
    X(40, MEMCPY_DTOD_ASYNC, "cuMemcpyDtoDAsync", "cudaMemcpyAsync", COPY)                                   \
    X(41, MEMCPY_2D_ASYNC, "cuMemcpy2DAsync", "cudaMemcpy2DAsync", COPY)                                     \
    X(42, MEMCPY_3D_ASYNC, "cuMemcpy3DAsync", "cudaMemcpy3DAsync", COPY)                                     \
    X(43, MEMCPY_PEER_ASYNC, "cuMemcpyPeerAsync", "cudaMemcpyPeerAsync", COPY)                               \
    X(44, MEMSET, "cuMemsetD8", "cudaMemset", COPY_SYNC)                                                     \
    X(45, MEMSET_ASYNC, "cuMemsetD8Async", "cudaMemsetAsync", COPY)                                          \
    X(46, MEM_PREFETCH_ASYNC, "cuMemPrefetchAsync", "cudaMemPrefetchAsync", COPY)                            \
    X(47, MEMCPY_BATCH_ASYNC, "cuMemcpyBatchAsync", "cudaMemcpyBatchAsync", COPY)                            \
    X(50, DEVICE_SYNCHRONIZE, "cuCtxSynchronize", "cudaDeviceSynchronize", SYNC)                             \
    X(51, STREAM_SYNCHRONIZE, "cuStreamSynchronize", "cudaStreamSynchronize", SYNC)                          \
    X(52, EVENT_SYNCHRONIZE, "cuEventSynchronize", "cudaEventSynchronize", SYNC)                             \
    X(53, STREAM_QUERY, "cuStreamQuery", "cudaStreamQuery", QUERY)                                           \
    X(54, EVENT_QUERY, "cuEventQuery", "cudaEventQuery", QUERY)                                              \
    X(55, EVENT_ELAPSED_TIME, "cuEventElapsedTime", "cudaEventElapsedTime", QUERY)                           \
    X(56, STREAM_GET_ID, "cuStreamGetId", "cudaStreamGetId", QUERY)                                          \
    X(57, STREAM_GET_DEVICE, "cuStreamGetDevice", "cudaStreamGetDevice", QUERY)                              \
    X(60, MEM_ALLOC, "cuMemAlloc", "cudaMalloc", ALLOC)                                                      \
    X(61, MEM_ALLOC_PITCH, "cuMemAllocPitch", "cudaMallocPitch", ALLOC)                                      \
    X(62, MEM_ALLOC_MANAGED, "cuMemAllocManaged", "cudaMallocManaged", ALLOC)                                \
    X(63, MEM_ALLOC_HOST, "cuMemAllocHost", "cudaMallocHost", ALLOC)                                         \
    X(64, MEM_HOST_ALLOC, "cuMemHostAlloc", "cudaHostAlloc", ALLOC)                                          \
    X(65, MEM_HOST_REGISTER, "cuMemHostRegister", "cudaHostRegister", ALLOC)                                 \
    X(66, MEM_ALLOC_ASYNC, "cuMemAllocAsync", "cudaMallocAsync", ALLOC)                                      \
    X(67, MEM_ALLOC_FROM_POOL_ASYNC, "cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync", ALLOC)            \
    X(70, MEM_FREE, "cuMemFree", "cudaFree", FREE)                                                           \
    X(71, MEM_FREE_HOST, "cuMemFreeHost", "cudaFreeHost", FREE)                                              \
    X(72, MEM_HOST_UNREGISTER, "cuMemHostUnregister", "cudaHostUnregister", FREE)                            \
    X(73, MEM_FREE_ASYNC, "cuMemFreeAsync", "cudaFreeAsync", FREE)                                           \
    X(80, MEM_POOL_CREATE, "cuMemPoolCreate", "cudaMemPoolCreate", POOL)                                     \
    X(81, MEM_POOL_DESTROY, "cuMemPoolDestroy", "cudaMemPoolDestroy", POOL)                                  \
    X(82, MEM_POOL_TRIM_TO, "cuMemPoolTrimTo", "cudaMemPoolTrimTo", POOL)                                    \
    X(83, MEM_POOL_SET_ATTRIBUTE, "cuMemPoolSetAttribute", "cudaMemPoolSetAttribute", POOL)                  \
    X(84, MEM_POOL_GET_ATTRIBUTE, "cuMemPoolGetAttribute", "cudaMemPoolGetAttribute", POOL)                  \
    X(85, DEVICE_SET_MEM_POOL, "cuDeviceSetMemPool", "cudaDeviceSetMemPool", POOL)                           \
    X(86, DEVICE_GRAPH_MEM_TRIM, "cuDeviceGraphMemTrim", "cudaDeviceGraphMemTrim", POOL)                     \
    X(87, MEM_GET_INFO, "cuMemGetInfo", "cudaMemGetInfo", POOL)                                              \
    X(90, MEM_CREATE, "cuMemCreate", "", VMM)                                                                \
    X(91, MEM_RELEASE, "cuMemRelease", "", VMM)                                                              \
    X(92, MEM_MAP, "cuMemMap", "", VMM)                                                                      \
    X(93, MEM_UNMAP, "cuMemUnmap", "", VMM)                                                                  \
    X(94, MEM_ADDRESS_RESERVE, "cuMemAddressReserve", "", VMM)                                               \
    X(95, MEM_ADDRESS_FREE, "cuMemAddressFree", "", VMM)                                                     \
    X(96, MEM_SET_ACCESS, "cuMemSetAccess", "", VMM)                                                         \
    X(97, IPC_GET_MEM_HANDLE, "cuIpcGetMemHandle", "cudaIpcGetMemHandle", IPC)                               \
    X(98, IPC_OPEN_MEM_HANDLE, "cuIpcOpenMemHandle", "cudaIpcOpenMemHandle", IPC)                            \
    X(99, IPC_CLOSE_MEM_HANDLE, "cuIpcCloseMemHandle", "cudaIpcCloseMemHandle", IPC)                         \
    X(100, GRAPH_CREATE, "cuGraphCreate", "cudaGraphCreate", GRAPH)                                          \
    X(101, GRAPH_CLONE, "cuGraphClone", "cudaGraphClone", GRAPH)                                             \
    X(102, GRAPH_DESTROY, "cuGraphDestroy", "cudaGraphDestroy", GRAPH)                                       \
    X(103, GRAPH_ADD_NODE, "cuGraphAddNode", "cudaGraphAddNode", GRAPH)                                      \
    X(104, GRAPH_ADD_KERNEL_NODE, "cuGraphAddKernelNode", "cudaGraphAddKernelNode", GRAPH)                   \
    X(105, GRAPH_ADD_MEMCPY_NODE, "cuGraphAddMemcpyNode", "cudaGraphAddMemcpyNode", GRAPH)                   \
    X(106, GRAPH_ADD_MEMSET_NODE, "cuGraphAddMemsetNode", "cudaGraphAddMemsetNode", GRAPH)                   \
    X(107, GRAPH_ADD_HOST_NODE, "cuGraphAddHostNode", "cudaGraphAddHostNode", GRAPH)                         \
    X(108, GRAPH_ADD_CHILD_GRAPH_NODE, "cuGraphAddChildGraphNode", "cudaGraphAddChildGraphNode", GRAPH)      \
    X(109, GRAPH_ADD_DEPENDENCIES, "cuGraphAddDependencies", "cudaGraphAddDependencies", GRAPH)              \
    X(110, GRAPH_DESTROY_NODE, "cuGraphDestroyNode", "cudaGraphDestroyNode", GRAPH)                          \
    X(111, GRAPH_KERNEL_NODE_SET_PARAMS, "cuGraphKernelNodeSetParams", "cudaGraphKernelNodeSetParams",       \
        GRAPH)                                                                                               \
    X(112, GRAPH_ADD_MEM_ALLOC_NODE, "cuGraphAddMemAllocNode", "cudaGraphAddMemAllocNode", GRAPH)            \
    X(113, GRAPH_ADD_MEM_FREE_NODE, "cuGraphAddMemFreeNode", "cudaGraphAddMemFreeNode", GRAPH)               \
    X(120, GRAPH_INSTANTIATE, "cuGraphInstantiate", "cudaGraphInstantiate", EXEC)                            \
    X(121, GRAPH_INSTANTIATE_WITH_FLAGS, "cuGraphInstantiateWithFlags", "cudaGraphInstantiateWithFlags",     \
        EXEC)                                                                                                \
    X(122, GRAPH_INSTANTIATE_WITH_PARAMS, "cuGraphInstantiateWithParams", "cudaGraphInstantiateWithParams",  \
        EXEC)                                                                                                \
    X(123, GRAPH_EXEC_UPDATE, "cuGraphExecUpdate", "cudaGraphExecUpdate", EXEC)                              \
    X(124, GRAPH_EXEC_DESTROY, "cuGraphExecDestroy", "cudaGraphExecDestroy", EXEC)                           \
    X(125, GRAPH_EXEC_KERNEL_NODE_SET_PARAMS, "cuGraphExecKernelNodeSetParams",                              \
        "cudaGraphExecKernelNodeSetParams", EXEC)                                                            \
    X(126, GRAPH_EXEC_MEMCPY_NODE_SET_PARAMS, "cuGraphExecMemcpyNodeSetParams",                              \
        "cudaGraphExecMemcpyNodeSetParams", EXEC)                                                            \
    X(127, GRAPH_EXEC_NODE_SET_PARAMS, "cuGraphExecNodeSetParams", "cudaGraphExecNodeSetParams", EXEC)       \
    X(128, GRAPH_NODE_SET_ENABLED, "cuGraphNodeSetEnabled", "cudaGraphNodeSetEnabled", EXEC)                 \
    X(129, GRAPH_UPLOAD, "cuGraphUpload", "cudaGraphUpload", EXEC)                                           \
    X(130, GRAPH_LAUNCH, "cuGraphLaunch", "cudaGraphLaunch", REPLAY)                                         \
    X(140, STREAM_CREATE, "cuStreamCreate", "cudaStreamCreate", STREAM)                                      \
    X(141, STREAM_CREATE_WITH_PRIORITY, "cuStreamCreateWithPriority", "cudaStreamCreateWithPriority",        \
        STREAM)                                                                                              \
    X(142, STREAM_DESTROY, "cuStreamDestroy", "cudaStreamDestroy", STREAM)                                   \
    X(143, EVENT_CREATE, "cuEventCreate", "cudaEventCreate", EVENT)                                          \
    X(144, EVENT_DESTROY, "cuEventDestroy", "cudaEventDestroy", EVENT)                                       \
    X(145, CTX_CREATE, "cuCtxCreate", "", CONTEXT)                                                           \
    X(146, CTX_DESTROY, "cuCtxDestroy", "", CONTEXT)                                                         \
    X(147, DEVICE_RESET, "cuDevicePrimaryCtxReset", "cudaDeviceReset", CONTEXT)                              \
    X(148, PRIMARY_CTX_RETAIN, "cuDevicePrimaryCtxRetain", "cudaSetDevice", CONTEXT)                         \
    X(149, PRIMARY_CTX_RELEASE, "cuDevicePrimaryCtxRelease", "", CONTEXT)                                    \
    X(150, MODULE_LOAD, "cuModuleLoad", "", MODULE)                                                          \
    X(151, MODULE_LOAD_DATA, "cuModuleLoadData", "", MODULE)                                                 \
    X(152, MODULE_UNLOAD, "cuModuleUnload", "", MODULE)                                                      \
    X(153, LIBRARY_LOAD_DATA, "cuLibraryLoadData", "cudaLibraryLoadData", MODULE)                            \
    X(154, LIBRARY_UNLOAD, "cuLibraryUnload", "cudaLibraryUnload", MODULE)                                   \
    X(160, COMM_INIT, "", "", COMM)                                                                          \
    X(161, COMM_DESTROY, "", "", COMM)                                                                       \
    X(162, COMM_ABORT, "", "", COMM)                                                                         \
    X(163, COMM_ALL_REDUCE, "", "", COMM)                                                                    \
    X(164, COMM_REDUCE_SCATTER, "", "", COMM)                                                                \
    X(165, COMM_ALL_GATHER, "", "", COMM)                                                                    \
    X(166, COMM_BROADCAST, "", "", COMM)                                                                     \
    X(167, COMM_REDUCE, "", "", COMM)                                                                        \
    X(168, COMM_SEND, "", "", COMM)                                                                          \
    X(169, COMM_RECV, "", "", COMM)                                                                          \
    X(170, COMM_ALL_TO_ALL, "", "", COMM)                                                                    \
    X(171, COMM_GROUP_START, "", "", COMM)                                                                   \
    X(172, COMM_GROUP_END, "", "", COMM)

/* clang-format on */
#define GD_API_ENUM_ENTRY(number, name, driver, runtime, klass) GD_API_##name = number,
typedef enum gd_api_id { GD_API_NONE = 0, GD_API_CALLS(GD_API_ENUM_ENTRY) } gd_api_id;
#undef GD_API_ENUM_ENTRY

#define GD_API_CLASS_ENTRY(number, name) GD_API_CLASS_##name = number,
typedef enum gd_api_class { GD_API_CLASSES(GD_API_CLASS_ENTRY) } gd_api_class;
#undef GD_API_CLASS_ENTRY

#endif
