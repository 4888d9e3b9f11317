// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gdt::kernels {

// Stands for a collective or message of ranks that do not exist: copies what this rank would keep or receive
// and ends `delayNs` after its begin, or later when the copies take longer. Nothing of it is communication.
struct ModelledTransfer {
    static constexpr const char* kName = "MODELLED_transfer";
    struct Args {
        const void* send; // null: nothing is copied
        void* receive; // `parts` blocks of `bytes`, each a copy of `send`; a block that is `send` stays
        std::int64_t bytes = 0, parts = 0;
        std::int64_t delayNs = 0;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
