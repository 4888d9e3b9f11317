// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cublaslt_library.h"

#include <dlfcn.h>

namespace gdt::kernels::cuda {

namespace {

#define GDT_TEXT(x) #x
#define GDT_STRING(x) GDT_TEXT(x)
constexpr const char* kName = "libcublasLt.so." GDT_STRING(CUBLAS_VER_MAJOR);
constexpr const char* kPath = "/usr/local/cuda/lib64/libcublasLt.so." GDT_STRING(CUBLAS_VER_MAJOR);

template <class F> void find(void* library, const char* name, F& function, std::string& problem) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    if (function == nullptr && problem.empty())
        problem = std::string(kName) + " has no " + name;
}

CublasLt load() {
    CublasLt lt;
    void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        library = ::dlopen(kPath, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        lt.problem = std::string(kName) + " was not found; name its folder in LD_LIBRARY_PATH";
        return lt;
    }
    find(library, "cublasLtCreate", lt.create, lt.problem);
    find(library, "cublasLtMatmul", lt.matmul, lt.problem);
    find(library, "cublasLtMatmulDescCreate", lt.descCreate, lt.problem);
    find(library, "cublasLtMatmulDescSetAttribute", lt.descSet, lt.problem);
    find(library, "cublasLtMatmulDescDestroy", lt.descDestroy, lt.problem);
    find(library, "cublasLtMatrixLayoutCreate", lt.layoutCreate, lt.problem);
    find(library, "cublasLtMatrixLayoutDestroy", lt.layoutDestroy, lt.problem);
    find(library, "cublasLtMatmulPreferenceCreate", lt.preferenceCreate, lt.problem);
    find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preferenceSet, lt.problem);
    find(library, "cublasLtMatmulPreferenceDestroy", lt.preferenceDestroy, lt.problem);
    find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic, lt.problem);
    find(library, "cublasLtGetStatusName", lt.statusName, lt.problem);
    return lt;
}

} // namespace

const CublasLt& cublasLt() {
    static const CublasLt lt = load();
    return lt;
}

} // namespace gdt::kernels::cuda
