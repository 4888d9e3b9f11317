// SPDX-License-Identifier: Apache-2.0
// The host runtime as conformance subject.
#include "capture_subject.h"

#include "runtime/stream.h"

#include <array>

namespace gdt::bench {

namespace {

using namespace gdt::runtime;

struct AddKernel {
    static constexpr const char* kName = "add";
    struct Args {
        int* counter = nullptr;
        int addend = 0;
    };
    static void host(const Args& a) { *a.counter += a.addend; }
};

struct AddOtherKernel {
    static constexpr const char* kName = "add_other";
    using Args = AddKernel::Args;
    static void host(const Args& a) { *a.counter += a.addend; }
};

int number(Status status) {
    return static_cast<int>(status);
}

class HostSubject final : public CaptureSubject {
public:
    HostSubject() {
        static_cast<void>(exchangeMode(0));
        static_cast<void>(allocate(1));
        static_cast<void>(allocateHost(1));
        static_cast<void>(m_subject.fill(m_device[1], 0, kBytes));
    }
    ~HostSubject() override {
        // A case may leave a capture open, which would keep the objects from being destroyed.
        for (int stream = 1; stream < kStreams; ++stream)
            static_cast<void>(destroyStream(stream));
    }

    int begin(int stream, int mode) override {
        return number(at(stream).beginCapture(static_cast<CaptureMode>(mode)));
    }
    int end(int stream, int graph) override {
        return number(at(stream).endCapture(m_graph.at(index(graph))));
    }
    int captureStatus(int stream) override {
        CaptureInfo info;
        const Status status = at(stream).captureInfo(&info);
        return ok(status) ? static_cast<int>(info.status) : number(status);
    }
    int exchangeMode(int mode) override {
        auto exchanged = static_cast<CaptureMode>(mode);
        return number(exchangeThreadCaptureMode(&exchanged));
    }

    int launch(int stream) override { return launchScaled(stream, 1); }
    int launchOther(int stream) override {
        return number(at(stream).launch<AddOtherKernel>({}, {static_cast<int*>(m_device[1]), 100}));
    }
    int launchScaled(int stream, int addend) override {
        return number(at(stream).launch<AddKernel>({}, {static_cast<int*>(m_device[1]), addend}));
    }
    int copyPinned(int stream) override {
        return number(at(stream).memcpyAsync(spare(), m_host[1], 64, CopyKind::HostToDevice));
    }
    int copyPageable(int stream) override {
        return number(at(stream).memcpyAsync(spare(), m_pageable.data(), 64, CopyKind::HostToDevice));
    }
    int fill(int stream) override { return number(at(stream).memsetAsync(spare(), 1, 64)); }
    int hostFunction(int stream) override {
        return number(at(stream).hostFunction([](void*) {}, nullptr));
    }
    int hostFunctionCallingApi(int stream) override {
        return number(at(stream).hostFunction(
            [](void* self) {
                auto& subject = *static_cast<HostSubject*>(self);
                void* memory = nullptr;
                subject.m_hostCode = number(subject.m_subject.allocate(&memory, kBytes));
            },
            this));
    }
    int record(int event, int stream, bool external) override {
        return number(at(stream).record(
            m_event.at(index(event)), external ? RecordFlags::External : RecordFlags::Default));
    }
    int wait(int stream, int event, bool external) override {
        return number(
            at(stream).wait(m_event.at(index(event)), external ? WaitFlags::External : WaitFlags::Default));
    }

    int synchronize(int stream) override { return number(at(stream).synchronize()); }
    int query(int stream) override { return number(at(stream).query()); }
    int deviceSynchronize() override { return number(m_subject.synchronize()); }
    int eventSynchronize(int event) override { return number(m_event.at(index(event)).synchronize()); }
    int eventQuery(int event) override { return number(m_event.at(index(event)).query()); }
    int elapsed(int first, int second) override {
        std::int64_t ns = 0;
        return number(Event::elapsedNs(m_event.at(index(first)), m_event.at(index(second)), &ns));
    }

    int allocate(int memory) override {
        return number(m_subject.allocate(&m_device.at(index(memory)), kBytes));
    }
    int release(int memory) override { return number(m_subject.release(m_device.at(index(memory)))); }
    int allocateHost(int memory) override {
        return number(m_subject.allocateHost(&m_host.at(index(memory)), kBytes));
    }
    int releaseHost(int memory) override { return number(m_subject.releaseHost(m_host.at(index(memory)))); }
    int allocateAsync(int memory, int stream) override {
        return number(at(stream).allocateAsync(&m_device.at(index(memory)), kBytes));
    }
    int releaseAsync(int memory, int stream) override {
        return number(at(stream).releaseAsync(m_device.at(index(memory))));
    }
    int copySync() override {
        return number(m_subject.copy(spare(), m_pageable.data(), 64, CopyKind::HostToDevice));
    }
    int copyBackSync() override {
        return number(m_subject.copy(m_pageable.data(), spare(), 64, CopyKind::DeviceToHost));
    }
    int fillSync() override { return number(m_subject.fill(spare(), 0, 64)); }
    int memoryInfo() override {
        std::size_t free = 0;
        std::size_t total = 0;
        return number(m_subject.memoryInfo(&free, &total));
    }

    int createStream(int stream) override {
        return number(Stream::create(m_subject, m_stream.at(index(stream)),
            stream > 4 ? StreamFlags::NonBlocking : StreamFlags::Default));
    }
    int destroyStream(int stream) override { return number(at(stream).destroy()); }
    int createEvent(int event) override { return number(Event::create(m_subject, m_event.at(index(event)))); }
    int destroyEvent(int event) override { return number(m_event.at(index(event)).destroy()); }

    int instantiate(int exec, int graph) override {
        return number(m_graph.at(index(graph)).instantiate(m_exec.at(index(exec))));
    }
    int replay(int exec, int stream) override { return number(m_exec.at(index(exec)).launch(at(stream))); }
    int update(int exec, int graph) override {
        return number(m_exec.at(index(exec)).update(m_graph.at(index(graph)), &m_update));
    }
    int updateResult() override { return static_cast<int>(m_update); }
    int destroyExec(int exec) override { return number(m_exec.at(index(exec)).destroy()); }
    int destroyGraph(int graph) override { return number(m_graph.at(index(graph)).destroy()); }
    int nodeCount(int graph) override { return static_cast<int>(m_graph.at(index(graph)).nodeCount()); }

    int counter() override {
        int value = -1;
        Status status = m_subject.synchronize();
        if (ok(status))
            status = m_subject.copy(&value, m_device[1], sizeof(value), CopyKind::DeviceToHost);
        return ok(status) ? value : -number(status);
    }
    int hostFunctionResult() override { return m_hostCode; }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    Stream& at(int stream) {
        return stream == kLegacy ? m_subject.defaultStream() : m_stream.at(index(stream));
    }
    void* spare() const { return static_cast<std::byte*>(m_device[1]) + 64; }

    Device m_subject;
    std::array<Stream, kStreams> m_stream;
    std::array<Event, kObjects> m_event;
    std::array<Graph, kObjects> m_graph;
    std::array<GraphExec, kObjects> m_exec;
    std::array<void*, kObjects> m_device{};
    std::array<void*, kObjects> m_host{};
    std::array<char, 64> m_pageable{};
    UpdateResult m_update = UpdateResult::Success;
    int m_hostCode = -1;
};

} // namespace

std::unique_ptr<CaptureSubject> makeHostSubject() {
    return std::make_unique<HostSubject>();
}

} // namespace gdt::bench
