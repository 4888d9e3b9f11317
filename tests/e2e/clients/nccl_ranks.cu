// SPDX-License-Identifier: Apache-2.0
// Two NCCL ranks, one process each, on one GPU; a functional set-up, never a fast one.
//
//   nccl_ranks traffic both|plugin|nvtx   captured calls of every kind on two communicators, two executables
//   of
//                                         one graph, eager calls between replays. Prints EXPECT SQL => VALUE:
//                                         what a trace recorded through that source must say of bytes, by
//                                         this program's own arithmetic.
//   nccl_ranks late                       rank 1 enqueues its part of an eager exchange 3 ms late in every
//   step nccl_ranks destroyedFirst             the communicator goes before the executable that holds its
//   call; a
//                                         second thread ends the process after some seconds
//
// Prints the number of nodes of each graph: it must not depend on who looks on. Status 0: all sums were
// right.
#include "watchdog.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUDA(call)                                                                                           \
    do {                                                                                                     \
        if (const cudaError_t result = (call); result != cudaSuccess) {                                      \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)
#define NCCL(call)                                                                                           \
    do {                                                                                                     \
        if (const ncclResult_t result = (call); result != ncclSuccess) {                                     \
            std::fprintf(stderr, "%s: %s\n", #call, ncclGetErrorString(result));                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kReduce = 50'000; // float32
constexpr std::size_t kMessage = 3'001; // bfloat16: an odd number of bytes a message
constexpr std::size_t kPart = 700; // float64
constexpr std::size_t kExchange = 96; // int32
constexpr std::size_t kEager = 17; // float32
constexpr int kReplaysFirst = 6;
constexpr int kReplaysSecond = 3;
constexpr int kReplaysSmall = 5;

/// What this rank's own calls move: bytes by communicator ("world", "split") and kind.
using Bytes = std::map<std::string, std::map<std::string, std::size_t>>;

struct Rank {
    int rank = 0;
    ncclComm_t world = nullptr;
    ncclComm_t split = nullptr; ///< the same ranks the other way round
    cudaStream_t stream = nullptr;
    cudaStream_t other = nullptr;
    void* send = nullptr;
    void* receive = nullptr;
    float* sum = nullptr;
};

void open(Rank& rank, int readEnd, int writeEnd) {
    CUDA(cudaSetDevice(0));
    ncclUniqueId id{};
    if (rank.rank == 0) {
        NCCL(ncclGetUniqueId(&id));
        if (write(writeEnd, &id, sizeof id) != sizeof id) {
            std::exit(1);
        }
    } else if (read(readEnd, &id, sizeof id) != sizeof id) {
        std::exit(1);
    }
    NCCL(ncclCommInitRank(&rank.world, kRanks, id, rank.rank));
    NCCL(ncclCommSplit(rank.world, 0, -rank.rank, &rank.split, nullptr));
    CUDA(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&rank.other, cudaStreamNonBlocking));
    constexpr std::size_t kBytes = 1 << 20;
    CUDA(cudaMalloc(&rank.send, kBytes));
    CUDA(cudaMalloc(&rank.receive, kBytes));
    CUDA(cudaMalloc(reinterpret_cast<void**>(&rank.sum), kReduce * sizeof(float)));
    CUDA(cudaMemset(rank.send, 0, kBytes));
    const std::vector<float> ones(kReduce, 1.0F);
    CUDA(cudaMemcpy(rank.sum, ones.data(), kReduce * sizeof(float), cudaMemcpyHostToDevice));
}

/// Everything the first graph holds. With `bytes` nullptr it is only enqueued.
void work(const Rank& rank, Bytes* bytes) {
    Bytes ignored;
    Bytes& moved = bytes != nullptr ? *bytes : ignored;
    const int peer = 1 - rank.rank;
    const int splitRank = 1 - rank.rank;
    NCCL(ncclAllReduce(rank.sum, rank.sum, kReduce, ncclFloat32, ncclSum, rank.world, rank.stream));
    moved["world"]["all_reduce"] += kReduce * 4;

    NCCL(ncclGroupStart());
    NCCL(ncclSend(rank.send, kMessage, ncclBfloat16, peer, rank.world, rank.stream));
    NCCL(ncclRecv(rank.receive, kMessage, ncclBfloat16, peer, rank.world, rank.stream));
    NCCL(ncclGroupEnd());
    moved["world"]["send"] += kMessage * 2;
    moved["world"]["recv"] += kMessage * 2;

    NCCL(ncclGroupStart()); // two communicators and a group inside a group
    NCCL(ncclAllReduce(rank.send, rank.receive, kPart, ncclFloat64, ncclMax, rank.split, rank.stream));
    NCCL(ncclGroupStart());
    NCCL(ncclAllGather(rank.send, rank.receive, kPart, ncclFloat64, rank.world, rank.stream));
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupEnd());
    moved["split"]["all_reduce"] += kPart * 8;
    moved["world"]["all_gather"] += kPart * 8;

    NCCL(ncclReduceScatter(rank.send, rank.receive, kPart, ncclFloat64, ncclSum, rank.split, rank.stream));
    NCCL(ncclBroadcast(rank.send, rank.receive, kPart, ncclInt8, 1, rank.split, rank.stream));
    NCCL(ncclReduce(rank.send, rank.receive, kPart, ncclFloat16, ncclSum, 0, rank.split, rank.stream));
    moved["split"]["reduce_scatter"] += kPart * 8;
    moved["split"]["broadcast"] += kPart;
    moved["split"]["reduce"] += kPart * 2;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    NCCL(ncclAlltoAll(rank.send, rank.receive, kExchange, ncclInt32, rank.world, rank.stream));
    moved["world"]["all_to_all"] += kExchange * 4 * kRanks;
    NCCL(ncclGather(rank.send, rank.receive, kExchange, ncclInt32, 1, rank.split, rank.stream));
    NCCL(ncclScatter(rank.send, rank.receive, kExchange, ncclInt32, 0, rank.split, rank.stream));
    moved["split"]["send"] += kExchange * 4; // to the gather's root
    moved["split"]["recv"] += kExchange * 4; // from the scatter's root
    if (splitRank == 1) {
        moved["split"]["recv"] += kExchange * 4 * kRanks;
    }
    if (splitRank == 0) {
        moved["split"]["send"] += kExchange * 4 * kRanks;
    }
#endif
    (void)splitRank;
}

template <class Work> cudaGraph_t captured(const Rank& rank, const char* name, Work&& enqueue) {
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal));
    enqueue();
    CUDA(cudaStreamEndCapture(rank.stream, &graph));
    std::size_t nodes = 0;
    CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    std::printf("rank %d: %s has %zu nodes\n", rank.rank, name, nodes);
    return graph;
}

