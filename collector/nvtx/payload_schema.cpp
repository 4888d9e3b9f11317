// SPDX-License-Identifier: Apache-2.0
#include "collector/nvtx/payload_schema.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace gd::nvtx {

namespace {

constexpr std::size_t kMaxEntries = 256; ///< of one schema

bool has(std::uint64_t mask, std::uint64_t field) {
    return (mask & field) != 0;
}

std::size_t textBytes(const char* text) {
    return text != nullptr ? std::strlen(text) + 1 : 1;
}

/// One block for a schema, its entries and their names: it is never freed, or freed as a whole.
Schema* allocate(std::size_t entries, std::size_t nameBytes) {
    void* block = std::malloc(sizeof(Schema) + entries * sizeof(SchemaEntry) + nameBytes);
    return block != nullptr ? new (block) Schema{} : nullptr;
}

bool sameLayout(const Schema& a, const Schema& b) {
    if (a.isEnum != b.isEnum || a.type != b.type || a.staticSize != b.staticSize || a.packAlign != b.packAlign
        || a.count != b.count) {
        return false;
    }
    for (std::size_t i = 0; i < a.count; ++i) {
        const SchemaEntry& x = a.entries[i];
        const SchemaEntry& y = b.entries[i];
        if (x.flags != y.flags || x.type != y.type || x.detail != y.detail || x.offset != y.offset
            || std::strcmp(x.name, y.name) != 0) {
            return false;
        }
    }
    return true;
}

} // namespace

std::uint64_t SchemaTable::add(const Name* domain, const nvtxPayloadSchemaAttr_t* attributes) noexcept {
    if (attributes == nullptr || !has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES)
        || !has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES)
        || attributes->entries == nullptr || attributes->numEntries == 0
        || attributes->numEntries > kMaxEntries) {
        return 0;
    }
    std::size_t nameBytes = 0;
    for (std::size_t i = 0; i < attributes->numEntries; ++i) {
        nameBytes += textBytes(attributes->entries[i].name);
    }
    Schema* schema = allocate(attributes->numEntries, nameBytes);
    if (schema == nullptr) {
        return 0;
    }
    schema->domain = domain;
    schema->count = attributes->numEntries;
    if (has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE)) {
        schema->type = attributes->type;
    }
    if (has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)) {
        schema->staticSize = attributes->payloadStaticSize;
    }
    if (has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT)) {
        schema->packAlign = attributes->packAlign;
    }
    if (has(attributes->fieldMask, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID)) {
        schema->id = attributes->schemaId;
    }
    auto* entries = reinterpret_cast<SchemaEntry*>(schema + 1);
    auto* names = reinterpret_cast<char*>(entries + schema->count);
    for (std::size_t i = 0; i < schema->count; ++i) {
        const nvtxPayloadSchemaEntry_t& entry = attributes->entries[i];
        const std::size_t bytes = textBytes(entry.name);
        std::memcpy(names, entry.name != nullptr ? entry.name : "", bytes);
        new (entries + i) SchemaEntry{entry.flags, entry.type, entry.arrayOrUnionDetail, entry.offset, names};
        names += bytes;
    }
    schema->entries = entries;
    return insert(schema);
}

std::uint64_t SchemaTable::add(const Name* domain, const nvtxPayloadEnumAttr_t* attributes) noexcept {
    if (attributes == nullptr) {
        return 0;
    }
    Schema* schema = allocate(0, 0);
    if (schema == nullptr) {
        return 0;
    }
    schema->domain = domain;
    schema->isEnum = true;
    schema->staticSize
        = has(attributes->fieldMask, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) && attributes->sizeOfEnum != 0
        ? attributes->sizeOfEnum
        : sizeof(int);
    if (has(attributes->fieldMask, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID)) {
        schema->id = attributes->schemaId;
    }
    return insert(schema);
}

std::uint64_t SchemaTable::insert(Schema* schema) noexcept {
    const session::SpinGuard guard(m_lock);
    if (schema->id == 0) {
        schema->id = m_nextId++;
    }
    const std::uint64_t id = schema->id;
    Schema*& bucket = bucketOf(id);
    for (Schema* known = bucket; known != nullptr; known = known->next) {
        if (known->id == id && known->domain == schema->domain) {
            known->isAmbiguous = known->isAmbiguous || !sameLayout(*known, *schema);
            std::free(schema);
            return id;
        }
    }
    if (m_count == kMaxSchemas) {
        std::free(schema);
        return 0;
    }
    ++m_count;
    schema->next = bucket;
    bucket = schema;
    return id;
}

const Schema* SchemaTable::find(const Name* domain, std::uint64_t id) noexcept {
    const session::SpinGuard guard(m_lock);
    for (const Schema* schema = bucketOf(id); schema != nullptr; schema = schema->next) {
        if (schema->id == id && schema->domain == domain) {
            return schema;
        }
    }
    return nullptr;
}

} // namespace gd::nvtx
