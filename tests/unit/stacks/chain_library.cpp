// SPDX-License-Identifier: Apache-2.0
// Loaded with dlopen by the tests: calls back through code without frame pointers.
#include <cstddef>

extern "C" __attribute__((visibility("default"), noinline)) std::size_t gdChainCall(
    std::size_t (*callback)(void*), void* data, int depth) {
    volatile char padding[48] = {};
    padding[static_cast<std::size_t>(depth) % sizeof padding] = 1;
    const std::size_t result = depth > 0 ? gdChainCall(callback, data, depth - 1) : callback(data);
    return result + static_cast<std::size_t>(padding[0] & 2);
}
