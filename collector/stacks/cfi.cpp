// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/cfi.h"

namespace gd::stacks {

namespace {

constexpr std::uint8_t kEncodingOmit = 0xff;
constexpr int kMaxRemembered = 8;

struct Machine {
    const CommonEntry& common;
    std::uint64_t location;
    std::uint64_t pc;
    UnwindRow row;
    UnwindRow initial;
    UnwindRow remembered[kMaxRemembered];
    int depth = 0;

    Machine(const CommonEntry& entry, std::uint64_t from, std::uint64_t target)
        : common(entry)
        , location(from)
        , pc(target) { }

    bool run(TableBytes& bytes);

private:
    bool extended(std::uint8_t opcode, TableBytes& bytes);
    bool advance(std::uint64_t delta) {
        location += delta * common.codeAlign;
        return location <= pc;
    }
    void setRule(std::uint64_t reg, RuleKind kind, std::int64_t offset) {
        if (reg < kRegCount) {
            row.rules[reg].kind = kind;
            row.rules[reg].offset = offset;
        }
    }
    void setExpression(RegisterRule& rule, RuleKind kind, TableBytes& bytes) {
        const std::uint64_t length = bytes.uleb();
        rule.kind = kind;
        rule.expression = bytes.cursor;
        rule.expressionBytes = static_cast<std::uint16_t>(length);
        if (length > 0xffff) {
            bytes.failed = true;
        }
        bytes.skip(length);
    }
    void setCfaRegister(std::uint64_t reg, TableBytes& bytes) {
        if (reg >= kRegReturn) {
            bytes.failed = true;
        }
        row.cfaRegister = static_cast<std::uint8_t>(reg);
        row.cfa.kind = RuleKind::Offset;
    }
    void setCfaOffset(std::int64_t offset) {
        row.cfa.kind = RuleKind::Offset;
        row.cfa.offset = offset;
    }
    void restore(std::uint64_t reg) {
        if (reg < kRegCount) {
            row.rules[reg] = initial.rules[reg];
        }
    }
    std::int64_t scaled(std::uint64_t factor) const {
        return static_cast<std::int64_t>(factor) * common.dataAlign;
    }
};

// False: the row for `pc` is complete (or the program is malformed: bytes.failed).
bool Machine::run(TableBytes& bytes) {
    while (bytes.cursor < bytes.end && !bytes.failed) {
        const auto opcode = bytes.fixed<std::uint8_t>();
        const std::uint8_t low = opcode & 0x3f;
        bool goOn = true;
        switch (opcode & 0xc0) {
        case 0x40:
            goOn = advance(low);
            break;
        case 0x80:
            setRule(low, RuleKind::Offset, scaled(bytes.uleb()));
            break;
        case 0xc0:
            restore(low);
            break;
        default:
            goOn = extended(opcode, bytes);
        }
        if (!goOn) {
            return false;
        }
    }
    return true;
}

bool Machine::extended(std::uint8_t opcode, TableBytes& bytes) {
    std::uint64_t reg = 0;
    switch (opcode) {
    case 0x00: // nop
        return true;
    case 0x01: // set_loc
        location = bytes.encoded(common.pointerEncoding, 0);
        return location <= pc;
    case 0x02:
        return advance(bytes.fixed<std::uint8_t>());
    case 0x03:
        return advance(bytes.fixed<std::uint16_t>());
    case 0x04:
        return advance(bytes.fixed<std::uint32_t>());
    case 0x05: // offset_extended
        reg = bytes.uleb();
        setRule(reg, RuleKind::Offset, scaled(bytes.uleb()));
        return true;
    case 0x06:
        restore(bytes.uleb());
        return true;
    case 0x07:
        setRule(bytes.uleb(), RuleKind::Undefined, 0);
        return true;
    case 0x08:
        setRule(bytes.uleb(), RuleKind::Same, 0);
        return true;
    case 0x09: // register
        reg = bytes.uleb();
        setRule(reg, RuleKind::Register, static_cast<std::int64_t>(bytes.uleb()));
        return true;
    case 0x0a: // remember_state
        if (depth == kMaxRemembered) {
            bytes.failed = true;
            return false;
        }
        remembered[depth++] = row;
        return true;
    case 0x0b: // restore_state
        if (depth == 0) {
            bytes.failed = true;
            return false;
        }
        row = remembered[--depth];
        return true;
    case 0x0c: // def_cfa
        setCfaRegister(bytes.uleb(), bytes);
        setCfaOffset(static_cast<std::int64_t>(bytes.uleb()));
        return true;
    case 0x0d:
        setCfaRegister(bytes.uleb(), bytes);
        return true;
    case 0x0e:
        setCfaOffset(static_cast<std::int64_t>(bytes.uleb()));
        return true;
    case 0x0f:
        setExpression(row.cfa, RuleKind::ValExpression, bytes);
        return true;
    case 0x10:
    case 0x16: {
        reg = bytes.uleb();
        RegisterRule unused;
        setExpression(reg < kRegCount ? row.rules[reg] : unused,
            opcode == 0x10 ? RuleKind::Expression : RuleKind::ValExpression, bytes);
        return true;
    }
    case 0x11: // offset_extended_sf
        reg = bytes.uleb();
        setRule(reg, RuleKind::Offset, bytes.sleb() * common.dataAlign);
        return true;
    case 0x12: // def_cfa_sf
        setCfaRegister(bytes.uleb(), bytes);
        setCfaOffset(bytes.sleb() * common.dataAlign);
        return true;
    case 0x13: // def_cfa_offset_sf
        setCfaOffset(bytes.sleb() * common.dataAlign);
        return true;
    case 0x14: // val_offset
        reg = bytes.uleb();
        setRule(reg, RuleKind::ValOffset, scaled(bytes.uleb()));
        return true;
    case 0x15: // val_offset_sf
        reg = bytes.uleb();
        setRule(reg, RuleKind::ValOffset, bytes.sleb() * common.dataAlign);
        return true;
    case 0x2e: // GNU_args_size
        bytes.uleb();
        return true;
    case 0x2f: // GNU_negative_offset_extended
        reg = bytes.uleb();
        setRule(reg, RuleKind::Offset, -scaled(bytes.uleb()));
        return true;
    default:
        bytes.failed = true;
        return false;
    }
}

} // namespace

std::uint64_t TableBytes::uleb() {
    std::uint64_t value = 0;
    for (unsigned shiftBits = 0; shiftBits < 70; shiftBits += 7) {
        const auto byte = fixed<std::uint8_t>();
        if (shiftBits < 64) {
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shiftBits;
        }
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    failed = true;
    return 0;
}

std::int64_t TableBytes::sleb() {
    std::uint64_t value = 0;
    for (unsigned shiftBits = 0; shiftBits < 70; shiftBits += 7) {
        const auto byte = fixed<std::uint8_t>();
        if (shiftBits < 64) {
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shiftBits;
        }
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shiftBits + 7 < 64) {
                value |= ~std::uint64_t{0} << (shiftBits + 7);
            }
            return static_cast<std::int64_t>(value);
        }
    }
    failed = true;
    return 0;
}

