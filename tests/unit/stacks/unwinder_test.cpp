// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/unwinder.h"

#include "collector/stacks/fde_lookup.h"
#include "collector/stacks/leading_frames.h"
#include "collector/stacks/module_table.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace {

using gd::stacks::captureStack;
using gd::stacks::kMaxFrames;

struct Frames {
    std::vector<std::uint64_t> ours;
    std::vector<std::uint64_t> reference; ///< glibc's backtrace() from the same function
};

__attribute__((noinline)) Frames takeBoth() {
    Frames frames;
    frames.ours.resize(kMaxFrames);
    frames.ours.resize(captureStack(frames.ours.data(), kMaxFrames));
    void* addresses[256];
    const int count = backtrace(addresses, 256);
    for (int i = 0; i < count; ++i) {
        frames.reference.push_back(reinterpret_cast<std::uint64_t>(addresses[i]));
    }
    // Sanitizers wrap backtrace() and show the wrapper's frame first.
    while (frames.reference.size() > 1 && frames.ours.size() > 1 && frames.reference[1] != frames.ours[1]
        && frames.reference.size() + 2 > static_cast<std::size_t>(count)) {
        frames.reference.erase(frames.reference.begin());
    }
    return frames;
}

// The innermost frame differs (two call sites in takeBoth), the outermost ones are cut at 64.
void expectSameCallers(const Frames& frames) {
    ASSERT_GE(frames.ours.size(), 2U);
    const std::size_t count = std::min(frames.ours.size(), frames.reference.size());
    for (std::size_t i = 1; i < count; ++i) {
        EXPECT_EQ(frames.ours[i], frames.reference[i]) << "frame " << i;
    }
    if (frames.ours.size() < kMaxFrames) {
        // backtrace() stops at the same outermost function, or one earlier where it has no return address.
        EXPECT_LE(frames.reference.size() - frames.ours.size(), 1U);
    }
}

__attribute__((noinline)) std::size_t recurse(int depth, Frames& out) {
    if (depth == 0) {
        out = takeBoth();
        return out.ours.size();
    }
    const std::size_t count = recurse(depth - 1, out);
    asm volatile("" ::: "memory"); // no tail call
    return count;
}

std::size_t takeInto(void* data) {
    *static_cast<Frames*>(data) = takeBoth();
    return 1;
}

using ChainCall = std::size_t (*)(std::size_t (*)(void*), void*, int);

