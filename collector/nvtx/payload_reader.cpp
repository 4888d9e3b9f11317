// SPDX-License-Identifier: Apache-2.0
// Reads payloads by their registered layout: offsets given or by natural alignment, nested layouts,
// enumerations, arrays (skipped). NVTX 3, nvToolsExtPayload.h.
#include "collector/nvtx/name_table.h"
#include "collector/nvtx/payload_schema.h"

#include <cstring>
#include <cwchar>

namespace gd::nvtx {

namespace {

constexpr unsigned kMaxNesting = 8;
/// Entries looked at for one payload: layouts that refer to each other must not cost the job time.
constexpr unsigned kMaxVisits = 1024;

struct TypeInfo {
    std::uint8_t size = 0; ///< 0 = not a type of known size
    std::uint8_t align = 0;
    bool isInteger = false;
    bool isSigned = false;
};

template <class T> constexpr TypeInfo integer() {
    return {sizeof(T), alignof(T), true, static_cast<T>(-1) < static_cast<T>(0)};
}
template <class T> constexpr TypeInfo other() {
    return {sizeof(T), alignof(T), false, false};
}

TypeInfo typeInfo(std::uint64_t type) {
    switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
        return integer<char>();
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
        return integer<std::int8_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
        return integer<std::uint8_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
        return integer<std::int16_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
        return integer<std::uint16_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
        return integer<std::int32_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
        return integer<std::uint32_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
        return integer<long>();
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
        return integer<unsigned long>();
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
        return integer<std::int64_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
        return integer<std::uint64_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
        return integer<std::size_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
        return integer<wchar_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR:
        return integer<std::uint32_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
        return other<float>();
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
        return other<double>();
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
        return other<long double>();
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
        return other<std::uint16_t>();
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
        return {16, 16, false, false};
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING:
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8:
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
        return other<const void*>();
    default:
        return {};
    }
}

/// Bytes of one letter of a string type embedded in the payload, 0 = not a string.
std::size_t letterBytes(std::uint64_t type) {
    switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING:
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8:
        return 1;
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16:
        return 2;
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32:
        return 4;
    default:
        return 0;
    }
}

std::uint64_t load(const char* at, std::size_t size, bool isSigned) {
    std::uint64_t value = 0; // little endian, as everywhere CUDA runs
    std::memcpy(&value, at, size);
    if (isSigned && size < sizeof value && (value >> (8 * size - 1) & 1) != 0) {
        value |= ~std::uint64_t{0} << (8 * size);
    }
    return value;
}

/// What one entry takes in the payload.
struct Extent {
    std::size_t size = 0; ///< of one element
    std::size_t align = 1;
    std::size_t count = 1;
    bool isKnown = false;
};

class Reader {
public:
    Reader(SchemaTable& schemas, const Name* domain, const nvtxPayloadData_t& data, FieldVisitor* visitor,
        unsigned& visits)
        : m_schemas(schemas)
        , m_domain(domain)
        , m_base(static_cast<const char*>(data.payload))
        , m_size(data.size)
        , m_visitor(visitor)
        , m_visits(visits) { }

