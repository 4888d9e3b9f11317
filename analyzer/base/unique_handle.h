// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace gd::base {

// Owns one handle of a C interface and closes it once. Move-only.
// Example: using File = UniqueHandle<std::FILE*, [](std::FILE* f) { std::fclose(f); }>;
//          using Fd = UniqueHandle<int, [](int fd) { ::close(fd); }, -1>;
// Where closing can lose data, call the C function on release() and look at its result instead.
template <class T, auto Close, T Null = T{}> class UniqueHandle {
public:
    UniqueHandle() = default;
    explicit UniqueHandle(T handle)
        : m_handle(handle) { }
    UniqueHandle(UniqueHandle&& other) noexcept
        : m_handle(other.release()) { }
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    UniqueHandle(const UniqueHandle&) = delete;
    UniqueHandle& operator=(const UniqueHandle&) = delete;
    ~UniqueHandle() { reset(); }

    T get() const { return m_handle; }
    explicit operator bool() const { return m_handle != Null; }
    T release() { return std::exchange(m_handle, Null); }
    void reset(T handle = Null) {
        if (T old = std::exchange(m_handle, handle); old != Null)
            Close(old);
    }

private:
    T m_handle = Null;
};

} // namespace gd::base