std::string lineOf(const std::map<std::string, std::size_t>& kinds) {
    std::string line;
    for (const auto& [kind, bytes] : kinds) {
        line += (line.empty() ? "" : " ") + kind + "=" + std::to_string(bytes);
    }
    return line;
}

/// The profiler plugin alone sees an all-to-all as the sends and receives it is made of.
Bytes throughSource(Bytes bytes, const std::string& source) {
    auto& world = bytes["world"];
    if (const auto exchange = world.find("all_to_all"); source == "plugin" && exchange != world.end()) {
        world["send"] += exchange->second;
        world["recv"] += exchange->second;
        world.erase(exchange);
    }
    return bytes;
}

void expect(int rank, const std::string& query, const std::string& value) {
    std::string sql = query;
    for (std::size_t at = 0; (at = sql.find("@rank", at)) != std::string::npos;) {
        sql.replace(at, 5, std::to_string(rank));
    }
    std::printf("EXPECT %s => %s\n", sql.c_str(), value.c_str());
}

/// A rank's first communicator is the world, its second the split.
std::string commOf(const std::string& name) {
    return "(SELECT c.comm_hash FROM nccl_comm AS c WHERE c.process_id = p.process_id ORDER BY c.created_ns "
           "LIMIT 1 "
           "OFFSET "
        + std::string(name == "world" ? "0" : "1") + ")";
}

void expectKinds(int rank, const std::string& where, const std::string& comm, const std::string& value) {
    expect(rank,
        "SELECT coalesce(group_concat(kind || '=' || b, ' '), '') FROM (SELECT o.kind, sum(o.message_bytes) "
        "AS b FROM "
        "nccl_op AS o JOIN process AS p USING (process_id) WHERE p.rank = @rank AND o.comm_hash = "
            + commOf(comm) + " AND " + where + " GROUP BY o.kind ORDER BY o.kind)",
        value);
}

