// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/fork_mark.h"

#include "collector/session/mapped_array.h"

#include <pthread.h>

namespace gd::cupti {

namespace {

unsigned g_word = 0; // where there is no page that can be wiped

} // namespace

ForkMark::ForkMark() noexcept
    : m_word(&g_word) {
    constexpr std::size_t kBytes = 4096;
    auto* page = static_cast<unsigned*>(session::mapMemory(kBytes));
    if (page != nullptr && madvise(page, kBytes, MADV_WIPEONFORK) == 0) {
        *page = 1;
        m_word = page;
        return;
    }
    // Kernels and sandboxes without it: fork() itself runs a handler in the child; raw clone() goes
    // unnoticed.
    g_word = 1;
    pthread_atfork(nullptr, nullptr, [] { g_word = 0; });
}

} // namespace gd::cupti
