// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/strips.h"

#include <algorithm>
#include <array>
#include <span>

namespace gd::gui {
namespace {

// Something is here, however little: so much of the bar's colour.
constexpr double kLeastShare = 0.25;
constexpr double kMarkShare = 0.7; // events without duration
// Events from this width on begin with a darker pixel, so that neighbours stay apart.
constexpr double kDarkEdgePx = 4;

// Blends bars into the background with whole numbers: it is done for each pixel of each lane.
class Shades {
public:
    explicit Shades(const Theme& theme)
        : m_ground(parts(theme.background)) {
        for (std::size_t i = 0; i < kCategories; ++i)
            m_bars[i] = parts(theme.category[i]);
    }
    QRgb at(Category category, double share) const {
        const auto weight = static_cast<int>(share * kWhole);
        const Parts& bar = m_bars[static_cast<std::size_t>(category)];
        const auto mix = [&](std::size_t i) {
            return (m_ground[i] * (kWhole - weight) + bar[i] * weight + kWhole / 2) / kWhole;
        };
        return qRgb(mix(0), mix(1), mix(2));
    }

private:
    static constexpr int kWhole = 1 << 16;
    using Parts = std::array<int, 3>;
    static Parts parts(const QColor& color) { return {color.red(), color.green(), color.blue()}; }

    Parts m_ground;
    std::array<Parts, kCategories> m_bars;
};

double busyShare(const Cell& cell) {
    return static_cast<double>(cell.busyNs) / static_cast<double>(cell.spanNs);
}

// One line of pixels, nothing on it yet.
QImage emptyLine(int width) {
    QImage image(std::max(1, width), 1, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    return image;
}

// The cells of a lane from left to right, some at a time.
template <class F> void eachCell(const Lane& lane, const TimeScale& scale, int width, F&& tell) {
    std::array<Cell, 256> cells;
    CellReader reader(lane, scale);
    for (std::size_t x = 0, end = static_cast<std::size_t>(std::max(0, width)); x < end;) {
        const std::span<Cell> some(cells.data(), std::min(cells.size(), end - x));
        reader.read(some);
        for (const Cell& cell : some) {
            if (cell.count > 0)
                tell(x, cell);
            ++x;
        }
    }
}

QImage drawLane(
    const Lane& lane, const NameTable& names, const Shades& shades, const TimeScale& scale, int width) {
    QImage image = emptyLine(width);
    auto* const pixels = reinterpret_cast<QRgb*>(image.scanLine(0));
    eachCell(lane, scale, width, [&](std::size_t x, const Cell& cell) {
        const Category category = names[lane.name(cell.longest)].category;
        if (static_cast<double>(cell.lastNs) >= kDarkEdgePx * scale.nsPerPx)
            pixels[x] = shades.at(category, 0.5);
        else // not busy at all: all of them are without duration
            pixels[x]
                = shades.at(category, cell.busyNs == 0 ? kMarkShare : std::max(kLeastShare, busyShare(cell)));
    });
    return image;
}

// Each pixel shows the lane that is busiest there.
QImage drawBusiest(
    const TrackRow& row, const NameTable& names, const Shades& shades, const TimeScale& scale, int width) {
    QImage image = emptyLine(width);
    auto* const pixels = reinterpret_cast<QRgb*>(image.scanLine(0));
    std::vector<double> most(static_cast<std::size_t>(std::max(1, width)), 0.0);
    for (const auto& lane : row.lanes) {
        eachCell(*lane, scale, width, [&](std::size_t x, const Cell& cell) {
            const double busy = busyShare(cell);
            if (busy <= most[x])
                return;
            most[x] = busy;
            pixels[x] = shades.at(names[lane->name(cell.longest)].category, std::max(kLeastShare, busy));
        });
    }
    return image;
}

QImage drawCurve(const StepCurve& curve, const Theme& theme, const TimeScale& scale, int width, int height) {
    QImage image(std::max(1, width), std::max(1, height), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    const double full = static_cast<double>(std::max<std::int64_t>(1, curve.maximum()));
    const QRgb solid = theme.bar(Category::memory).rgb();
    const QRgb swing = blend(theme.background, theme.bar(Category::memory), 0.45);
    const auto ranges = curve.ranges(scale, width);
    const auto level = [&](std::int64_t value) {
        const double share = std::clamp(static_cast<double>(value) / full, 0.0, 1.0);
        return height - static_cast<int>(share * height + 0.5);
    };
    for (int x = 0; x < width; ++x) {
        const StepCurve::Range& range = ranges[static_cast<std::size_t>(x)];
        const int low = level(range.low);
        for (int y = level(range.high); y < height; ++y)
            reinterpret_cast<QRgb*>(image.scanLine(y))[x] = y < low ? swing : solid;
    }
    return image;
}

} // namespace

Strip drawStrip(const TrackRow& row, const NameTable& names, const Theme& theme, const TimeScale& scale,
    int width, int height) {
    Strip strip{scale, width, {}};
    const Shades shades(theme);
    if (row.kind == RowKind::busy) {
        strip.lanes.push_back(drawBusiest(row, names, shades, scale, width));
        return strip;
    }
    if (row.curve)
        strip.lanes.push_back(drawCurve(*row.curve, theme, scale, width, height));
    for (const auto& lane : row.lanes)
        strip.lanes.push_back(drawLane(*lane, names, shades, scale, width));
    return strip;
}

StripStore::StripStore(QObject* parent)
    : QObject(parent)
    , m_generation(std::make_shared<std::atomic<int>>(0)) { }

StripStore::~StripStore() {
    ++*m_generation;
    m_pool.clear();
    m_pool.waitForDone();
}

void StripStore::request(const std::vector<Wish>& rows, const TimeScale& scale, int width,
    std::shared_ptr<const NameTable> names, const Theme& theme) {
    if (scale != m_scale || width != m_width || &theme != m_theme) {
        ++*m_generation;
        m_pool.clear();
        m_inWork.clear();
        m_scale = scale;
        m_width = width;
        m_theme = &theme;
    }
    const TimeScale wide = scale.panned(-width);
    for (const Wish& wish : rows) {
        if (!m_inWork.emplace(wish.row.get(), wish.height).second)
            continue;
        m_pool.start([this, wish, wide, width, names, &theme, generation = m_generation->load(),
                         current = m_generation] {
            if (*current != generation)
                return;
            Strip strip = drawStrip(*wish.row, *names, theme, wide, 3 * width, wish.height);
            if (*current != generation)
                return;
            m_mail.post([this, wish, strip = std::move(strip), generation]() mutable {
                if (*m_generation != generation)
                    return;
                m_inWork.erase({wish.row.get(), wish.height});
                ++m_made;
                const TrackRow* key = wish.row.get();
                m_strips.insert_or_assign(key, std::make_pair(std::move(wish.row), std::move(strip)));
                emit changed();
            });
        });
    }
}

const Strip* StripStore::find(const TrackRow* row) const {
    const auto at = m_strips.find(row);
    return at == m_strips.end() ? nullptr : &at->second.second;
}

bool StripStore::covers(const Strip& strip, const TimeScale& scale, int width) {
    return strip.scale.nsPerPx == scale.nsPerPx && strip.scale.startNs <= scale.startNs
        && strip.scale.endNs(strip.width) >= scale.endNs(width);
}

void StripStore::clear() {
    ++*m_generation;
    m_pool.clear();
    m_inWork.clear();
    m_strips.clear();
}

void StripStore::waitForDone() {
    m_pool.waitForDone();
    m_mail.deliver();
}

} // namespace gd::gui