void expectAll(
    const Rank& rank, const Bytes& first, const Bytes& small, const Bytes& eager, const std::string& source) {
    const Bytes graph = throughSource(first, source);
    for (const char* comm : {"world", "split"}) {
        expectKinds(rank.rank, "o.capture_id = 1", comm,
            lineOf(graph.count(comm) ? graph.at(comm) : Bytes::mapped_type()));
        expectKinds(rank.rank, "o.capture_id = 2", comm,
            lineOf(small.count(comm) ? small.at(comm) : Bytes::mapped_type()));
        expectKinds(rank.rank, "o.capture_id IS NULL", comm,
            lineOf(eager.count(comm) ? eager.at(comm) : Bytes::mapped_type()));
    }
    std::map<std::string, std::size_t> sums;
    for (const auto& [comm, kinds] : graph) {
        for (const auto& [kind, bytes] : kinds) {
            sums[comm] += bytes;
        }
    }
    for (const char* comm : {"world", "split"}) {
        expect(rank.rank,
            "SELECT group_concat(message_bytes || 'x' || replays, ' ') FROM (SELECT * FROM nccl_replay AS r "
            "JOIN process AS "
            "p USING (process_id) WHERE p.rank = @rank AND r.comm_hash = "
                + commOf(comm) + " ORDER BY r.exec_id)",
            std::to_string(sums[comm]) + "x" + std::to_string(kReplaysFirst) + " "
                + std::to_string(sums[comm]) + "x" + std::to_string(kReplaysSecond)
                + (std::strcmp(comm, "split") == 0 ? " " + std::to_string(small.at("split").at("all_reduce"))
                            + "x" + std::to_string(kReplaysSmall)
                                                   : ""));
    }
    expect(rank.rank,
        "SELECT group_concat(nranks || '/' || c.rank, ' ') FROM (SELECT * FROM nccl_comm ORDER BY "
        "created_ns) AS c JOIN "
        "process AS p USING (process_id) WHERE p.rank = @rank",
        std::to_string(kRanks) + "/" + std::to_string(rank.rank) + " " + std::to_string(kRanks) + "/"
            + std::to_string(1 - rank.rank));
    if (source != "plugin") {
        expect(rank.rank,
            "SELECT group_concat(DISTINCT o.peer) FROM nccl_op AS o JOIN process AS p USING (process_id) "
            "WHERE p.rank = "
            "@rank AND o.kind = 'send' AND o.comm_hash = "
                + commOf("world"),
            std::to_string(1 - rank.rank));
    }
}

int traffic(Rank& rank, const std::string& source) {
    Bytes first;
    Bytes small;
    Bytes eager;
    work(rank, &eager); // connects all ranks, as a warm-up does
    CUDA(cudaStreamSynchronize(rank.stream));
    const cudaGraph_t graph = captured(rank, "the first graph", [&] { work(rank, &first); });
    cudaGraphExec_t one = nullptr;
    cudaGraphExec_t two = nullptr;
    CUDA(cudaGraphInstantiate(&one, graph, 0));
    CUDA(cudaGraphInstantiate(&two, graph, 0));
    const cudaGraph_t smallGraph = captured(rank, "the second graph", [&] {
        NCCL(ncclAllReduce(rank.send, rank.receive, kPart, ncclFloat16, ncclSum, rank.split, rank.stream));
        small["split"]["all_reduce"] += kPart * 2;
    });
    cudaGraphExec_t three = nullptr;
    CUDA(cudaGraphInstantiate(&three, smallGraph, 0));

    for (int i = 0; i < kReplaysFirst; ++i) {
        CUDA(cudaGraphLaunch(one, rank.stream));
        if (i < kReplaysSecond) {
            CUDA(cudaGraphLaunch(two, rank.stream));
        }
        // Eager calls between replays, on another stream.
        NCCL(ncclAllReduce(rank.send, rank.receive, kEager, ncclFloat32, ncclSum, rank.world, rank.other));
        eager["world"]["all_reduce"] += kEager * 4;
        if (i < kReplaysSmall) {
            CUDA(cudaGraphLaunch(three, rank.stream));
        }
        CUDA(cudaDeviceSynchronize());
    }
    float sum = 0;
    CUDA(cudaMemcpy(&sum, rank.sum + kReduce - 1, sizeof sum, cudaMemcpyDeviceToHost));
    const float right = static_cast<float>(1 << (1 + kReplaysFirst + kReplaysSecond));
    expectAll(rank, first, small, throughSource(eager, source), source);
    std::fflush(stdout);

    for (const cudaGraphExec_t exec : {one, two, three}) {
        CUDA(cudaGraphExecDestroy(exec));
    }
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphDestroy(smallGraph));
    CUDA(cudaDeviceSynchronize());
    NCCL(ncclCommDestroy(rank.split));
    NCCL(ncclCommDestroy(rank.world));
    return sum == right ? 0 : 1;
}

