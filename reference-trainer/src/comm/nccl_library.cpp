// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_library.h"

#include <dlfcn.h>

namespace gdt::comm {

namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kPath = "/usr/local/cuda/lib64/libnccl.so.2";

template <class F> void find(void* library, const char* name, F& function, std::string& problem) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    if (function == nullptr && problem.empty())
        problem = std::string(kName) + " has no " + name;
}

Nccl load() {
    Nccl n;
    void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        library = ::dlopen(kPath, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        n.problem = std::string(kName) + " was not found; name its folder in LD_LIBRARY_PATH";
        return n;
    }
    find(library, "ncclGetUniqueId", n.getUniqueId, n.problem);
    find(library, "ncclCommInitRank", n.initRank, n.problem);
    find(library, "ncclCommSplit", n.split, n.problem);
    find(library, "ncclCommUserRank", n.userRank, n.problem);
    find(library, "ncclCommCount", n.count, n.problem);
    find(library, "ncclCommDestroy", n.destroy, n.problem);
    find(library, "ncclCommAbort", n.abort, n.problem);
    find(library, "ncclCommGetAsyncError", n.asyncError, n.problem);
    find(library, "ncclGetLastError", n.lastError, n.problem);
    find(library, "ncclGetErrorString", n.errorString, n.problem);
    find(library, "ncclAllReduce", n.allReduce, n.problem);
    find(library, "ncclReduceScatter", n.reduceScatter, n.problem);
    find(library, "ncclAllGather", n.allGather, n.problem);
    find(library, "ncclBroadcast", n.broadcast, n.problem);
    find(library, "ncclSend", n.send, n.problem);
    find(library, "ncclRecv", n.receive, n.problem);
    find(library, "ncclGroupStart", n.groupStart, n.problem);
    find(library, "ncclGroupEnd", n.groupEnd, n.problem);
    return n;
}

} // namespace

const Nccl& nccl() {
    static const Nccl n = load();
    return n;
}

} // namespace gdt::comm
