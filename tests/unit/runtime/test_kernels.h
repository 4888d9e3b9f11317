// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace gdt::runtime::test {

/// out[0] = out[0] * 10 + digit: the final number shows the order of launches.
struct AppendDigit {
    static constexpr const char* kName = "append_digit";
    struct Args {
        double* out = nullptr;
        int digit = 0;
    };
    static void host(const Args& a) { *a.out = *a.out * 10 + a.digit; }
};

/// out[0] += factor * in[0]
struct AddScaled {
    static constexpr const char* kName = "add_scaled";
    struct Args {
        double* out = nullptr;
        const double* in = nullptr;
        double factor = 0;
    };
    static void host(const Args& a) { *a.out += a.factor * *a.in; }
};

/// A door that a host function waits at, so that a test decides when a stream goes on.
class Gate {
public:
    static void pass(void* gate) { static_cast<Gate*>(gate)->waitOpen(); }
    void open() {
        {
            std::lock_guard lock(m_mutex);
            m_open = true;
        }
        m_changed.notify_all();
    }

private:
    void waitOpen() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_open; });
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_open = false;
};

/// A device with one double in device memory; hostWorkers as asked.
struct OneNumber {
    explicit OneNumber(int hostWorkers = 1, StaleAccess stale = StaleAccess::Faithful)
        : device({.hostWorkers = hostWorkers, .memoryBytes = 1 << 20, .staleAccess = stale}) {
        GDT_CHECK(device.allocate(reinterpret_cast<void**>(&number), sizeof(double)));
        set(0);
        GDT_CHECK(Stream::create(device, stream, StreamFlags::NonBlocking));
    }
    void set(double value) { GDT_CHECK(device.copy(number, &value, sizeof(value), CopyKind::HostToDevice)); }
    double get() {
        double value = -1;
        GDT_CHECK(device.synchronize());
        GDT_CHECK(device.copy(&value, number, sizeof(value), CopyKind::DeviceToHost));
        return value;
    }

    Device device;
    double* number = nullptr;
    Stream stream;
};

} // namespace gdt::runtime::test
