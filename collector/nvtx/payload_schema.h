// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/spin_lock.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#define NVTX_NO_IMPL // types only
#include <nvtx3/nvToolsExtPayload.h>

namespace gd::nvtx {

struct Name;

/// One field of a registered payload layout, copied from the job's own description.
struct SchemaEntry {
    std::uint64_t flags;
    std::uint64_t type; ///< NVTX_PAYLOAD_ENTRY_TYPE_*, or the id of another schema or enumeration
    std::uint64_t detail; ///< array length, index of the entry that holds it, or union selector
    std::uint64_t offset; ///< 0 = follows the entry before (or is the first)
    const char* name; ///< never null
};

/// A layout, or an enumeration (no entries, `staticSize` its width). Lives for ever: a payload may refer to
/// it at any time.
struct Schema {
    Schema* next;
    const Name* domain;
    std::uint64_t id;
    std::uint64_t type; ///< NVTX_PAYLOAD_SCHEMA_TYPE_*
    std::size_t staticSize; ///< bytes, 0 = not said
    std::size_t packAlign; ///< 0 = natural alignment
    std::size_t count;
    bool isEnum;
    /// Two modules registered different layouts under this id (two builds of one library): what a payload
    /// means is not known.
    bool isAmbiguous;
    const SchemaEntry* entries;
};

/// The layouts a job registers with nvtxPayloadSchemaRegister and nvtxPayloadEnumRegister. Any thread.
class SchemaTable {
public:
    /// The schema's id: the job's own static one, else a new one. 0: malformed, or no memory.
    std::uint64_t add(const Name* domain, const nvtxPayloadSchemaAttr_t* attributes) noexcept;
    std::uint64_t add(const Name* domain, const nvtxPayloadEnumAttr_t* attributes) noexcept;
    /// nullptr: never registered in this domain.
    const Schema* find(const Name* domain, std::uint64_t id) noexcept;
    /// See NameTable.
    void afterFork() noexcept { m_lock.unlock(); }

private:
    static constexpr std::size_t kBuckets = 256;
    /// More would be a job that registers in a loop.
    static constexpr std::size_t kMaxSchemas = 65'536;

    std::uint64_t insert(Schema* schema) noexcept;
    Schema*& bucketOf(std::uint64_t id) noexcept { return m_buckets[(id ^ id >> 24) % kBuckets]; }

    session::SpinLock m_lock;
    Schema* m_buckets[kBuckets] = {};
    std::size_t m_count = 0;
    std::uint64_t m_nextId = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
};

/// Gets the integers of a payload one by one, by the names the job gave them. Arrays are left out.
class FieldVisitor {
public:
    /// `value`: sign-extended for signed types.
    virtual void field(std::string_view name, std::uint64_t value) noexcept = 0;
    /// The field that is the event's message: a registered string or a 0-terminated one.
    virtual void message(const char*) noexcept { }

protected:
    ~FieldVisitor() = default;
};

/// Reads `data` by the layout that the domain registered under its schema id. False: the layout is unknown,
/// ambiguous or does not fit the payload; fields before the one that does not fit were passed on.
bool readPayload(
    SchemaTable& schemas, const Name* domain, const nvtxPayloadData_t& data, FieldVisitor& visitor) noexcept;

} // namespace gd::nvtx