struct ChainLibrary {
    void* handle = dlopen(GD_CHAIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ChainCall call = handle != nullptr ? reinterpret_cast<ChainCall>(dlsym(handle, "gdChainCall")) : nullptr;
    ~ChainLibrary() {
        if (handle != nullptr) {
            dlclose(handle);
        }
    }
};

bool holds(const std::vector<std::uint64_t>& frames, const void* function, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uint64_t>(function);
    return std::any_of(frames.begin(), frames.end(),
        [&](std::uint64_t address) { return address > from && address <= from + bytes; });
}

TEST(Unwinder, FollowsNestedCallsLikeBacktrace) {
    Frames frames;
    recurse(10, frames);
    expectSameCallers(frames);
    EXPECT_TRUE(holds(frames.ours, reinterpret_cast<const void*>(&recurse), 400));
}

TEST(Unwinder, StopsAtTheRequestedDepth) {
    Frames frames;
    recurse(200, frames);
    EXPECT_EQ(frames.ours.size(), kMaxFrames);
    expectSameCallers(frames);
    std::uint64_t two[3] = {0, 0, 77};
    EXPECT_EQ(captureStack(two, 2), 2U);
    EXPECT_EQ(two[2], 77U);
}

TEST(Unwinder, CrossesLibrariesWithoutFramePointers) {
    ChainLibrary library;
    ASSERT_NE(library.call, nullptr) << dlerror();
    Frames frames;
    library.call(takeInto, &frames, 5);
    expectSameCallers(frames);
    const auto inLibrary = std::count_if(frames.ours.begin(), frames.ours.end(), [&](std::uint64_t address) {
        Dl_info info{};
        return dladdr(reinterpret_cast<void*>(address), &info) != 0
            && std::string(info.dli_fname).find("chain") != std::string::npos;
    });
    EXPECT_EQ(inLibrary, 6);
}

Frames* g_sortFrames = nullptr;
int compareAndTake(const void* a, const void* b) {
    if (g_sortFrames->ours.empty()) {
        *g_sortFrames = takeBoth();
    }
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST(Unwinder, CrossesTheCLibrary) {
    Frames frames;
    g_sortFrames = &frames;
    int values[] = {3, 1, 2};
    std::qsort(values, 3, sizeof(int), compareAndTake);
    expectSameCallers(frames);
    EXPECT_TRUE(std::any_of(frames.ours.begin(), frames.ours.end(), [](std::uint64_t address) {
        Dl_info info{};
        return dladdr(reinterpret_cast<void*>(address), &info) != 0
            && std::string(info.dli_fname).find("/libc.") != std::string::npos;
    })) << "qsort is between";
}

TEST(Unwinder, EndsAtAThreadsStart) {
    Frames frames;
    std::thread([&] { recurse(3, frames); }).join();
    expectSameCallers(frames);
    EXPECT_LT(frames.ours.size(), 20U);
}

TEST(Unwinder, SurvivesAnAlignedFrame) {
    struct Aligned {
        __attribute__((noinline)) static void run(Frames& out, std::size_t extra) {
            alignas(64) volatile char buffer[64];
            auto* dynamic = static_cast<volatile char*>(__builtin_alloca(extra));
            buffer[0] = 1;
            dynamic[0] = buffer[0];
            out = takeBoth();
            dynamic[1] = buffer[1];
        }
    };
    Frames frames;
    Aligned::run(frames, 100);
    expectSameCallers(frames);
    EXPECT_TRUE(holds(frames.ours, reinterpret_cast<const void*>(&Aligned::run), 400));
}

// A handler must not allocate, so it writes to arrays.
std::uint64_t g_handlerFrames[kMaxFrames];
void* g_handlerReference[kMaxFrames * 2];
std::size_t g_handlerCount = 0;
int g_handlerReferenceCount = 0;
void takeInHandler(int) {
    g_handlerCount = captureStack(g_handlerFrames, kMaxFrames);
    g_handlerReferenceCount = backtrace(g_handlerReference, static_cast<int>(std::size(g_handlerReference)));
}

TEST(Unwinder, CrossesASignalHandler) {
    struct sigaction action { };
    struct sigaction previous { };
    action.sa_handler = takeInHandler;
    sigaction(SIGUSR1, &action, &previous);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &previous, nullptr);
    ASSERT_GT(g_handlerCount, 6U);
    // From the frame behind the handler on; the sanitizers' own handler may stand between.
    const auto* begin = g_handlerReference;
    const auto* end = g_handlerReference + g_handlerReferenceCount;
    const auto* same = std::find(begin, end, reinterpret_cast<void*>(g_handlerFrames[2]));
    ASSERT_NE(same, end);
    for (std::size_t i = 2; i < g_handlerCount && same != end; ++i, ++same) {
        EXPECT_EQ(g_handlerFrames[i], reinterpret_cast<std::uint64_t>(*same)) << "frame " << i;
    }
}

ucontext_t g_mainContext;
ucontext_t g_fiberContext;
Frames* g_fiberFrames = nullptr;
void fiberEntry() {
    recurse(3, *g_fiberFrames);
}

TEST(Unwinder, WorksOnAStackThatIsNotTheThreads) {
    Frames frames;
    g_fiberFrames = &frames;
    std::vector<char> stack(256 * 1024);
    getcontext(&g_fiberContext);
    g_fiberContext.uc_stack.ss_sp = stack.data();
    g_fiberContext.uc_stack.ss_size = stack.size();
    g_fiberContext.uc_link = &g_mainContext;
    makecontext(&g_fiberContext, fiberEntry, 0);
    swapcontext(&g_mainContext, &g_fiberContext);
    ASSERT_GE(frames.ours.size(), 5U);
    for (std::size_t i = 1; i < 5; ++i) {
        EXPECT_EQ(frames.ours[i], frames.reference[i]);
    }
}

// A call made by code that has no unwind table, as a JIT compiler writes it: with a frame pointer the walk
// goes on, without one it ends; it never faults.
std::vector<std::uint64_t> throughJit(bool withFramePointer, Frames& frames) {
    const unsigned char framed[] = {0x55, // push rbp
        0x48, 0x89, 0xe5, // mov rbp, rsp
        0x48, 0x89, 0xf8, // mov rax, rdi
        0x48, 0x89, 0xf7, // mov rdi, rsi
        0xff, 0xd0, // call rax
        0x5d, 0xc3}; // pop rbp; ret
    const unsigned char bare[] = {0x55, // push rbp
        0x48, 0xc7, 0xc5, 0x10, 0x00, 0x00, 0x00, // mov rbp, 16
        0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, withFramePointer ? framed : bare, withFramePointer ? sizeof framed : sizeof bare);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    struct Callback {
        static void run(void* data) {
            auto& out = static_cast<Frames*>(data)->ours;
            out.resize(kMaxFrames);
            out.resize(captureStack(out.data(), kMaxFrames));
        }
    };
    reinterpret_cast<void (*)(void (*)(void*), void*)>(page)(&Callback::run, &frames);
    munmap(page, 4096);
    return frames.ours;
}

TEST(Unwinder, CrossesCodeWithoutTablesByFramePointer) {
    Frames frames;
    const auto through = throughJit(true, frames);
    EXPECT_TRUE(holds(through, reinterpret_cast<const void*>(&throughJit), 2000));
}

TEST(Unwinder, EndsAtCodeThatCannotBeFollowed) {
    Frames frames;
    const auto through = throughJit(false, frames);
    EXPECT_GE(through.size(), 1U);
    EXPECT_LE(through.size(), 3U);
}

TEST(Unwinder, KeepsErrno) {
    errno = EDOM;
    std::uint64_t frames[8];
    captureStack(frames, 8);
    EXPECT_EQ(errno, EDOM);
}

TEST(Unwinder, WorksFromASnapshotOfModules) {
    gd::stacks::ModuleTable table;
    table.poll();
    gd::stacks::useSnapshotOnly(true);
    gd::stacks::forgetUnwindRules();
    Frames frames;
    recurse(5, frames);
    gd::stacks::useSnapshotOnly(false);
    gd::stacks::forgetUnwindRules();
    expectSameCallers(frames);
    EXPECT_TRUE(holds(frames.ours, reinterpret_cast<const void*>(&recurse), 400));
}

bool sameCallers(const Frames& frames, std::size_t least) {
    return frames.ours.size() >= least && frames.reference.size() >= least
        && std::equal(frames.ours.begin() + 1, frames.ours.begin() + static_cast<long>(least),
            frames.reference.begin() + 1);
}

TEST(Unwinder, StaysRightWhileModulesComeAndGo) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer does not see the loader's own lock and reports its dlclose";
#endif
    std::atomic<bool> stop{false};
    std::thread loader([&] {
        gd::stacks::ModuleTable table;
        while (!stop.load()) {
            ChainLibrary library;
            table.poll();
        }
    });
    std::vector<std::thread> takers;
    std::atomic<std::size_t> failures{0};
    for (int t = 0; t < 2; ++t) {
        takers.emplace_back([&] {
            for (int i = 0; i < 3000; ++i) {
                Frames frames;
                recurse(6, frames);
                failures += sameCallers(frames, 8) ? 0 : 1;
                ChainLibrary library;
                Frames through;
                library.call(takeInto, &through, 3);
                failures += sameCallers(through, 7) ? 0 : 1;
            }
        });
    }
    for (auto& taker : takers) {
        taker.join();
    }
    stop = true;
    loader.join();
    EXPECT_EQ(failures.load(), 0U);
}

