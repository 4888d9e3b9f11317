// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <map>
#include <utility>
#include <vector>

namespace gd::facts {

// A call that failed while a capture was open.
struct CaptureFail {
    std::int64_t apiId = 0;
    std::string apiClass; // the column's word
    KnownCall known = KnownCall::none;
    std::int64_t result = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t threadId = 0;
    std::int64_t stackId = 0;
    std::int64_t streamId = 0;
    std::int64_t objectId = 0;
    std::int64_t bytes = 0;
    bool memberStream = false;
    bool memberEvent = false;
    bool legacyStream = false;
    bool sameDevice = false;
    std::int64_t otherCaptureId = 0;
    std::optional<std::int64_t> eventRecordNs;
    std::int64_t eventStreamId = 0;

    bool isEnd() const { return known == KnownCall::endCapture; }
};

// All of one capture, in the order in which they happened.
struct CaptureFails {
    std::vector<CaptureFail> all;

    // The first with a capture's own code (900 to 908, or 401), else the first of any code; the end call
    // itself and answers that are no failure (not ready, peer access already enabled) do not count. A pointer
    // query that fails on host memory is everyday life and invalidates nothing: hence the preference.
    const CaptureFail* first() const;
    // The last end call that failed without ending the capture.
    const CaptureFail* endCall() const;
    std::int64_t laterThan(const CaptureFail* fail) const;
    bool outOfMemoryBefore(const CaptureFail* fail) const;
};

using CaptureKey = std::pair<std::int64_t, std::int64_t>; // process, capture
Result<std::map<CaptureKey, CaptureFails>> readCaptureFails(Db& db);
// Captures that ended well, but whose event a host call asked for afterwards: the driver refuses it as an
// invalid value or handle, and no record of the capture says so. The first such call becomes the failure.
void addEventsAskedAfterwards(const RawData& raw, std::map<CaptureKey, CaptureFails>& fails);

} // namespace gd::facts
