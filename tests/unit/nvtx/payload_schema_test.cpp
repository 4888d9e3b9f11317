// SPDX-License-Identifier: Apache-2.0
#include "collector/nvtx/payload_schema.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gd::nvtx {

namespace {

using Entries = std::vector<nvtxPayloadSchemaEntry_t>;

const Name* const kDomain = nullptr;

nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::uint64_t offset = 0,
    std::uint64_t flags = 0, std::uint64_t detail = 0) {
    nvtxPayloadSchemaEntry_t made{};
    made.type = type;
    made.name = name;
    made.offset = offset;
    made.flags = flags;
    made.arrayOrUnionDetail = detail;
    return made;
}

std::uint64_t add(SchemaTable& table, const Entries& entries, std::size_t staticSize = 0,
    std::uint64_t id = 0, std::size_t packAlign = 0) {
    nvtxPayloadSchemaAttr_t attributes{};
    attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES
        | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE
        | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = entries.data();
    attributes.numEntries = entries.size();
    attributes.payloadStaticSize = staticSize;
    attributes.packAlign = packAlign;
    attributes.schemaId = id;
    return table.add(kDomain, &attributes);
}

class Fields final : public FieldVisitor {
public:
    void field(std::string_view name, std::uint64_t value) noexcept override {
        values[std::string(name)] = value;
    }
    void message(const char* text) noexcept override { said = text; }

    std::map<std::string, std::uint64_t> values;
    std::string said;
};

template <class T>
bool read(
    SchemaTable& table, std::uint64_t id, const T& payload, Fields& fields, std::size_t size = sizeof(T)) {
    return readPayload(table, kDomain, {id, size, &payload}, fields);
}

} // namespace

TEST(PayloadSchema, FieldsByNameAtTheOffsetsTheJobGave) {
    struct Payload { // as NCCL's reduce: the fields could lie anywhere
        std::uint64_t comm;
        std::size_t bytes;
        int root;
        int op;
    } payload{0xfeed, 4096, -2, 1};
    SchemaTable table;
    const std::uint64_t id = add(table,
        {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "comm", offsetof(Payload, comm)),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_INT, "root", offsetof(Payload, root)),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", offsetof(Payload, bytes))});
    EXPECT_GE(id, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    Fields fields;
    EXPECT_TRUE(read(table, id, payload, fields));
    EXPECT_EQ(fields.values["comm"], 0xfeedU);
    EXPECT_EQ(fields.values["bytes"], 4096U);
    EXPECT_EQ(fields.values["root"], static_cast<std::uint64_t>(-2)) << "sign-extended";
}

TEST(PayloadSchema, WithoutOffsetsByNaturalAlignmentAndPacking) {
    struct Natural {
        std::uint8_t a;
        std::uint32_t b;
        std::uint16_t c;
        std::uint64_t d;
        double skipped;
        std::int8_t e;
    } natural{1, 2, 3, 4, 0.5, -1};
    const Entries entries{entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "a"),
        entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "b"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "c"),
        entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "d"), entry(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "skipped"),
        entry(NVTX_PAYLOAD_ENTRY_TYPE_INT8, "e")};
    SchemaTable table;
    Fields fields;
    EXPECT_TRUE(read(table, add(table, entries), natural, fields));
    const std::map<std::string, std::uint64_t> expected{
        {"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", ~std::uint64_t{0}}};
    EXPECT_EQ(fields.values, expected);

    struct [[gnu::packed]] Packed {
        std::uint8_t a;
        std::uint32_t b;
        std::uint16_t c;
        std::uint64_t d;
        double skipped;
        std::int8_t e;
    } packed{1, 2, 3, 4, 0.5, -1};
    Fields packedFields;
    EXPECT_TRUE(read(table, add(table, entries, 0, 0, 1), packed, packedFields));
    EXPECT_EQ(packedFields.values, expected);
}

