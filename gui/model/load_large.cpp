// SPDX-License-Identifier: Apache-2.0
#include "gui/model/load_large.h"

#include "analyzer/base/statement.h"
#include "analyzer/store/trace.h"
#include "gui/model/words.h"
#include "gui/model/workers.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace gd::gui {
namespace {

constexpr std::size_t kMostThreads = 4;

const char* sqlOf(const std::string& table) {
    if (table == "kernel")
        return "SELECT kernel_id, start_ns, dur_ns, shape_id, node_id FROM kernel "
               "WHERE kernel_id BETWEEN ? AND ?";
    if (table == "memcpy")
        return "SELECT memcpy_id, start_ns, dur_ns, copy_kind FROM memcpy WHERE memcpy_id BETWEEN ? AND ?";
    if (table == "memset")
        return "SELECT memset_id, start_ns, dur_ns FROM memset WHERE memset_id BETWEEN ? AND ?";
    return "SELECT api_call_id, start_ns, end_ns, api_id FROM api_call WHERE api_call_id BETWEEN ? AND ?";
}

// What two connections to one trace agree on.
Result<std::string> identity(Db& db) {
    GD_TRY_ASSIGN(const auto text,
        db.queryText("SELECT (SELECT coalesce(group_concat(key || '=' || value), '') FROM meta) || "
                     "(SELECT coalesce(group_concat(track_id || ':' || coalesce(first_rowid, '') || '-' || "
                     "coalesce(last_rowid, '')), '') FROM track)"));
    return text.value_or("");
}

class Reader {
public:
    Reader(TrackLoad& load, std::vector<LargeRow> rows, const LargeNames& names)
        : m_load(load)
        , m_names(names) {
        for (LargeRow& row : rows)
            m_rows.push_back(std::make_unique<Row>(std::move(row)));
        for (const auto& row : m_rows)
            cut(*row);
    }

    LargeResult run() {
        std::vector<std::thread> helpers;
        const std::size_t most
            = m_load.threads > 0 ? m_load.threads : std::min(Workers::cores(), kMostThreads);
        const std::size_t threads = std::min(most, m_pieces.size());
        if (!m_load.file.empty() && threads > 1) {
            m_identity = identity(m_load.db).value_or("");
            for (std::size_t i = 1; i < threads && !m_identity.empty(); ++i)
                helpers.emplace_back([this] { help(); });
        }
        work(m_load.db);
        for (std::thread& helper : helpers)
            helper.join();
        m_load.readers = m_readers;
        return std::move(m_result);
    }

private:
    struct Row {
        explicit Row(LargeRow row)
            : large(std::move(row)) { }
        LargeRow large;
        std::vector<std::vector<Event>> read; // by piece
        std::atomic<std::size_t> open = 0; // pieces that are not read yet
    };
    struct Piece {
        Row* row = nullptr;
        std::size_t number = 0; // in row->read
        LargeRow::Part part;
        std::int64_t first = 0, last = -1; // rowids
    };

    void cut(Row& row) {
        for (const LargeRow::Part& part : row.large.parts) {
            // Whatever a damaged trace says of its rows: only these can be addressed.
            const std::int64_t most = part.track->first + (std::int64_t{1} << TrackRow::kOffsetBits) - 1;
            const std::int64_t past = std::min(part.track->last, most) + 1;
            for (std::int64_t first = part.track->first; first < past; first += m_load.pieceRows) {
                m_pieces.push_back(
                    {&row, row.read.size(), part, first, std::min(past, first + m_load.pieceRows) - 1});
                row.read.emplace_back();
            }
        }
        row.open = row.read.size();
    }

    void help() {
        auto trace = store::Trace::open(m_load.file);
        if (!trace)
            return;
        const auto own = identity(trace->db());
        if (!own || *own != m_identity)
            return;
        ++m_readers;
        work(trace->db());
    }