std::uint64_t TableBytes::encoded(std::uint8_t encoding, std::uint64_t dataBase) {
    if (encoding == kEncodingOmit) {
        return 0;
    }
    const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::intptr_t>(cursor) + shift);
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = fixed<std::uint64_t>();
        break;
    case 0x01:
        value = uleb();
        break;
    case 0x02:
        value = fixed<std::uint16_t>();
        break;
    case 0x03:
        value = fixed<std::uint32_t>();
        break;
    case 0x09:
        value = static_cast<std::uint64_t>(sleb());
        break;
    case 0x0a:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
        break;
    case 0x0b:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
        break;
    default:
        failed = true;
        return 0;
    }
    switch (encoding & 0x70) {
    case 0x00:
        break;
    case 0x10:
        value += place;
        break;
    case 0x30:
        value += dataBase;
        break;
    default:
        failed = true;
    }
    return value;
}

bool parseCommonEntry(TableBytes bytes, CommonEntry& out) {
    const auto version = bytes.fixed<std::uint8_t>();
    if (version != 1 && version != 3 && version != 4) {
        return false;
    }
    char augmentation[8] = {};
    std::size_t length = 0;
    while (const auto letter = bytes.fixed<char>()) {
        if (length + 1 >= sizeof augmentation) {
            return false;
        }
        augmentation[length++] = letter;
    }
    if (version == 4) {
        bytes.skip(2); // address and segment size
    }
    out.codeAlign = bytes.uleb();
    out.dataAlign = bytes.sleb();
    const std::uint64_t returnRegister = version == 1 ? bytes.fixed<std::uint8_t>() : bytes.uleb();
    if (returnRegister >= kRegCount) {
        return false;
    }
    out.returnRegister = static_cast<std::uint8_t>(returnRegister);
    if (augmentation[0] == 'z') {
        out.hasAugmentationData = true;
        const std::uint64_t dataBytes = bytes.uleb();
        const std::uint8_t* data = bytes.cursor;
        bytes.skip(dataBytes);
        TableBytes inner{data, bytes.cursor, bytes.shift, false};
        for (std::size_t i = 1; i < length; ++i) {
            switch (augmentation[i]) {
            case 'R':
                out.pointerEncoding = inner.fixed<std::uint8_t>();
                break;
            case 'P': {
                const auto encoding = inner.fixed<std::uint8_t>();
                inner.encoded(static_cast<std::uint8_t>(encoding & 0x7f), 0);
                break;
            }
            case 'L':
                inner.fixed<std::uint8_t>();
                break;
            case 'S':
                out.signalFrame = true;
                break;
            default:
                break;
            }
        }
    } else if (augmentation[0] != '\0') {
        return false;
    }
    out.program = bytes;
    return !bytes.failed;
}

bool parseFrameEntry(TableBytes bytes, const CommonEntry& common, std::uint64_t& from, std::uint64_t& to,
    TableBytes& program) {
    from = bytes.encoded(common.pointerEncoding, 0);
    to = from + bytes.encoded(common.pointerEncoding & 0x0f, 0);
    if (common.hasAugmentationData) {
        bytes.skip(bytes.uleb());
    }
    program = bytes;
    return !bytes.failed;
}

bool computeRow(
    const CommonEntry& common, TableBytes program, std::uint64_t from, std::uint64_t pc, UnwindRow& row) {
    Machine machine(common, from, pc);
    machine.row.cfa.kind = RuleKind::Undefined;
    TableBytes first = common.program;
    machine.run(first);
    machine.initial = machine.row;
    machine.run(program);
    row = machine.row;
    row.signalFrame = common.signalFrame;
    row.returnRegister = common.returnRegister;
    return !first.failed && !program.failed && row.cfa.kind != RuleKind::Undefined;
}

} // namespace gd::stacks