TEST(PayloadSchema, NestedLayoutsEnumerationsAndArrays) {
    struct Inner {
        std::uint8_t x;
        std::uint32_t y;
    };
    struct Payload {
        std::uint8_t length;
        Inner inner;
        std::uint16_t values[3];
        std::uint8_t kind;
        char text[5];
        std::uint32_t last;
    } payload{3, {7, 8}, {1, 2, 3}, 2, "abcd", 99};
    SchemaTable table;
    const std::uint64_t inner
        = add(table, {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "x"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "y")});
    nvtxPayloadEnumAttr_t kinds{};
    kinds.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
    kinds.sizeOfEnum = 1;
    kinds.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
    EXPECT_EQ(table.add(kDomain, &kinds), kinds.schemaId);
    const std::uint64_t id = add(table,
        {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "length"), entry(inner, "inner"),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "values", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, 0),
            entry(kinds.schemaId, "kind"), entry(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", 0, 0, 5),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "last")});
    Fields fields;
    EXPECT_TRUE(read(table, id, payload, fields));
    const std::map<std::string, std::uint64_t> expected{
        {"length", 3}, {"x", 7}, {"y", 8}, {"kind", 2}, {"last", 99}};
    EXPECT_EQ(fields.values, expected);
}

TEST(PayloadSchema, ZeroTerminatedAndFixedArraysAndPointersAreStepped) {
    struct Payload {
        char text[8];
        std::uint32_t fixed[2];
        const char* message;
        std::uint16_t last;
    } payload{"abcdefg", {5, 6}, "hello", 77};
    SchemaTable table;
    const std::uint64_t id = add(table,
        {entry(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "fixed", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 2),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message", 0, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE),
            entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "last")});
    Fields fields;
    EXPECT_TRUE(read(table, id, payload, fields));
    EXPECT_EQ(fields.values, (std::map<std::string, std::uint64_t>{{"last", 77}}));
    EXPECT_EQ(fields.said, "hello");
}

TEST(PayloadSchema, WhatDoesNotFitIsRefused) {
    struct Payload {
        std::uint32_t a;
        std::uint64_t b;
    } payload{1, 2};
    SchemaTable table;
    const std::uint64_t id = add(
        table, {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "a"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "b")});
    Fields fields;
    EXPECT_FALSE(read(table, id, payload, fields, 15));
    EXPECT_EQ(fields.values.count("b"), 0U);
    EXPECT_FALSE(read(table, id + 1, payload, fields)) << "never registered";
    EXPECT_FALSE(readPayload(table, kDomain, {id, sizeof payload, nullptr}, fields));
    EXPECT_FALSE(read(table, id, payload, fields, SIZE_MAX)) << "the layout does not say its size either";
    const std::uint64_t unknown = add(table, {entry(9999, "x")});
    EXPECT_FALSE(read(table, unknown, payload, fields));
    const std::uint64_t far = add(table, {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "far", ~std::uint64_t{3})});
    EXPECT_FALSE(read(table, far, payload, fields));
    const std::uint64_t longArray = add(table,
        {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "n", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
            ~std::uint64_t{0} / 4)});
    EXPECT_FALSE(read(table, longArray, payload, fields));
    EXPECT_EQ(add(table, {}), 0U);
}

TEST(PayloadSchema, AnUnknownSizeIsTheLayoutsOwn) {
    const std::uint32_t payload = 5;
    SchemaTable table;
    const std::uint64_t id = add(table, {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "a")}, sizeof payload);
    Fields fields;
    EXPECT_TRUE(read(table, id, payload, fields, SIZE_MAX));
    EXPECT_EQ(fields.values["a"], 5U);
}

TEST(PayloadSchema, TwoLayoutsUnderOneIdMeanNothing) {
    const std::uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 3;
    const std::uint64_t payload[2] = {1, 2};
    const Entries old{entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes")};
    SchemaTable table;
    EXPECT_EQ(add(table, old, 0, id), id);
    EXPECT_EQ(add(table, old, 0, id), id) << "the same one again, from another module";
    Fields fields;
    EXPECT_TRUE(read(table, id, payload, fields));
    add(table,
        {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "comm"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes")}, 0,
        id);
    EXPECT_FALSE(read(table, id, payload, fields));
}

TEST(PayloadSchema, LayoutsThatReferToEachOtherCostLittle) {
    const std::uint64_t payload[64] = {};
    SchemaTable table;
    const std::uint64_t first = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1;
    for (std::uint64_t i = 0; i < 12; ++i) {
        add(table, Entries(200, entry(first + (i + 1) % 12, "inner")), 0, first + i);
    }
    Fields fields;
    EXPECT_FALSE(read(table, first, payload, fields));
}

} // namespace gd::nvtx