    void work(Db& db) {
        std::map<std::string, std::optional<Statement>> statements;
        LargeResult found;
        while (!m_load.stop) {
            const std::size_t next = m_next++;
            if (next >= m_pieces.size())
                break;
            const Piece& piece = m_pieces[next];
            const std::string& table = piece.part.track->table;
            const auto read = readPiece(db, statements[table], piece, found);
            if (!read)
                found.problems.emplace_back(table, read.error().message);
            if (--piece.row->open == 0 && !m_load.stop)
                finish(*piece.row, found);
        }
        const std::lock_guard lock(m_mutex);
        m_result.leftOut += found.leftOut;
        m_result.comm.insert(m_result.comm.end(), found.comm.begin(), found.comm.end());
        for (auto& problem : found.problems) {
            if (std::find(m_result.problems.begin(), m_result.problems.end(), problem)
                == m_result.problems.end())
                m_result.problems.push_back(std::move(problem));
        }
    }
    Result<void> readPiece(
        Db& db, std::optional<Statement>& statement, const Piece& piece, LargeResult& found) {
        const std::string& table = piece.part.track->table;
        if (!statement) {
            GD_TRY_ASSIGN(auto made, db.prepare(sqlOf(table)));
            statement.emplace(std::move(made));
        }
        Statement& rows = *statement;
        rows.reset();
        rows.bind(1, piece.first);
        rows.bind(2, piece.last);
        const auto one = table == "kernel" ? &Reader::kernel
            : table == "memcpy"            ? &Reader::copy
            : table == "memset"            ? &Reader::fill
                                           : &Reader::call;
        std::vector<Event>& events = piece.row->read[piece.number];
        events.reserve(static_cast<std::size_t>(piece.last - piece.first + 1));
        for (std::size_t n = 0; n % 4096 != 0 || !m_load.stop; ++n) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                break;
            if (piece.row->large.draft.canHold(piece.part.slice, rows.int64(0)))
                events.push_back((this->*one)(rows, piece, found));
        }
        rows.reset();
        return {};
    }
    Event kernel(const Statement& r, const Piece& piece, LargeResult& found) {
        const std::uint32_t name = m_names.kernels.get(r.int64(3), m_names.kernel);
        const std::int64_t end = r.int64(1) + r.int64(2);
        const NameTable::Entry& entry = m_load.names[name];
        if (entry.category == Category::comm)
            found.comm.push_back(
                {piece.part.track->process, r.int64(0), r.int64(1), end, name, piece.part.track->number,
                    r.optionalInt64(4).value_or(-1), 0, report::isOneSided(entry.text)});
        return event(r, piece, end, name);
    }
    Event copy(const Statement& r, const Piece& piece, LargeResult&) {
        std::unique_lock lock(m_mutex); // there are a handful of kinds
        const std::uint32_t name = m_load.names.intern(fmt::format("memcpy {}", r.text(3)), Category::copy);
        lock.unlock();
        return event(r, piece, r.int64(1) + r.int64(2), name);
    }
    Event fill(const Statement& r, const Piece& piece, LargeResult&) {
        return event(r, piece, r.int64(1) + r.int64(2), m_names.fill);
    }
    Event call(const Statement& r, const Piece& piece, LargeResult&) {
        return event(r, piece, r.isNull(2) ? m_load.info.endOf(piece.part.track->process) : r.int64(2),
            m_names.calls.get(r.int64(3), m_names.call));
    }
    static Event event(const Statement& r, const Piece& piece, std::int64_t endNs, std::uint32_t name) {
        return piece.row->large.draft.event(piece.part.slice, r.int64(0), r.int64(1), endNs, name);
    }

    void finish(Row& row, LargeResult& found) {
        std::size_t count = 0;
        for (const auto& piece : row.read)
            count += piece.size();
        if (count == 0)
            return;
        LaneBuilder& lanes = row.large.draft.lanes;
        lanes.reserve(count);
        for (auto& piece : row.read) {
            for (const Event& event : piece)
                lanes.add(event);
            std::vector<Event>().swap(piece);
        }
        LaneBuilder::Built built = std::move(lanes).build();
        found.leftOut += built.leftOut;
        row.large.draft.row.lanes = std::move(built.lanes);
        const auto whole = std::make_shared<const TrackRow>(std::move(row.large.draft.row));
        const std::lock_guard lock(m_mutex);
        if (!m_load.stop)
            m_load.deliver(whole);
    }

    TrackLoad& m_load;
    const LargeNames& m_names;
    std::vector<std::unique_ptr<Row>> m_rows;
    std::vector<Piece> m_pieces;
    std::atomic<std::size_t> m_next = 0; // piece
    std::atomic<std::size_t> m_readers = 1;
    std::string m_identity;
    std::mutex m_mutex;
    LargeResult m_result;
};

} // namespace

LargeResult readLargeRows(TrackLoad& load, std::vector<LargeRow> rows, const LargeNames& names) {
    return Reader(load, std::move(rows), names).run();
}

} // namespace gd::gui
