// SPDX-License-Identifier: Apache-2.0
// What every program of this folder has at hand: an error check, an end after 40 s, and work with an exact
// result.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <unistd.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const cudaError_t status_ = (call);                                                                  \
        if (status_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

inline const unsigned armedWatchdog = alarm(40);

// `rounds` steps of a generator on each element.
static __device__ __forceinline__ unsigned scramble(unsigned x, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 13;
    }
    return x;
}

static inline unsigned scrambleOnHost(unsigned x, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 13;
    }
    return x;
}
