// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common.cuh"

#include <span>

namespace gdt::kernels::cuda {

// One table a source file; findLauncher() looks through all of them.
[[nodiscard]] std::span<const Launcher> attentionLaunchers();
[[nodiscard]] std::span<const Launcher> crossEntropyLaunchers();
[[nodiscard]] std::span<const Launcher> dropoutLaunchers();
[[nodiscard]] std::span<const Launcher> elementwiseLaunchers();
[[nodiscard]] std::span<const Launcher> embeddingLaunchers();
[[nodiscard]] std::span<const Launcher> fp8Launchers();
[[nodiscard]] std::span<const Launcher> gemmLaunchers();
[[nodiscard]] std::span<const Launcher> modelledLaunchers();
[[nodiscard]] std::span<const Launcher> normLaunchers();
[[nodiscard]] std::span<const Launcher> optimizerLaunchers();
[[nodiscard]] std::span<const Launcher> ringAttentionLaunchers();
[[nodiscard]] std::span<const Launcher> swigluLaunchers();
[[nodiscard]] std::span<const Launcher> vocabParallelLaunchers();

} // namespace gdt::kernels::cuda
