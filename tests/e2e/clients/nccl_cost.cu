// SPDX-License-Identifier: Apache-2.0
// What recording costs a replay of a captured NCCL graph. Usage: nccl_cost BYTES LEVEL RANKS [ROUNDS]
// A process a rank, each on the next device; a graph of 8 all-reduces of BYTES and an exchange with the
// neighbours. In each round recording off, then at LEVEL, through the job's own control page, for all ranks.
// Rank 0 prints on standard error `cost LEVEL waited RATIO MIN MAX off_us N on_us N`; LEVEL `bare`: without a
// control page both halves are the same. NCCL is loaded at run time, from GD_NCCL or as libnccl.so.2, so that
// this compiles where NCCL is not installed. Status 0: every sum was right.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "control_page.h"
#include "watchdog.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kMaxRanks = 8;
constexpr int kFloat32 = 7; // of nccl.h, unchanged since 2.0
constexpr int kSum = 0;
constexpr int kReplays = 200;
constexpr std::chrono::seconds kMostWait{60}; // for the other ranks

const std::map<std::string, unsigned> kLevels{
    {"bare", 0}, {"off", 0}, {"light", 2}, {"standard", 3}, {"full", 4}};

struct UniqueId {
    char internal[128];
};

struct Nccl {
    int (*getUniqueId)(UniqueId*) = nullptr;
    int (*initRank)(void**, int, UniqueId, int) = nullptr;
    int (*allReduce)(const void*, void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
    int (*send)(const void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
    int (*receive)(void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
    int (*groupStart)() = nullptr;
    int (*groupEnd)() = nullptr;
    int (*destroy)(void*) = nullptr;
};

void check(int result, const char* what) {
    if (result != 0) {
        std::fprintf(stderr, "%s: %d\n", what, result);
        std::exit(1);
    }
}

Nccl load() {
    const char* named = std::getenv("GD_NCCL");
    void* library = named != nullptr ? dlopen(named, RTLD_NOW) : nullptr;
    if (library == nullptr) {
        library = dlopen("libnccl.so.2", RTLD_NOW);
    }
    if (library == nullptr) {
        std::fprintf(stderr, "%s; GD_NCCL may name it\n", dlerror());
        std::exit(3);
    }
    Nccl nccl;
    const auto find = [&](auto& function, const char* name) {
        *reinterpret_cast<void**>(&function) = dlsym(library, name);
        check(function == nullptr ? 1 : 0, name);
    };
    find(nccl.getUniqueId, "ncclGetUniqueId");
    find(nccl.initRank, "ncclCommInitRank");
    find(nccl.allReduce, "ncclAllReduce");
    find(nccl.send, "ncclSend");
    find(nccl.receive, "ncclRecv");
    find(nccl.groupStart, "ncclGroupStart");
    find(nccl.groupEnd, "ncclGroupEnd");
    find(nccl.destroy, "ncclCommDestroy");
    return nccl;
}

/// What the ranks share.
struct Shared {
    UniqueId id;
    std::atomic<int> hasId;
    std::atomic<int> arrived;
    std::atomic<int> round;
    std::atomic<int> failed; ///< 1: a rank has ended badly
};

// Until the ranks have got to a point; ends this one when one of them never can.
template <class Reached> void await(const Shared& shared, const char* what, const Reached& reached) {
    const auto deadline = std::chrono::steady_clock::now() + kMostWait;
    while (!reached()) {
        if (shared.failed.load() != 0 || std::chrono::steady_clock::now() > deadline) {
            std::fprintf(stderr, "%s: another rank %s\n", what,
                shared.failed.load() != 0 ? "has ended" : "does not come");
            std::_Exit(1);
        }
        std::this_thread::yield();
    }
}

void barrier(Shared& shared, int ranks) {
    const int round = shared.round.load();
    if (shared.arrived.fetch_add(1) + 1 == ranks) {
        shared.arrived.store(0);
        shared.round.fetch_add(1);
        return;
    }
    await(shared, "barrier", [&] { return shared.round.load() != round; });
}

double nowUs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Rank {
    int rank;
    int ranks;
    std::size_t bytes;
    std::string level;
    int rounds;
    Nccl nccl;
    void* comm = nullptr;
    cudaStream_t stream = nullptr;
    float* sums = nullptr; ///< zeros: they stay so, however often they are added up
    float* out = nullptr;
};

void enqueue(const Rank& my) {
    const std::size_t count = my.bytes / sizeof(float);
    for (int i = 0; i < 8; ++i) {
        check(my.nccl.allReduce(my.sums, my.sums, count, kFloat32, kSum, my.comm, my.stream), "allReduce");
    }
    check(my.nccl.groupStart(), "groupStart");
    check(my.nccl.send(my.sums, count, kFloat32, (my.rank + 1) % my.ranks, my.comm, my.stream), "send");
    check(my.nccl.receive(my.out, count, kFloat32, (my.rank + my.ranks - 1) % my.ranks, my.comm, my.stream),
        "receive");
    check(my.nccl.groupEnd(), "groupEnd");
}

void open(Rank& my, Shared& shared) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "count");
    check(cudaSetDevice(my.rank % devices), "device");
    if (devices < my.ranks) { // several ranks on one device: a functional set-up, never a fast one
        setenv("NCCL_HOSTID", ("rank" + std::to_string(my.rank)).c_str(), 1);
        setenv("NCCL_SOCKET_IFNAME", "lo", 1);
        setenv("NCCL_NET", "Socket", 1);
    }
    my.nccl = load();
    if (my.rank == 0) {
        check(my.nccl.getUniqueId(&shared.id), "getUniqueId");
        shared.hasId.store(1);
    }
    await(shared, "id", [&] { return shared.hasId.load() != 0; });
    check(my.nccl.initRank(&my.comm, my.ranks, shared.id, my.rank), "initRank");
    check(cudaStreamCreateWithFlags(&my.stream, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(reinterpret_cast<void**>(&my.sums), my.bytes), "malloc");
    check(cudaMalloc(reinterpret_cast<void**>(&my.out), my.bytes), "malloc");
    check(cudaMemset(my.sums, 0, my.bytes), "memset");
    check(cudaMemset(my.out, 1, my.bytes), "memset");
    check(cudaDeviceSynchronize(), "synchronize");
}

double measure(const Rank& my, Shared& shared, cudaGraphExec_t exec) {
    std::vector<double> waited;
    barrier(shared, my.ranks);
    for (int i = 0; i < kReplays + 20; ++i) {
        const double start = nowUs();
        check(cudaGraphLaunch(exec, my.stream), "launch");
        check(cudaStreamSynchronize(my.stream), "synchronize");
        if (i >= 20) {
            waited.push_back(nowUs() - start);
        }
    }
    barrier(shared, my.ranks);
    return median(waited);
}

void setLevel(const Rank& my, Shared& shared, ControlPage& page, unsigned level) {
    if (my.rank == 0) {
        page.setLevel(level);
        std::this_thread::sleep_for(std::chrono::milliseconds(150)); // the collectors look every 50 ms
    }
    barrier(shared, my.ranks);
}

void compare(const Rank& my, Shared& shared, cudaGraphExec_t exec) {
    ControlPage page;
    std::vector<double> ratios;
    std::vector<double> offs;
    std::vector<double> ons;
    measure(my, shared, exec);
    for (int round = 0; round < my.rounds; ++round) {
        setLevel(my, shared, page, 0);
        offs.push_back(measure(my, shared, exec));
        setLevel(my, shared, page, kLevels.at(my.level));
        ons.push_back(measure(my, shared, exec));
        ratios.push_back(ons.back() / offs.back());
    }
    if (my.rank == 0) {
        std::fprintf(stderr, "cost %s waited %.4f %.4f %.4f off_us %.1f on_us %.1f\n", my.level.c_str(),
            median(ratios), *std::min_element(ratios.begin(), ratios.end()),
            *std::max_element(ratios.begin(), ratios.end()), median(offs), median(ons));
    }
}

int run(Rank my, Shared& shared) {
    open(my, shared);
    enqueue(my); // connects the ranks
    check(cudaStreamSynchronize(my.stream), "synchronize");
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(my.stream, cudaStreamCaptureModeThreadLocal), "begin");
    enqueue(my);
    check(cudaStreamEndCapture(my.stream, &graph), "end");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    compare(my, shared, exec);
    float last = 1;
    check(cudaMemcpy(&last, my.out + my.bytes / sizeof(float) - 1, sizeof last, cudaMemcpyDeviceToHost),
        "copy");
    check(cudaGraphExecDestroy(exec), "destroy");
    check(cudaGraphDestroy(graph), "destroy");
    check(cudaDeviceSynchronize(), "synchronize");
    barrier(shared, my.ranks);
    check(my.nccl.destroy(my.comm), "destroy");
    return last == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const int ranks = argc > 3 ? std::atoi(argv[3]) : 0;
    const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    const std::string level = argc > 2 ? argv[2] : "";
    if (ranks < 2 || ranks > kMaxRanks || bytes < sizeof(float) || kLevels.count(level) == 0) {
        std::fprintf(stderr, "usage: nccl_cost BYTES LEVEL RANKS [ROUNDS]\n");
        return 2;
    }
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 1;
    }
    auto& shared = *static_cast<Shared*>(memory); // zeros: no id, nobody has arrived
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(kClientSeconds);
            setenv("RANK", std::to_string(rank).c_str(), 1);
            setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
            setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
            std::exit(run({rank, ranks, bytes, level, argc > 4 ? std::atoi(argv[4]) : 5}, shared));
        }
        if (child < 0) {
            shared.failed.store(1);
            break;
        }
        children.push_back(child);
    }
    int worst = static_cast<int>(children.size()) < ranks ? 1 : 0;
    for (std::size_t left = children.size(); left > 0; --left) {
        int status = 0;
        waitpid(-1, &status, 0);
        const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (ended != 0) { // those that ended well had passed the last barrier
            shared.failed.store(1);
        }
        worst = std::max(worst, ended);
    }
    std::puts(worst == 0 ? "all sums are right" : "a rank failed");
    return worst;
}
