// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/refusal.h"

#include "collector/session/sink.h"
#include "collector/session/system.h"

#include <atomic>
#include <iterator>

namespace gd::cupti {

namespace {

using raw::IssueSeverity;

struct Text {
    const char* code;
    IssueSeverity severity;
    bool isSaid; ///< on stderr, too
    const char* sentence;
};

constexpr Text kTexts[] = {
    {"callbacks_refused", IssueSeverity::Error, true,
        "CUPTI does not report all calls it was asked for: calls are missing"},
    {"devices_unknown", IssueSeverity::DataLoss, false,
        "CUPTI does not tell which device a context is on: calls and memory count for device 0"},
    {"streams_unknown", IssueSeverity::DataLoss, false,
        "CUPTI does not tell the numbers of streams: device work cannot be told apart by stream"},
    {"graphs_unknown", IssueSeverity::Error, true,
        "CUPTI does not tell the numbers of graphs: graphs are missing"},
    {"cupti_version", IssueSeverity::Error, true,
        "the activity records of this CUPTI version are not known: calls are recorded, device times are not"},
    {"activity_refused", IssueSeverity::Error, true,
        "CUPTI refused activity buffers: calls are recorded, device times are not"},
    {"activity_kind_refused", IssueSeverity::DataLoss, false,
        "CUPTI refused a kind of activity: that kind is missing"},
    {"activity_kind_stuck", IssueSeverity::Info, false,
        "CUPTI refused to switch a kind of activity off: recording costs more than it should"},
    {"activity_unreadable", IssueSeverity::DataLoss, false,
        "CUPTI refused to hand out records of a buffer: device times are missing"},
    {"drops_unknown", IssueSeverity::DataLoss, false,
        "CUPTI does not tell how many activity records it dropped: device times may be missing"},
    {"flush_refused", IssueSeverity::DataLoss, false,
        "CUPTI refused to flush: device times of the last buffers are missing"},
};
static_assert(std::size(kTexts) == static_cast<std::size_t>(Refusal::Count));

std::atomic<bool> g_told[std::size(kTexts)] = {};

} // namespace

bool wasRefused(Refusal what) noexcept {
    return g_told[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
}

void refused(Refusal what) noexcept {
    if (g_told[static_cast<std::size_t>(what)].exchange(true, std::memory_order_relaxed)) {
        return;
    }
    const Text& text = kTexts[static_cast<std::size_t>(what)];
    if (text.isSaid) {
        session::complain(text.sentence);
    }
    session::sink::issue(text.severity, text.code, text.sentence);
    if (what == Refusal::Callbacks || what == Refusal::Graphs) {
        session::sink::coverage(raw::CoverageSource::callbacks, raw::CoverageState::Partial, text.sentence);
    }
    if (what == Refusal::Graphs) {
        session::sink::coverage(raw::CoverageSource::node_params, raw::CoverageState::Partial, text.sentence);
    }
}

} // namespace gd::cupti