    /// False when a field lies outside the payload or has an unknown type. `end`: one past the last field.
    bool read(const Schema& schema, std::size_t from, std::size_t& end, unsigned nesting) {
        if (schema.isAmbiguous || nesting > kMaxNesting) {
            return false;
        }
        if (schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION
            || schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR) {
            end = from + schema.staticSize; // which member is valid is not followed
            return schema.staticSize != 0;
        }
        std::size_t at = from;
        for (std::size_t i = 0; i < schema.count; ++i) {
            if (++m_visits > kMaxVisits) {
                return false;
            }
            const SchemaEntry& entry = schema.entries[i];
            const Extent extent = extentOf(schema, i, from, at, nesting);
            if (!extent.isKnown) {
                return false;
            }
            const std::size_t align
                = schema.packAlign != 0 && schema.packAlign < extent.align ? schema.packAlign : extent.align;
            at = entry.offset != 0 ? from + entry.offset : (at + align - 1) / align * align;
            if (at > m_size || extent.count > m_size || extent.size * extent.count > m_size - at) {
                return false;
            }
            if (!value(entry, extent, at, nesting)) {
                return false;
            }
            m_at[i < kKept ? i : kKept] = at;
            at += extent.size * extent.count;
        }
        end = at;
        return true;
    }

private:
    /// For a layout inside this one. `visitor` nullptr: only its size is wanted.
    Reader(const Reader& outer, FieldVisitor* visitor)
        : m_schemas(outer.m_schemas)
        , m_domain(outer.m_domain)
        , m_base(outer.m_base)
        , m_size(outer.m_size)
        , m_visitor(visitor)
        , m_visits(outer.m_visits) { }

    static constexpr std::size_t kKept = 32; ///< entries whose place is remembered for array lengths

    bool isReference(const SchemaEntry& entry) const {
        return (entry.flags
                   & (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE
                       | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE))
            != 0;
    }