__global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) { }
}

int late(Rank& rank) {
    const auto exchange = [&] {
        NCCL(ncclAllReduce(rank.send, rank.receive, kEager, ncclFloat32, ncclSum, rank.world, rank.stream));
    };
    exchange();
    const cudaGraph_t graph = captured(rank, "the graph", [&] { spin<<<1, 1, 0, rank.stream>>>(1'000'000); });
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaDeviceSynchronize());
    for (int step = 0; step < 40; ++step) {
        CUDA(cudaGraphLaunch(exec, rank.stream));
        if (rank.rank == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }
        exchange();
        CUDA(cudaGraphLaunch(exec, rank.stream));
        CUDA(cudaStreamSynchronize(rank.stream));
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    NCCL(ncclCommDestroy(rank.split));
    NCCL(ncclCommDestroy(rank.world));
    return 0;
}

int destroyedFirst(Rank& rank) {
    const auto reduce = [&] {
        NCCL(ncclAllReduce(rank.sum, rank.sum, kReduce, ncclFloat32, ncclSum, rank.world, rank.stream));
    };
    reduce();
    CUDA(cudaStreamSynchronize(rank.stream));
    const cudaGraph_t graph = captured(rank, "the graph", reduce);
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, rank.stream));
    CUDA(cudaStreamSynchronize(rank.stream));
    std::printf("rank %d: destroys the communicator before the executable\n", rank.rank);
    std::fflush(stdout);
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::seconds(4));
        _exit(0);
    }).detach();
    NCCL(ncclCommDestroy(rank.world)); // waits for the executable, which nobody destroys
    std::printf("the destroy returned\n");
    std::fflush(stdout);
    _exit(0);
}

int run(int rank, int readEnd, int writeEnd, const std::string& mode, const std::string& source) {
    alarm(kClientSeconds);
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    setenv("WORLD_SIZE", std::to_string(kRanks).c_str(), 1);
    setenv("NCCL_HOSTID", ("rank" + std::to_string(rank)).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_NET", "Socket", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
    Rank self;
    self.rank = rank;
    open(self, readEnd, writeEnd);
    return mode == "late"          ? late(self)
        : mode == "destroyedFirst" ? destroyedFirst(self)
                                   : traffic(self, source);
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const std::string source = argc > 2 ? argv[2] : "both";
    if (mode != "traffic" && mode != "late" && mode != "destroyedFirst") {
        std::fprintf(stderr, "usage: nccl_ranks traffic both|plugin|nvtx | late | destroyedFirst\n");
        return 2;
    }
    int ends[2];
    int outputs[kRanks][2];
    if (pipe(ends) != 0) {
        return 1;
    }
    // No CUDA before the fork. What the ranks print is shown in their order.
    pid_t children[kRanks];
    for (int rank = 0; rank < kRanks; ++rank) {
        if (pipe(outputs[rank]) != 0 || (children[rank] = fork()) < 0) {
            return 1;
        }
        if (children[rank] == 0) {
            dup2(outputs[rank][1], STDOUT_FILENO);
            std::exit(run(rank, ends[0], ends[1], mode, source));
        }
        close(outputs[rank][1]);
    }
    int worst = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
        char buffer[4096];
        for (ssize_t got = 0; (got = read(outputs[rank][0], buffer, sizeof buffer)) > 0;) {
            std::fwrite(buffer, 1, static_cast<std::size_t>(got), stdout);
        }
    }
    for (const pid_t child : children) {
        int status = -1;
        waitpid(child, &status, 0);
        worst = status != 0 ? 1 : worst;
    }
    return worst;
}
