// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/facts.h"

#include "analyzer/facts/capture_risk.h"
#include "analyzer/facts/comm_cost.h"
#include "analyzer/facts/device_fault.h"
#include "analyzer/facts/frozen_shape.h"
#include "analyzer/facts/graph_payoff.h"
#include "analyzer/facts/job_words.h"
#include "analyzer/facts/node_place.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/pool_conflict.h"
#include "analyzer/facts/rank_divergence.h"
#include "analyzer/facts/rank_graph.h"
#include "analyzer/facts/recapture.h"
#include "analyzer/facts/ring_peers.h"
#include "analyzer/facts/stall.h"
#include "analyzer/facts/unordered_access.h"
#include "analyzer/facts/unordered_copy.h"
#include "analyzer/schema/schema_sql.h"

#include <regex>
#include <string>
#include <vector>

namespace gd::facts {
namespace {

std::vector<std::string> tablesOf(const std::string& schema) {
    std::vector<std::string> tables;
    const std::regex create(R"(CREATE TABLE (\w+))");
    for (auto match = std::sregex_iterator(schema.begin(), schema.end(), create);
         match != std::sregex_iterator(); ++match)
        tables.push_back((*match)[1]);
    return tables;
}

Result<void> createTables(Db& db, bool inTempSchema) {
    std::string schema(schema::factsSchema());
    const std::string place = inTempSchema ? "temp" : "main";
    for (const std::string& table : tablesOf(schema)) {
        // A table left in temp would hide the one that is built in main.
        GD_TRY(db.exec("DROP TABLE IF EXISTS temp." + table));
        if (!inTempSchema)
            GD_TRY(db.exec("DROP TABLE IF EXISTS main." + table));
    }
    schema = std::regex_replace(schema, std::regex("CREATE TABLE "), "CREATE TABLE " + place + ".");
    schema = std::regex_replace(schema, std::regex("CREATE INDEX "), "CREATE INDEX " + place + ".");
    return db.exec(schema);
}

Result<void> buildAll(FactContext& context) {
    GD_TRY(buildSteps(context));
    GD_TRY(buildCaptureOutcome(context));
    GD_TRY(buildCaptureLeak(context));
    GD_TRY(buildReplayGap(context));
    GD_TRY(buildExecReuse(context));
    GD_TRY(buildDeviceBusy(context));
    GD_TRY(buildMemoryStep(context));
    GD_TRY(buildStalePointer(context));
    GD_TRY(buildMemoryWatch(context));
    GD_TRY(buildNodePlace(context));
    GD_TRY(buildFrozenScalar(context));
    GD_TRY(buildFrozenShape(context));
    GD_TRY(buildFallback(context));
    GD_TRY(buildNccl(context));
    GD_TRY(buildCommLifetime(context));
    GD_TRY(buildRecapture(context));
    GD_TRY(buildCaptureRisk(context));
    GD_TRY(buildRankDivergence(context));
    GD_TRY(buildRankGraph(context));
    GD_TRY(buildGraphDecision(context));
    GD_TRY(buildStatedVersion(context));
    GD_TRY(buildUnorderedAccess(context));
    GD_TRY(buildPoolConflict(context));
    GD_TRY(buildUnorderedCopy(context));
    GD_TRY(buildRingPeers(context));
    GD_TRY(buildCommCost(context));
    GD_TRY(buildStall(context));
    GD_TRY(buildGraphPayoff(context));
    GD_TRY(buildDeviceFault(context));
    return buildVitalSigns(context);
}

} // namespace

Result<void> buildFacts(Db& db, const FactsOptions& options) {
    GD_TRY_ASSIGN(auto transaction, Transaction::begin(db));
    GD_TRY(createTables(db, options.inTempSchema).context("creating fact tables"));
    GD_TRY_ASSIGN(auto raw, readRawData(db).context("reading raw tables"));
    GD_TRY_ASSIGN(auto stacks, StackReader::open(db));
    FactContext context{db, options, raw, stacks, {}};
    for (const ProcessData& process : raw.processes)
        context.timelines.push_back(deviceTimelines(context.raw, process));
    GD_TRY(buildAll(context).context("building facts"));
    if (!options.inTempSchema) {
        GD_TRY_ASSIGN(
            auto meta, db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('facts_version', ?)"));
        GD_TRY(meta.runWith(std::to_string(kFactsVersion)));
        if (options.stepRange) {
            GD_TRY_ASSIGN(
                auto range, db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('step_range', ?)"));
            GD_TRY(range.runWith(*options.stepRange));
        }
    }
    return transaction.commit();
}

} // namespace gd::facts