    bool value(const SchemaEntry& entry, const Extent& extent, std::size_t at, unsigned nesting) {
        const bool isArray = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags) != 0 || extent.count != 1;
        if (isArray || isReference(entry)) {
            return true;
        }
        if (entry.type >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
            const Schema* nested = m_schemas.find(m_domain, entry.type);
            if (!nested->isEnum) {
                Reader inner(*this, m_visitor);
                std::size_t end = 0;
                return inner.read(*nested, at, end, nesting + 1);
            }
            pass(entry, load(m_base + at, extent.size, true));
            return true;
        }
        if (const TypeInfo type = typeInfo(entry.type); type.isInteger) {
            pass(entry, load(m_base + at, type.size, type.isSigned));
        } else if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) != 0) {
            passMessage(entry, load(m_base + at, sizeof(void*), false));
        }
        return true;
    }

    void passMessage(const SchemaEntry& entry, std::uint64_t address) {
        const auto* pointer = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(address));
        if (m_visitor == nullptr || pointer == nullptr) {
            return;
        }
        if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
            m_visitor->message(reinterpret_cast<const Name*>(pointer)->text);
        } else if (letterBytes(entry.type) == 1) {
            m_visitor->message(pointer);
        }
    }

    void pass(const SchemaEntry& entry, std::uint64_t value) {
        if (m_visitor != nullptr && entry.name[0] != '\0') {
            m_visitor->field(entry.name, value);
        }
    }

    Extent extentOf(
        const Schema& schema, std::size_t index, std::size_t from, std::size_t at, unsigned nesting) {
        const SchemaEntry& entry = schema.entries[index];
        Extent extent = isReference(entry) ? Extent{sizeof(void*), alignof(void*), 1, true}
                                           : elementOf(entry, from, nesting);
        const std::uint64_t array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags);
        if (isReference(entry) || !extent.isKnown) {
            return extent;
        }
        if (const std::size_t letter = letterBytes(entry.type);
            letter != 0 && (array != 0 || entry.detail != 0)) {
            extent.size = extent.align = letter; // the text itself lies in the payload
        }
        if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED) {
            extent.count = zeroTerminated(entry, extent, from, at);
            extent.isKnown = extent.count != 0;
        } else if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX) {
            extent.isKnown = lengthAt(schema, index, entry.detail, extent.count);
        } else if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE || letterBytes(entry.type) != 0) {
            extent.count = entry.detail != 0 ? static_cast<std::size_t>(entry.detail) : 1;
        }
        return extent;
    }

    Extent elementOf(const SchemaEntry& entry, std::size_t from, unsigned nesting) {
        if (entry.type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
            const TypeInfo type = typeInfo(entry.type);
            return {type.size, type.align == 0 ? std::size_t{1} : type.align, 1, type.size != 0};
        }
        const Schema* nested = m_schemas.find(m_domain, entry.type);
        if (nested == nullptr || nested->isAmbiguous) {
            return {};
        }
        if (nested->isEnum) {
            return {nested->staticSize, nested->staticSize, 1,
                nested->staticSize <= 8 && (nested->staticSize & (nested->staticSize - 1)) == 0};
        }
        Extent extent{nested->staticSize, alignOf(*nested, nesting), 1, true};
        if (extent.size == 0) { // its end, by its own fields, as if it lay here
            Reader inner(*this, nullptr);
            std::size_t end = from;
            extent.isKnown = inner.read(*nested, from, end, nesting + 1) && end > from;
            extent.size = (end - from + extent.align - 1) / extent.align * extent.align;
        }
        return extent;
    }

    std::size_t alignOf(const Schema& schema, unsigned nesting) {
        if (schema.packAlign != 0) {
            return schema.packAlign;
        }
        std::size_t align = 1;
        for (std::size_t i = 0; i < schema.count && nesting <= kMaxNesting && ++m_visits <= kMaxVisits; ++i) {
            const SchemaEntry& entry = schema.entries[i];
            std::size_t own = alignof(void*);
            if (!isReference(entry) && entry.type >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
                const Schema* nested = m_schemas.find(m_domain, entry.type);
                own = nested == nullptr ? 1
                    : nested->isEnum    ? nested->staticSize
                                        : alignOf(*nested, nesting + 1);
            } else if (!isReference(entry)) {
                own = typeInfo(entry.type).align;
            }
            align = own > align ? own : align;
        }
        return align;
    }

    /// Elements up to and with the first one that is all zeros; 0 = none inside the payload.
    std::size_t zeroTerminated(
        const SchemaEntry& entry, const Extent& extent, std::size_t from, std::size_t at) const {
        const std::size_t start
            = entry.offset != 0 ? from + entry.offset : (at + extent.align - 1) / extent.align * extent.align;
        for (std::size_t count = 1; start <= m_size && count * extent.size <= m_size - start; ++count) {
            const char* element = m_base + start + (count - 1) * extent.size;
            bool isZero = true;
            for (std::size_t i = 0; i < extent.size; ++i) {
                isZero = isZero && element[i] == 0;
            }
            if (isZero) {
                return count;
            }
        }
        return 0;
    }

    /// The length that an entry before this one holds.
    bool lengthAt(
        const Schema& schema, std::size_t index, std::uint64_t lengthIndex, std::size_t& length) const {
        if (lengthIndex >= index || lengthIndex >= kKept) {
            return false;
        }
        const SchemaEntry& entry = schema.entries[lengthIndex];
        const TypeInfo type = typeInfo(entry.type);
        if (!type.isInteger || isReference(entry) || NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags) != 0) {
            return false;
        }
        length = static_cast<std::size_t>(load(m_base + m_at[lengthIndex], type.size, false));
        return true;
    }

    SchemaTable& m_schemas;
    const Name* m_domain;
    const char* m_base;
    std::size_t m_size;
    FieldVisitor* m_visitor;
    unsigned& m_visits;
    std::size_t m_at[kKept + 1] = {};
};

} // namespace

bool readPayload(
    SchemaTable& schemas, const Name* domain, const nvtxPayloadData_t& data, FieldVisitor& visitor) noexcept {
    const Schema* schema = schemas.find(domain, data.schemaId);
    if (schema == nullptr || schema->isEnum || data.payload == nullptr) {
        return false;
    }
    nvtxPayloadData_t sized = data;
    if (sized.size == SIZE_MAX) {
        sized.size = schema->staticSize; // "find it out": only a static layout says it
    }
    if (sized.size == 0 || sized.size == SIZE_MAX) {
        return false;
    }
    unsigned visits = 0;
    Reader reader(schemas, domain, sized, &visitor, visits);
    std::size_t end = 0;
    return reader.read(*schema, 0, end, 0);
}

} // namespace gd::nvtx
