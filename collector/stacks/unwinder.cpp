// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/unwinder.h"

#include "collector/stacks/cfi.h"
#include "collector/stacks/fde_lookup.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <pthread.h>

#define GD_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

namespace gd::stacks {

namespace {

struct ThreadState {
    std::uint64_t stackLow;
    std::uint64_t stackHigh;
    bool boundsKnown;
    bool walking;
};
thread_local ThreadState t_state;

std::atomic<std::uint32_t> g_generation{0};

// A row in 24 bytes: enough for compiled code. Offsets are in words of 8 bytes.
constexpr std::int16_t kSameValue = INT16_MIN;
constexpr std::int16_t kUndefinedValue = INT16_MIN + 1;
constexpr unsigned kSaved[] = {kRegRbx, kRegRbp, 12, 13, 14, 15, kRegReturn};
constexpr std::size_t kSavedCount = sizeof kSaved / sizeof kSaved[0];

struct CompactRow {
    std::int32_t cfaOffset = 0;
    std::uint8_t cfaRegister = 0;
    std::uint8_t reserved[5] = {};
    std::int16_t saved[kSavedCount] = {};
};
static_assert(sizeof(CompactRow) == 24);

bool compact(const UnwindRow& row, CompactRow& out) {
    if (row.cfa.kind != RuleKind::Offset || row.signalFrame || row.returnRegister != kRegReturn
        || row.cfa.offset < INT32_MIN || row.cfa.offset > INT32_MAX) {
        return false;
    }
    out.cfaOffset = static_cast<std::int32_t>(row.cfa.offset);
    out.cfaRegister = row.cfaRegister;
    for (std::size_t i = 0; i < kSavedCount; ++i) {
        const RegisterRule& rule = row.rules[kSaved[i]];
        if (rule.kind == RuleKind::Same) {
            out.saved[i] = kSameValue;
        } else if (rule.kind == RuleKind::Undefined) {
            out.saved[i] = kUndefinedValue;
        } else if (rule.kind == RuleKind::Offset && rule.offset % 8 == 0 && rule.offset / 8 > INT16_MIN + 1
            && rule.offset / 8 <= INT16_MAX) {
            out.saved[i] = static_cast<std::int16_t>(rule.offset / 8);
        } else {
            return false;
        }
    }
    return true;
}

// Shared by all threads without locks: the key is xored with the payload, so that a torn entry is a miss.
constexpr std::size_t kCacheEntries = 2048;
struct CacheEntry {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> words[3];
};
CacheEntry g_cache[kCacheEntries];

std::size_t cacheSlot(std::uint64_t pc) {
    return static_cast<std::size_t>((pc * 0x9e3779b97f4a7c15) >> 53) % kCacheEntries;
}

std::uint64_t cacheKey(std::uint64_t pc, const std::uint64_t* words) {
    const std::uint64_t generation = g_generation.load(std::memory_order_relaxed);
    return pc ^ (generation << 48) ^ words[0] ^ words[1] ^ words[2] ^ 0x5a5a5a5a5a5a5a5a;
}

bool cacheFind(std::uint64_t pc, CompactRow& out) {
    const CacheEntry& entry = g_cache[cacheSlot(pc)];
    std::uint64_t words[3];
    for (int i = 0; i < 3; ++i) {
        words[i] = entry.words[i].load(std::memory_order_relaxed);
    }
    if (entry.key.load(std::memory_order_relaxed) != cacheKey(pc, words)) {
        return false;
    }
    std::memcpy(&out, words, sizeof out);
    return true;
}

void cacheStore(std::uint64_t pc, const CompactRow& row) {
    CacheEntry& entry = g_cache[cacheSlot(pc)];
    std::uint64_t words[3];
    std::memcpy(words, &row, sizeof words);
    for (int i = 0; i < 3; ++i) {
        entry.words[i].store(words[i], std::memory_order_relaxed);
    }
    entry.key.store(cacheKey(pc, words), std::memory_order_relaxed);
}

GD_NO_SANITIZE std::uint64_t loadWord(std::uint64_t address) {
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

// First walk of a thread: the only place that may allocate (inside pthread_getattr_np).
void learnBounds(ThreadState& state) {
    state.boundsKnown = true;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void* low = nullptr;
    std::size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        state.stackLow = reinterpret_cast<std::uint64_t>(low);
        state.stackHigh = state.stackLow + bytes;
    }
    pthread_attr_destroy(&attributes);
}

struct Walker {
    std::uint64_t registers[kRegCount] = {};
    std::uint32_t valid = 0; ///< bit a register
    std::uint64_t stackFrom; ///< everything from here to stackTo can be read directly
    std::uint64_t stackTo;
    TableScratch scratch;

