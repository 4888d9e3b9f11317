// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <unordered_map>

namespace gd::facts {

// Which streams of a process the legacy default stream orders.
class StreamKinds {
public:
    static Result<StreamKinds> read(Db& db, std::int64_t processId);

    // One of them is the legacy stream, or may be, and the other waits for it.
    bool areOrdered(std::int64_t a, std::int64_t b) const { return waitsFor(a, b) || waitsFor(b, a); }
    // Work of the first stream, the legacy one or perhaps so, waits for what was put into the second before.
    bool waitsFor(std::int64_t legacy, std::int64_t other) const {
        return kindOf(legacy).isDefault && !kindOf(other).isNonBlocking;
    }

private:
    struct Kind {
        bool isNonBlocking = false;
        bool isDefault = true;
    };
    Kind kindOf(std::int64_t stream) const {
        const auto found = m_kinds.find(stream);
        return found == m_kinds.end() ? Kind{} : found->second;
    }
    std::unordered_map<std::int64_t, Kind> m_kinds;
};

} // namespace gd::facts
