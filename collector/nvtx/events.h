// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/nvtx/name_table.h"
#include "collector/nvtx/payload_schema.h"

#include <cstddef>
#include <cstdint>

#define NVTX_NO_IMPL // types only
#include <nvtx3/nvToolsExt.h>

namespace gd::nvtx {

/// What the two injections (core and payload extension) share: registered names and layouts of the process.
NameTable& domains() noexcept;
NameTable& strings() noexcept;
SchemaTable& schemas() noexcept;
/// Makes this library a source of the session; once, whichever injection comes first. False: nothing is
/// recorded in this process.
bool registerWithSession() noexcept;

/// The domain that NCCL's own ranges use.
bool isNccl(const Name* domain) noexcept;

inline const Name* domainOf(nvtxDomainHandle_t domain) {
    return reinterpret_cast<const Name*>(domain);
}

/// Structured payloads of one event. Belong to the job, valid during the call.
struct Payloads {
    const nvtxPayloadData_t* data = nullptr;
    std::size_t count = 0;
};

/// What an event's attributes say, as text and numbers.
class Attributes {
public:
    explicit Attributes(const char* text)
        : name(text != nullptr ? text : "") { }
    explicit Attributes(const wchar_t* text) { setWide(text); }
    explicit Attributes(const nvtxEventAttributes_t* event);
    /// An event of the payload extension: its message, if it has one, is a field.
    Attributes(const Name* domain, Payloads structured);
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

private:
    static constexpr std::size_t kNarrowBytes = 1024;
    char m_room[kNarrowBytes];

public:
    const char* name = "";
    std::uint64_t payload = 0;
    std::uint32_t color = 0;
    Payloads payloads;

private:
    void setWide(const wchar_t* text);
    void setMessage(const nvtxEventAttributes_t& event);
    void setPayload(const nvtxEventAttributes_t& event);
};

/// A mark. Like the ranges below it is told to the sink where the recording wants it.
void mark(const Name* domain, const Attributes& attributes) noexcept;
/// Both return the depth as NVTX defines it.
int push(const Name* domain, const Attributes& attributes) noexcept;
int pop(const Name* domain, Payloads added = {}) noexcept;
nvtxRangeId_t start(const Name* domain, const Attributes& attributes) noexcept;
void end(const Name* domain, nvtxRangeId_t id) noexcept;

} // namespace gd::nvtx
