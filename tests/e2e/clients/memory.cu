// SPDX-License-Identifier: Apache-2.0
// Every way to get memory, once: address ranges with physical memory, pools, host memory, a pitched
// allocation. Prints what the trace must hold.
#include "watchdog.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(int result, const char* what) {
    if (result != 0) {
        std::printf("%s: %d\n", what, result);
        std::exit(1);
    }
}

void addressRanges() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    std::size_t bytes = 0;
    check(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), "granularity");
    CUdeviceptr range = 0;
    check(cuMemAddressReserve(&range, 3 * bytes, 0, 0, 0), "reserve");
    CUmemGenericAllocationHandle physical = 0;
    for (int i = 0; i < 3; ++i) {
        check(cuMemCreate(&physical, bytes, &prop, 0), "create");
        check(cuMemMap(range + i * bytes, bytes, 0, physical, 0), "map");
        check(cuMemRelease(physical), "release"); // the mapping keeps it
    }
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(cuMemSetAccess(range, 3 * bytes, &access, 1), "access");
    check(cuMemsetD8(range, 1, 3 * bytes), "memset");
    check(cuCtxSynchronize(), "synchronize"); // a fill may still run when the call has returned
    check(cuMemUnmap(range, 2 * bytes), "unmap"); // two mappings with one call
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'vmm' => 3");
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'vmm' AND free_ns IS NOT NULL => 2");
}

void pools(cudaStream_t stream) {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &props), "pool");
    void* block = nullptr;
    check(cudaMallocFromPoolAsync(&block, 1 << 20, pool, stream), "from pool");
    check(cudaFreeAsync(block, stream), "free async");
    check(cudaStreamSynchronize(stream), "synchronize");
    check(cudaMemPoolTrimTo(pool, 0), "trim");
    check(cudaMemPoolDestroy(pool), "pool destroy");
    check(cudaMallocAsync(&block, 1 << 20, stream), "malloc async");
    check(cudaStreamSynchronize(stream), "synchronize");
    std::puts("EXPECT SELECT count(*) FROM memory_pool WHERE event = 'created' => 1");
    std::puts("EXPECT SELECT count(*) FROM memory_pool WHERE event = 'destroyed' => 1");
    std::puts("EXPECT SELECT min(used_bytes) >= 1048576 FROM memory_pool WHERE event = 'updated' => 1");
    std::puts("EXPECT SELECT count(DISTINCT pool_id) FROM allocation WHERE kind = 'device_async' => 2");
}

void hostMemory() {
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, 4096), "malloc host");
    check(cudaFreeHost(pinned), "free host");
    static char pageable[1 << 16];
    check(cudaHostRegister(pageable, sizeof pageable, 0), "register");
    check(cudaHostUnregister(pageable), "unregister");
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'host_pinned' AND free_ns IS NOT NULL AND "
              "bytes = 4096 => 1");
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE kind = 'host_registered' AND free_ns IS NOT NULL "
              "AND bytes = 65536 => 1");
}

} // namespace

int main() {
    check(cudaSetDevice(0), "device");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "stream");
    addressRanges();
    pools(stream);
    hostMemory();
    void* rows = nullptr;
    std::size_t pitch = 0;
    check(cudaMallocPitch(&rows, &pitch, 100, 7), "pitch");
    std::printf(
        "EXPECT SELECT count(*) FROM allocation WHERE kind = 'device' AND bytes = %zu => 1\n", pitch * 7);
    std::puts("EXPECT SELECT count(*) FROM allocation WHERE stack_id IS NULL => 0");
    std::puts("EXPECT SELECT count(*) > 0 FROM memory_sample WHERE total_bytes > free_bytes AND "
              "graph_reserved_bytes = 0 => 1");
    check(cudaDeviceSynchronize(), "end");
    return 0;
}
