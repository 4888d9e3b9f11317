// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <string>

namespace gdt::kernels::cuda {

/// The functions of cuBLASLt that we use, found at run time so that the program starts on machines without
/// it.
struct CublasLt {
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulDescCreate) descCreate = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) descSet = nullptr;
    decltype(&cublasLtMatmulDescDestroy) descDestroy = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) layoutCreate = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
    decltype(&cublasLtGetStatusName) statusName = nullptr;
    /// Empty when all were found, else one sentence.
    std::string problem;
};

/// Loaded at the first call: by its soname, then from the usual folder of a toolkit.
[[nodiscard]] const CublasLt& cublasLt();

} // namespace gdt::kernels::cuda
