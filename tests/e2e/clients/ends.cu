// SPDX-License-Identifier: Apache-2.0
// A job that starts processes of itself, each of which replays a graph and ends in its own way, and that
// forks children which never touch CUDA. Prints how each ended.
#include "watchdog.h"

#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

__global__ void increment(int* data) {
    data[threadIdx.x] += 1;
}

namespace {

void check(int result, const char* what) {
    if (result != 0) {
        std::fprintf(stderr, "%s: %d\n", what, result);
        std::exit(1);
    }
}

void CUDART_CB onHost(void* count) {
    ++*static_cast<int*>(count);
}

void replay(int times) {
    int* data = nullptr;
    static int calls = 0;
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaMalloc(&data, 4096), "malloc");
    check(cudaStreamCreate(&stream), "stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
    increment<<<1, 32, 0, stream>>>(data);
    check(cudaLaunchHostFunc(stream, onHost, &calls), "host function");
    check(cudaStreamEndCapture(stream, &graph), "end");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    for (int i = 0; i < times; ++i) {
        check(cudaGraphLaunch(exec, stream), "launch");
    }
    check(cudaStreamSynchronize(stream), "synchronize");
    std::printf("%d calls\n", calls);
    std::fflush(stdout);
}

// An exception that passes through frames with CUDA calls in them.
void unwound() {
    try {
        replay(5);
        throw std::runtime_error("on purpose");
    } catch (const std::exception& error) {
        std::printf("caught: %s\n", error.what());
    }
    replay(5);
}

int status(int wait) {
    return WIFSIGNALED(wait) ? 128 + WTERMSIG(wait) : WEXITSTATUS(wait);
}

void report(const char* how, pid_t child) {
    int wait = 0;
    waitpid(child, &wait, 0);
    std::printf("%s: %d\n", how, status(wait));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    if (how.empty()) {
        for (const char* one : {"return", "_exit", "exit", "abort", "kill", "unwound"}) {
            const pid_t child = fork();
            if (child == 0) {
                execl("/proc/self/exe", argv[0], one, nullptr);
                _exit(98);
            }
            report(one, child);
        }
        replay(10);
        const pid_t forked = fork(); // CUDA does not work in it, and nothing of ours may disturb it
        if (forked == 0) {
            _exit(4);
        }
        report("forked", forked);
        replay(10);
        return 0;
    }
    if (how == "unwound") {
        unwound();
    } else {
        replay(10);
    }
    if (how == "_exit") {
        _exit(3);
    } else if (how == "exit") {
        std::exit(6);
    } else if (how == "abort") {
        std::abort();
    } else if (how == "kill") {
        std::raise(SIGKILL);
    }
    return 0;
}