TEST(LeadingFrames, OnlyTheInnermostOnesOfAHiddenModuleGo) {
    ChainLibrary library;
    const auto address = reinterpret_cast<std::uint64_t>(library.call);
    const auto own = reinterpret_cast<std::uint64_t>(&takeBoth);
    std::uint64_t frames[] = {address + 8, address + 20, own + 4, address + 8, own + 4};
    EXPECT_EQ(gd::stacks::dropHiddenFrames(frames, 5), 5U);
    gd::stacks::hideLeadingFramesOf(reinterpret_cast<const void*>(&takeBoth)); // the executable: refused
    gd::stacks::hideLeadingFramesOf(reinterpret_cast<const void*>(library.call));
    EXPECT_EQ(gd::stacks::dropHiddenFrames(frames, 5), 3U);
    EXPECT_EQ(frames[0], own + 4);
    EXPECT_EQ(frames[1], address + 8);
    EXPECT_EQ(gd::stacks::dropHiddenFrames(frames, 0), 0U);
}

// Processor time of this thread.
std::int64_t usedNs() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

// The shortest of several short rounds, taken in turn: whatever else the machine does meets some of each.
TEST(Unwinder, CostsLittleAFrame) {
    std::uint64_t addresses[kMaxFrames];
    void* reference[kMaxFrames];
    constexpr int kRounds = 40;
    constexpr int kWalks = 500;
    std::size_t taken = 0;
    std::int64_t ours = INT64_MAX;
    std::int64_t theirs = INT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
        const std::int64_t start = usedNs();
        for (int i = 0; i < kWalks; ++i) {
            taken += captureStack(addresses, kMaxFrames);
        }
        const std::int64_t between = usedNs();
        for (int i = 0; i < kWalks; ++i) {
            backtrace(reference, static_cast<int>(kMaxFrames));
        }
        ours = std::min(ours, between - start);
        theirs = std::min(theirs, usedNs() - between);
    }
    const double frames = static_cast<double>(taken) / kRounds;
    RecordProperty("ns_per_frame", static_cast<int>(static_cast<double>(ours) / frames));
    std::printf("captureStack %.1f ns a frame, backtrace %.1f ns a frame\n",
        static_cast<double>(ours) / frames, static_cast<double>(theirs) / frames);
    EXPECT_LT(ours, theirs * 2);
}

} // namespace