    bool load(std::uint64_t address, std::uint64_t& out) const {
        if (address >= stackFrom && address + 8 <= stackTo && address % 8 == 0) {
            out = loadWord(address);
            return true;
        }
        return readSafely(address, &out, sizeof out);
    }
    bool has(unsigned reg) const { return (valid >> reg & 1U) != 0; }

    bool step(bool afterCall, bool& callerAfterCall);

private:
    bool stepCompact(const CompactRow& row);
    bool stepFull(const UnwindRow& row);
    bool stepFramePointer();
    bool evaluate(const std::uint8_t* code, std::size_t bytes, std::uint64_t cfa, bool pushCfa,
        std::uint64_t& out) const;
    bool arrive(std::uint64_t cfa, std::uint64_t returnAddress);
};

bool Walker::arrive(std::uint64_t cfa, std::uint64_t returnAddress) {
    if (returnAddress < 4096 || cfa <= registers[kRegRsp]) {
        return false; // the outermost frame, or tables that lead nowhere
    }
    registers[kRegRsp] = cfa;
    registers[kRegReturn] = returnAddress;
    valid |= 1U << kRegRsp | 1U << kRegReturn;
    return true;
}

bool Walker::stepCompact(const CompactRow& row) {
    if (!has(row.cfaRegister)) {
        return false;
    }
    const std::uint64_t cfa
        = registers[row.cfaRegister] + static_cast<std::uint64_t>(std::int64_t{row.cfaOffset});
    std::uint64_t returnAddress = 0;
    for (std::size_t i = 0; i < kSavedCount; ++i) {
        const bool isReturn = kSaved[i] == kRegReturn;
        if (row.saved[i] == kSameValue && !isReturn) {
            continue;
        }
        if (row.saved[i] == kSameValue || row.saved[i] == kUndefinedValue) {
            if (isReturn) {
                return false;
            }
            valid &= ~(1U << kSaved[i]);
            continue;
        }
        const auto offset = static_cast<std::uint64_t>(std::int64_t{row.saved[i]} * 8);
        std::uint64_t value = 0;
        if (!load(cfa + offset, value)) {
            return false;
        }
        if (isReturn) {
            returnAddress = value;
        } else {
            registers[kSaved[i]] = value;
            valid |= 1U << kSaved[i];
        }
    }
    return arrive(cfa, returnAddress);
}

bool Walker::stepFull(const UnwindRow& row) {
    std::uint64_t cfa = 0;
    if (row.cfa.kind == RuleKind::Offset) {
        if (!has(row.cfaRegister)) {
            return false;
        }
        cfa = registers[row.cfaRegister] + static_cast<std::uint64_t>(row.cfa.offset);
    } else if (!evaluate(row.cfa.expression, row.cfa.expressionBytes, 0, false, cfa)) {
        return false;
    }
    std::uint64_t next[kRegCount];
    std::memcpy(next, registers, sizeof next);
    std::uint32_t nextValid = valid;
    for (unsigned reg = 0; reg < kRegCount; ++reg) {
        const RegisterRule& rule = row.rules[reg];
        bool known = true;
        switch (rule.kind) {
        case RuleKind::Same:
            continue;
        case RuleKind::Undefined:
            known = false;
            break;
        case RuleKind::Offset:
            known = load(cfa + static_cast<std::uint64_t>(rule.offset), next[reg]);
            break;
        case RuleKind::ValOffset:
            next[reg] = cfa + static_cast<std::uint64_t>(rule.offset);
            break;
        case RuleKind::Register:
            known = rule.offset >= 0 && rule.offset < kRegCount && has(static_cast<unsigned>(rule.offset));
            next[reg] = known ? registers[rule.offset] : 0;
            break;
        case RuleKind::Expression: {
            std::uint64_t address = 0;
            known = evaluate(rule.expression, rule.expressionBytes, cfa, true, address)
                && load(address, next[reg]);
            break;
        }
        case RuleKind::ValExpression:
            known = evaluate(rule.expression, rule.expressionBytes, cfa, true, next[reg]);
            break;
        }
        nextValid = known ? nextValid | 1U << reg : nextValid & ~(1U << reg);
    }
    if ((nextValid >> row.returnRegister & 1U) == 0 || row.rules[row.returnRegister].kind == RuleKind::Same) {
        return false;
    }
    const bool stackRestored = row.rules[kRegRsp].kind != RuleKind::Same;
    const std::uint64_t stackPointer = stackRestored ? next[kRegRsp] : cfa;
    const std::uint64_t returnAddress = next[row.returnRegister];
    const std::uint64_t before = registers[kRegRsp];
    std::memcpy(registers, next, sizeof next);
    registers[kRegRsp] = before;
    valid = nextValid;
    return arrive(stackPointer, returnAddress);
}

// Code without tables: trust rbp only while it climbs the same stack.
bool Walker::stepFramePointer() {
    const std::uint64_t frame = registers[kRegRbp];
    std::uint64_t callerFrame = 0;
    std::uint64_t returnAddress = 0;
    if (!has(kRegRbp) || frame % 8 != 0 || frame < registers[kRegRsp] || frame >= stackTo
        || !load(frame, callerFrame) || !load(frame + 8, returnAddress)) {
        return false;
    }
    MappedModule module;
    if (!findModule(returnAddress - 1, module) && (callerFrame <= frame || callerFrame >= stackTo)) {
        return false;
    }
    registers[kRegRbp] = callerFrame;
    return arrive(frame + 16, returnAddress);
}

bool Walker::step(bool afterCall, bool& callerAfterCall) {
    const std::uint64_t pc = registers[kRegReturn] - (afterCall ? 1 : 0);
    callerAfterCall = true;
    CompactRow small;
    if (cacheFind(pc, small)) {
        return stepCompact(small);
    }
    UnwindRow row;
    if (!findUnwindRow(pc, scratch, row)) {
        return stepFramePointer();
    }
    if (compact(row, small)) {
        cacheStore(pc, small);
        return stepCompact(small);
    }
    callerAfterCall = !row.signalFrame;
    return stepFull(row);
}

// The operations that occur in call frame expressions of x86-64 code (realigned stacks, PLT, signal return).
bool Walker::evaluate(
    const std::uint8_t* code, std::size_t bytes, std::uint64_t cfa, bool pushCfa, std::uint64_t& out) const {
    constexpr std::size_t kDepth = 16;
    std::uint64_t stack[kDepth] = {};
    std::size_t depth = 0;
    if (pushCfa) {
        stack[depth++] = cfa;
    }
    TableBytes in{code, code + bytes, 0, false};
    while (in.cursor < in.end && !in.failed) {
        const auto opcode = in.fixed<std::uint8_t>();
        if (depth + 1 >= kDepth) {
            return false;
        }
        if (opcode >= 0x30 && opcode <= 0x4f) { // lit
            stack[depth++] = opcode - 0x30U;
            continue;
        }
        if (opcode >= 0x70 && opcode <= 0x8f) { // breg
            const unsigned reg = opcode - 0x70U;
            if (reg >= kRegCount || !has(reg)) {
                return false;
            }
            stack[depth++] = registers[reg] + static_cast<std::uint64_t>(in.sleb());
            continue;
        }
        switch (opcode) {
        case 0x08:
            stack[depth++] = in.fixed<std::uint8_t>();
            continue;
        case 0x09:
            stack[depth++] = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int8_t>()});
            continue;
        case 0x0a:
            stack[depth++] = in.fixed<std::uint16_t>();
            continue;
        case 0x0b:
            stack[depth++] = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int16_t>()});
            continue;
        case 0x10:
            stack[depth++] = in.uleb();
            continue;
        case 0x11:
            stack[depth++] = static_cast<std::uint64_t>(in.sleb());
            continue;
        case 0x96: // nop
            continue;
        default:
            break;
        }
        if (depth == 0) {
            return false;
        }
        std::uint64_t& top = stack[depth - 1];
        if (opcode == 0x06) { // deref
            if (!load(top, top)) {
                return false;
            }
            continue;
        }
        if (opcode == 0x23) { // plus_uconst
            top += in.uleb();
            continue;
        }
        if (opcode == 0x12) { // dup
            stack[depth] = top;
            ++depth;
            continue;
        }
        if (depth < 2) {
            return false;
        }
        const std::uint64_t right = stack[--depth];
        std::uint64_t& left = stack[depth - 1];
        const auto signedLeft = static_cast<std::int64_t>(left);
        const auto signedRight = static_cast<std::int64_t>(right);
        switch (opcode) {
        case 0x1a:
            left &= right;
            break;
        case 0x1c:
            left -= right;
            break;
        case 0x1e:
            left *= right;
            break;
        case 0x21:
            left |= right;
            break;
        case 0x22:
            left += right;
            break;
        case 0x24:
            left = right < 64 ? left << right : 0;
            break;
        case 0x25:
            left = right < 64 ? left >> right : 0;
            break;
        case 0x29:
            left = signedLeft == signedRight;
            break;
        case 0x2a:
            left = signedLeft >= signedRight;
            break;
        case 0x2b:
            left = signedLeft > signedRight;
            break;
        case 0x2c:
            left = signedLeft <= signedRight;
            break;
        case 0x2d:
            left = signedLeft < signedRight;
            break;
        case 0x2e:
            left = signedLeft != signedRight;
            break;
        default:
            return false;
        }
    }
    if (in.failed || depth == 0) {
        return false;
    }
    out = stack[depth - 1];
    return true;
}

