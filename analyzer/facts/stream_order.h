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
    // `copies`: calls that put other work than replays into streams, in order of start.
    explicit StreamOrder(const ProcessData& process, const std::vector<const ApiCall*>& copies = {});

    // Both are replays of that process whose launch succeeded. False also where the calls that would say so
    // were not recorded: ask ProcessData::complete("callbacks", ...) over the time from one launch to the
    // other.
    bool isBefore(const Replay& first, const Replay& second) const;
    // One of them begins only when the other has ended. `copy`: index into `copies`.
    bool isOrdered(const Replay& replay, std::size_t copy) const;

private:
    // How many replays and copies of each stream have ended before anything that comes now; sorted by stream.
    using Ended = std::vector<std::pair<std::int64_t, std::int64_t>>;

    struct Stream {
        std::shared_ptr<const Ended> ended; // null: none of another stream
        std::int64_t launched = 0;
    };
    struct Place {
        std::shared_ptr<const Ended> ended;
        std::int64_t streamId = 0;
        std::int64_t number = 0; // on its own stream, from 1; 0 = unknown
    };

    static std::shared_ptr<const Ended> merged(
        const std::shared_ptr<const Ended>& a, const std::shared_ptr<const Ended>& b);
    static std::shared_ptr<const Ended> withOwn(const Stream& stream, std::int64_t streamId);

    static bool isBefore(const Place& first, const Place& second);
    const Place& placeOf(const Replay& replay) const;

    const ProcessData& m_process;
    std::vector<Place> m_places; // as ProcessData::replays
    std::vector<Place> m_copies;
};

} // namespace gd::facts
