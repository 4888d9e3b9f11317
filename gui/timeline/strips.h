// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/mailbox.h"
#include "gui/model/name_table.h"
#include "gui/model/track_row.h"
#include "gui/model/workers.h"
#include "gui/timeline/theme.h"

#include <QImage>
#include <QObject>

#include <atomic>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::gui {

// The picture of a row for a span of time: one line of pixels a lane, or for a memory row one picture. The
// GUI thread only stretches it. In device pixels.
struct Strip {
    TimeScale scale; // of a device pixel
    int width = 0;
    std::vector<QImage> lanes; // width × 1; memory: one image, width × its height
};

// Draws the strip of a row; called by workers and by tests.
Strip drawStrip(const TrackRow& row, const NameTable& names, const Theme& theme, const TimeScale& scale,
    int width, int height);

// Strips of rows, made by a thread pool. Asking for another scale drops what has not begun; what is finished
// replaces the older strip of its row. A changed() follows each finished strip.
class StripStore : public QObject {
    Q_OBJECT
public:
    explicit StripStore(QObject* parent = nullptr);
    ~StripStore() override;

    struct Wish {
        RowPtr row;
        int height = 1; // device pixels, for memory rows
    };
    // Makes strips for these rows with `scale` (of a device pixel) that cover three times `width`. Rows that
    // are in work at this scale already are not begun again: rows arrive one by one while a trace is read.
    void request(const std::vector<Wish>& rows, const TimeScale& scale, int width,
        std::shared_ptr<const NameTable> names, const Theme& theme);
    // The newest strip of a row; null: none yet.
    const Strip* find(const TrackRow* row) const;
    // Whether it shows all of [0, width) at this scale as it is.
    static bool covers(const Strip& strip, const TimeScale& scale, int width);
    bool idle() const { return m_inWork.empty(); }
    int made() const { return m_made; } // strips so far: panning inside the fetched span makes none
    void clear();
    void waitForDone(); // and takes what was made

signals:
    void changed();

private:
    Mailbox m_mail;
    Workers m_pool{Workers::cores()};
    std::unordered_map<const TrackRow*, std::pair<RowPtr, Strip>> m_strips;
    std::shared_ptr<std::atomic<int>> m_generation;
    TimeScale m_scale; // of what is in work
    int m_width = 0;
    const Theme* m_theme = nullptr;
    std::set<std::pair<const TrackRow*, int>> m_inWork; // with their height
    int m_made = 0;
};

} // namespace gd::gui
