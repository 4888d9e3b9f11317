// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace gd::stacks {

/// DWARF register numbers of x86-64 (System V psABI, figure 3.36).
enum : unsigned {
    kRegRbx = 3,
    kRegRbp = 6,
    kRegRsp = 7,
    kRegR12 = 12,
    kRegR15 = 15,
    kRegReturn = 16,
    kRegCount = 17
};

enum class RuleKind : std::uint8_t {
    Same, ///< not saved: the caller has the same value
    Undefined,
    Offset, ///< saved at CFA + offset
    ValOffset, ///< is CFA + offset
    Register, ///< is in register `offset`
    Expression, ///< saved at the address an expression gives
    ValExpression, ///< is what an expression gives
};

struct RegisterRule {
    RuleKind kind = RuleKind::Same;
    std::uint16_t expressionBytes = 0;
    union {
        std::int64_t offset = 0;
        const std::uint8_t* expression;
    };
};

/// How to get from one frame to its caller. Expressions point into the bytes that were parsed.
struct UnwindRow {
    RegisterRule cfa; ///< Offset: `cfaRegister` + offset; ValExpression: an expression
    std::uint8_t cfaRegister = kRegRsp;
    bool signalFrame = false;
    std::uint8_t returnRegister = kRegReturn;
    RegisterRule rules[kRegCount];
};

/// Bytes of an unwind table, at their own place or copied elsewhere (then `shift` = original - here).
struct TableBytes {
    const std::uint8_t* cursor = nullptr;
    const std::uint8_t* end = nullptr;
    std::intptr_t shift = 0;
    bool failed = false; ///< a read went past the end; values read since are 0

    template <class T> T fixed() {
        T value{};
        if (static_cast<std::size_t>(end - cursor) < sizeof(T)) {
            failed = true;
            cursor = end;
            return value;
        }
        __builtin_memcpy(&value, cursor, sizeof(T));
        cursor += sizeof(T);
        return value;
    }
    std::uint64_t uleb();
    std::int64_t sleb();
    /// A pointer in one of the DW_EH_PE encodings (absolute and pc-relative; `dataBase` for data-relative).
    std::uint64_t encoded(std::uint8_t encoding, std::uint64_t dataBase);
    void skip(std::uint64_t bytes) {
        if (bytes > static_cast<std::uint64_t>(end - cursor)) {
            failed = true;
            cursor = end;
        } else {
            cursor += bytes;
        }
    }
};

/// What a common information entry says, as far as x86-64 needs it.
struct CommonEntry {
    std::uint64_t codeAlign = 1;
    std::int64_t dataAlign = -8;
    std::uint8_t returnRegister = kRegReturn;
    std::uint8_t pointerEncoding = 0;
    bool hasAugmentationData = false;
    bool signalFrame = false;
    TableBytes program;
};

/// `bytes` starts after the length and id words of the entry. False: malformed or not understood.
bool parseCommonEntry(TableBytes bytes, CommonEntry& out);

/// `bytes` starts after the length and CIE pointer words of a frame description. On success `from` and `to`
/// bound the code it covers and `program` holds its instructions.
bool parseFrameEntry(
    TableBytes bytes, const CommonEntry& common, std::uint64_t& from, std::uint64_t& to, TableBytes& program);

/// Runs the call frame program up to `pc`. No allocation; ~700 bytes of stack a remembered state, at most 8.
/// Source: DWARF 5 section 6.4, Linux Standard Base 5.0 section 10.6.
bool computeRow(
    const CommonEntry& common, TableBytes program, std::uint64_t from, std::uint64_t pc, UnwindRow& row);

} // namespace gd::stacks
