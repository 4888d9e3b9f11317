// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::facts {

// Which replays of one process begin only when others have ended: those of one stream, and what waits for an
// event (cuStreamWaitEvent) that was recorded behind them, over any number of streams. Built from the calls
// that were recorded, in the order in which they began; calls of a thread that captures order nothing and are
// left out.
class StreamOrder {
public:
    explicit StreamOrder(const ProcessData& process);

    // Both are replays of that process whose launch succeeded. False also where the calls that would say so
    // were not recorded: ask ProcessData::complete("callbacks", ...) over the time from one launch to the
    // other.
    bool isBefore(const Replay& first, const Replay& second) const;

private:
    // How many replays of each stream have ended before anything that comes now; sorted by stream.
    using Ended = std::vector<std::pair<std::int64_t, std::int64_t>>;

    struct Stream {
        std::shared_ptr<const Ended> ended; // null: none of another stream
        std::int64_t launched = 0;
    };
    struct Place {
        std::shared_ptr<const Ended> ended;
        std::int64_t number = 0; // on its own stream, from 1
    };

    static std::shared_ptr<const Ended> merged(
        const std::shared_ptr<const Ended>& a, const std::shared_ptr<const Ended>& b);
    static std::shared_ptr<const Ended> withOwn(const Stream& stream, std::int64_t streamId);

    const ProcessData& m_process;
    std::vector<Place> m_places; // as ProcessData::replays
};

} // namespace gd::facts