std::size_t walk(Walker& walker, std::uint64_t* out, std::size_t maxFrames) {
    std::size_t count = 0;
    bool afterCall = false;
    bool callerAfterCall = true;
    while (count < maxFrames && walker.step(afterCall, callerAfterCall)) {
        afterCall = callerAfterCall;
        out[count++] = walker.registers[kRegReturn];
    }
    return count;
}

} // namespace

void forgetUnwindRules() noexcept {
    g_generation.fetch_add(1, std::memory_order_relaxed);
}

__attribute__((noinline)) std::size_t captureStack(std::uint64_t* out, std::size_t maxFrames) noexcept {
    ThreadState& state = t_state;
    if (state.walking) {
        return 0;
    }
    const int savedErrno = errno;
    state.walking = true;
    if (!state.boundsKnown) {
        learnBounds(state);
    }
    Walker walker;
    std::uint64_t* registers = walker.registers;
    // Registers and the place they were read at must belong together: one statement.
    asm volatile("lea 0(%%rip), %%rax\n\t"
                 "mov %%rax, 128(%0)\n\t"
                 "mov %%rsp, 56(%0)\n\t"
                 "mov %%rbp, 48(%0)\n\t"
                 "mov %%rbx, 24(%0)\n\t"
                 "mov %%r12, 96(%0)\n\t"
                 "mov %%r13, 104(%0)\n\t"
                 "mov %%r14, 112(%0)\n\t"
                 "mov %%r15, 120(%0)\n\t"
                 :
                 : "r"(registers)
                 : "rax", "memory");
    walker.valid = 1U << kRegRbx | 1U << kRegRbp | 1U << kRegRsp | 1U << 12 | 1U << 13 | 1U << 14 | 1U << 15
        | 1U << kRegReturn;
    const std::uint64_t here = registers[kRegRsp];
    const bool onOwnStack = here >= state.stackLow && here < state.stackHigh;
    walker.stackFrom = onOwnStack ? here : 0;
    walker.stackTo = onOwnStack ? state.stackHigh : 0;
    const std::size_t count = walk(walker, out, maxFrames < kMaxFrames ? maxFrames : kMaxFrames);
    state.walking = false;
    errno = savedErrno;
    return count;
}

} // namespace gd::stacks
