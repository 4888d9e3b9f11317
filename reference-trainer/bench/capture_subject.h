// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace gdt::bench {

/// What a conformance case drives: named objects of one fresh device. Streams b1..b4 are blocking, n1..n4
/// non-blocking, L is the legacy default stream; events e1..e4, graphs g1..g4, executables x1..x4, device
/// memory m1..m4 (m1 exists from the start), pinned memory h1..h4 (h1 exists from the start). Every call
/// returns a CUresult number; objects are addressed by index. Calls may come from two threads, one at a time.
class CaptureSubject {
public:
    static constexpr int kLegacy = 0; // streams: 0 legacy, 1..4 blocking, 5..8 non-blocking
    static constexpr int kStreams = 9;
    static constexpr int kObjects = 5; // of the other kinds, index 1..4
    static constexpr std::size_t kBytes = 4096; // of each piece of memory

    virtual ~CaptureSubject() = default;

    virtual int begin(int stream, int mode) = 0;
    virtual int end(int stream, int graph) = 0;
    virtual int captureStatus(int stream) = 0;
    virtual int exchangeMode(int mode) = 0;

    virtual int launch(int stream) = 0; ///< a kernel that adds 1 to the counter in m1
    virtual int launchOther(int stream) = 0; ///< another kernel, which adds 100
    virtual int launchScaled(int stream, int addend) = 0; ///< the first kernel with another scalar
    virtual int copyPinned(int stream) = 0;
    virtual int copyPageable(int stream) = 0;
    virtual int fill(int stream) = 0;
    virtual int hostFunction(int stream) = 0;
    virtual int hostFunctionCallingApi(int stream) = 0; ///< the function allocates; the code it gets is kept
    virtual int record(int event, int stream, bool external) = 0;
    virtual int wait(int stream, int event, bool external) = 0;

    virtual int synchronize(int stream) = 0;
    virtual int query(int stream) = 0;
    virtual int deviceSynchronize() = 0;
    virtual int eventSynchronize(int event) = 0;
    virtual int eventQuery(int event) = 0;
    virtual int elapsed(int first, int second) = 0;

    virtual int allocate(int memory) = 0;
    virtual int release(int memory) = 0;
    virtual int allocateHost(int memory) = 0;
    virtual int releaseHost(int memory) = 0;
    virtual int allocateAsync(int memory, int stream) = 0;
    virtual int releaseAsync(int memory, int stream) = 0;
    virtual int copySync() = 0; ///< pageable host memory to m1
    virtual int copyBackSync() = 0; ///< m1 to pageable host memory
    virtual int fillSync() = 0;
    virtual int memoryInfo() = 0;

    virtual int createStream(int stream) = 0;
    virtual int destroyStream(int stream) = 0;
    virtual int createEvent(int event) = 0;
    virtual int destroyEvent(int event) = 0;

    virtual int instantiate(int exec, int graph) = 0;
    virtual int replay(int exec, int stream) = 0;
    virtual int update(int exec, int graph) = 0;
    virtual int updateResult() = 0; ///< CUgraphExecUpdateResult of the last update
    virtual int destroyExec(int exec) = 0;
    virtual int destroyGraph(int graph) = 0;
    virtual int nodeCount(int graph) = 0;

    virtual int counter() = 0; ///< waits for the device and reads m1's counter
    virtual int hostFunctionResult() = 0; ///< what the host function's allocation returned, -1 before it ran
};

[[nodiscard]] std::unique_ptr<CaptureSubject> makeHostSubject();
/// The CUDA driver API, found at run time; null and a sentence in `why` when there is no usable GPU.
[[nodiscard]] std::unique_ptr<CaptureSubject> makeCudaSubject(std::string& why);

} // namespace gdt::bench
