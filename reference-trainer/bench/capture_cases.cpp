// SPDX-License-Identifier: Apache-2.0
#include "capture_cases.h"

namespace gdt::bench {

namespace {

constexpr const char* kModes[] = {"global", "thread", "relaxed"};

/// A call made while another stream captures, and the code it gives per [mode][same thread, other thread].
/// When the call gives a capture error, the capture is invalidated.
struct CrossedCall {
    const char* name;
    const char* before; ///< steps before the capture
    const char* call;
    int codes[3][2];
    bool keepsCapture; ///< the error code leaves the capture active
};

// Non-blocking stream n1 captures; the call touches nothing that belongs to the capture.
constexpr CrossedCall kUnrelated[] = {
    {"malloc", "", "malloc m2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"free", "malloc m2 = 0; ", "free m2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"hostalloc", "", "hostalloc h2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"hostfree", "hostalloc h2 = 0; ", "hostfree h2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"copy-to-device-sync", "", "memcpy", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"copy-to-host-sync", "", "memcpyback", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"fill-sync", "", "memset", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"sync-legacy", "", "sync L", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"query-legacy", "", "query L", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"memory-info", "", "meminfo", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"device-sync", "", "devsync", {{900, 900}, {900, 900}, {900, 900}}, false},
    {"sync-nonmember", "mkstream n2 = 0; ", "sync n2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"query-nonmember", "mkstream n2 = 0; ", "query n2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"event-query-uncaptured", "mkevent e1 = 0; ", "evquery e1", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"event-sync-uncaptured", "mkevent e1 = 0; ", "evsync e1", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"create-stream", "", "mkstream n2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"destroy-stream-nonmember", "mkstream n2 = 0; ", "rmstream n2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"create-event", "", "mkevent e1", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"destroy-event", "mkevent e1 = 0; ", "rmevent e1", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"launch-nonmember", "mkstream n2 = 0; ", "launch n2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"launch-legacy-beside-nonblocking", "", "launch L", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"copy-pageable-nonmember", "mkstream n2 = 0; ", "copyp n2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"alloc-async-nonmember", "mkstream n2 = 0; ", "amalloc m2 n2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"alloc-async-nonmember-warm", "mkstream n2 = 0; amalloc m3 n2 = 0; afree m3 n2 = 0; ", "amalloc m2 n2",
        {{900, 900}, {900, 0}, {0, 0}}, false},
    {"free-async-nonmember", "mkstream n2 = 0; amalloc m2 n2 = 0; ", "afree m2 n2",
        {{900, 900}, {900, 0}, {0, 0}}, false},
    {"destroy-exec", "mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; inst x2 g2 = 0; ",
        "rmexec x2", {{900, 900}, {900, 0}, {0, 0}}, false},
    {"destroy-graph", "mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; ", "rmgraph g2",
        {{0, 0}, {0, 0}, {0, 0}}, false},
    {"instantiate", "mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; ", "inst x2 g2",
        {{900, 900}, {900, 0}, {0, 0}}, false},
    {"replay-nonmember",
        "mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; inst x2 g2 = 0; ",
        "replay x2 n2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"update-exec", "mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; inst x2 g2 = 0; ",
        "update x2 g2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"begin-second-capture", "mkstream n2 = 0; ", "begin n2 relaxed", {{0, 0}, {0, 0}, {0, 0}}, false},
};

// Blocking stream b1 captures; the call uses the legacy default stream.
constexpr CrossedCall kLegacy[] = {
    {"launch", "", "launch L", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"copy", "", "copy L", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"memcpy-sync", "", "memcpy", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"memset-sync", "", "memset", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"record", "mkevent e1 = 0; ", "record e1 L", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"wait", "mkevent e1 = 0; ", "wait L e1", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"sync", "", "sync L", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"query", "", "query L", {{906, 906}, {906, 906}, {906, 906}}, false},
    {"launch-other-blocking", "mkstream b2 = 0; ", "launch b2", {{0, 0}, {0, 0}, {0, 0}}, false},
};

// The call touches the capture itself: stream n1 captures, event e1 was recorded in it.
constexpr CrossedCall kMember[] = {
    {"sync", "", "sync n1", {{900, 900}, {900, 900}, {900, 900}}, false},
    {"query", "", "query n1", {{900, 900}, {900, 900}, {900, 900}}, false},
    {"event-query", "", "evquery e1", {{907, 907}, {907, 907}, {907, 907}}, false},
    {"event-sync", "", "evsync e1", {{907, 907}, {907, 907}, {907, 907}}, false},
    {"launch", "", "launch n1", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"begin-again", "", "begin n1 global", {{401, 401}, {401, 401}, {401, 401}}, true},
    {"wait-uncaptured", "mkstream n2 = 0; mkevent e2 = 0; record e2 n2 = 0; ", "wait n1 e2",
        {{905, 905}, {905, 905}, {905, 905}}, false},
    {"wait-never-recorded", "mkevent e2 = 0; ", "wait n1 e2", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"destroy-stream", "", "rmstream n1", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"destroy-event", "", "rmevent e1", {{0, 0}, {0, 0}, {0, 0}}, false},
    {"elapsed", "mkevent e2 = 0; ", "elapsed e2 e1", {{400, 400}, {400, 400}, {400, 400}}, false},
};

// [capture mode][mode that the calling thread exchanged to] for an allocation in the capturing and in another
// thread.
struct ExchangedMode {
    int same[3][3];
    int other[3][3];
};
constexpr ExchangedMode kExchanged = {
    {{900, 900, 0}, {900, 900, 0}, {0, 0, 0}},
    {{900, 0, 0}, {0, 0, 0}, {0, 0, 0}},
};

std::string threadName(int other) {
    return other != 0 ? "other-thread" : "same-thread";
}

CaptureCase crossed(
    const char* group, const CrossedCall& item, const char* stream, bool member, int mode, int other) {
    const int code = item.codes[mode][other];
    const bool invalidates = code >= 900 && !item.keepsCapture;
    const std::string s = stream;
    std::string script = "mkstream " + s + " = 0; ";
    script += item.before;
    if (member)
        script += "mkevent e1 = 0; ";
    script += "begin " + s + " " + kModes[mode] + " = 0; launch " + s + " = 0; ";
    if (member)
        script += "record e1 " + s + " = 0; ";
    script += std::string(other != 0 ? "2: " : "") + item.call + " = " + std::to_string(code);
    if (std::string(item.call) != "rmstream " + s) {
        script += "; status " + s + " = " + (invalidates ? "2" : "1");
        script += "; end " + s + " g1 = " + (invalidates ? "901" : "0");
        script += "; status " + s + " = 0";
    }
    return {std::string(group) + "/" + item.name + "/" + kModes[mode] + "/" + threadName(other), script};
}

template <std::size_t N>
void cross(std::vector<CaptureCase>& cases, const char* group, const CrossedCall (&items)[N],
    const char* stream, bool member) {
    for (const CrossedCall& item : items) {
        for (int mode = 0; mode < 3; ++mode) {
            for (int other = 0; other < 2; ++other)
                cases.push_back(crossed(group, item, stream, member, mode, other));
        }
    }
}

void exchangedModes(std::vector<CaptureCase>& cases) {
    for (int mode = 0; mode < 3; ++mode) {
        for (int thread = 0; thread < 3; ++thread) {
            for (int other = 0; other < 2; ++other) {
                const int code = other != 0 ? kExchanged.other[mode][thread] : kExchanged.same[mode][thread];
                const std::string who = other != 0 ? "2: " : "";
                cases.push_back({std::string("exchanged-mode/capture-") + kModes[mode] + "/thread-"
                        + kModes[thread] + "/" + threadName(other),
                    std::string("mkstream n1 = 0; begin n1 ") + kModes[mode] + " = 0; launch n1 = 0; " + who
                        + "mode " + kModes[thread] + " = 0; " + who + "malloc m2 = " + std::to_string(code)
                        + "; status n1 = " + (code != 0 ? "2" : "1")
                        + "; end n1 g1 = " + (code != 0 ? "901" : "0")});
            }
        }
    }
}

// Each mode ends in the other thread.
void endings(std::vector<CaptureCase>& cases) {
    const int codes[3] = {908, 908, 0};
    for (int mode = 0; mode < 3; ++mode) {
        const std::string begin
            = std::string("mkstream n1 = 0; begin n1 ") + kModes[mode] + " = 0; launch n1 = 0; ";
        cases.push_back({std::string("end/other-thread/") + kModes[mode],
            begin + "2: end n1 g1 = " + std::to_string(codes[mode])
                + "; status n1 = 0; end n1 g2 = 401; begin n1 global = 0; launch n1 = 0; end n1 g2 = 0; "
                  "nodes g2 = 1"});
        cases.push_back({std::string("end/forked-stream/") + kModes[mode],
            "mkstream n2 = 0; mkevent e1 = 0; " + begin
                + "record e1 n1 = 0; wait n2 e1 = 0; end n2 g1 = 903; status n1 = 2; end n1 g1 = 901"});
        cases.push_back({std::string("end/unjoined/") + kModes[mode],
            "mkstream n2 = 0; mkevent e1 = 0; " + begin
                + "record e1 n1 = 0; wait n2 e1 = 0; launch n2 = 0; end n1 g1 = 904; status n1 = 0; status "
                  "n2 = 0"});
    }
}

const std::vector<CaptureCase>& structural() {
    static const std::vector<CaptureCase> kCases = {
        {"node/kernel-copy-fill-host",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; copy n1 = 0; fill n1 = 0; hostfn n1 = 0; "
            "end n1 g1 = 0; "
            "nodes g1 = 4"},
        {"node/empty-capture", "mkstream n1 = 0; begin n1 global = 0; end n1 g1 = 0; nodes g1 = 0"},
        {"node/pageable-copy",
            "mkstream n1 = 0; begin n1 global = 0; copyp n1 = 0; end n1 g1 = 0; nodes g1 = 1"},
        {"node/capture-runs-nothing",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; counter = 0; inst x1 g1 = "
            "0; "
            "replay x1 n1 = 0; replay x1 n1 = 0; counter = 2"},
        {"node/alloc-free",
            "mkstream n1 = 0; begin n1 global = 0; amalloc m2 n1 = 0; afree m2 n1 = 0; end n1 g1 = 0; nodes "
            "g1 = 2; "
            "inst x1 g1 = 0; replay x1 n1 = 0; replay x1 n1 = 0; sync n1 = 0"},
        {"node/host-function-api",
            "mkstream n1 = 0; hostcode = -1; hostfnapi n1 = 0; sync n1 = 0; hostcode = 800"},
        {"node/external-events",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; recordx e1 n1 = 0; waitx "
            "n1 e1 = 0; "
            "end n1 g1 = 0; nodes g1 = 3"},
        {"node/external-event-outside-capture",
            "mkstream n1 = 0; mkevent e1 = 0; recordx e1 n1 = 401; waitx n1 e1 = 401; sync n1 = 0"},
        {"leak/kernel-beside-capture-runs-once",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; launch n2 = 0; end n1 g1 = 0; counter = "
            "1; "
            "nodes g1 = 0"},
        {"fork/joined",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; mkevent e2 = 0; begin n1 global = 0; launch "
            "n1 = 0; "
            "record e1 n1 = 0; wait n2 e1 = 0; status n2 = 1; launch n2 = 0; record e2 n2 = 0; wait n1 e2 = "
            "0; "
            "end n1 g1 = 0; nodes g1 = 2; status n2 = 0; inst x1 g1 = 0; replay x1 n1 = 0; counter = 2"},
        {"fork/without-work-unjoined",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 "
            "n1 = 0; "
            "wait n2 e1 = 0; end n1 g1 = 0; status n2 = 0"},
        {"fork/unjoined-then-retry",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 "
            "n1 = 0; "
            "wait n2 e1 = 0; launch n2 = 0; end n1 g1 = 904; begin n1 global = 0; launch n1 = 0; end n1 g1 = "
            "0; nodes g1 = 1"},
        {"fork/joined-through-third",
            "mkstream n1 = 0; mkstream n2 = 0; mkstream n3 = 0; mkevent e1 = 0; mkevent e2 = 0; mkevent e3 = "
            "0; "
            "begin n1 global = 0; launch n1 = 0; record e1 n1 = 0; wait n2 e1 = 0; launch n2 = 0; record e2 "
            "n2 = 0; "
            "wait n3 e2 = 0; launch n3 = 0; record e3 n3 = 0; wait n1 e3 = 0; end n1 g1 = 0; nodes g1 = 3"},
        {"fork/work-after-join-record",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; mkevent e2 = 0; begin n1 global = 0; launch "
            "n1 = 0; "
            "record e1 n1 = 0; wait n2 e1 = 0; launch n2 = 0; record e2 n2 = 0; wait n1 e2 = 0; launch n2 = "
            "0; "
            "end n1 g1 = 904"},
        {"fork/sync-forked-stream",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 relaxed = 0; launch n1 = 0; record "
            "e1 n1 = 0; "
            "wait n2 e1 = 0; sync n2 = 900; status n1 = 2; end n1 g1 = 901; status n2 = 0"},
        {"fork/event-rerecorded-outside",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 relaxed = 0; launch n1 = 0; record "
            "e1 n1 = 0; "
            "record e1 n2 = 0; evsync e1 = 0; end n1 g1 = 0"},
        {"end/not-capturing", "mkstream n1 = 0; end n1 g1 = 401"},
        {"end/legacy", "end L g1 = 401"},
        {"end/other-not-capturing",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; end n2 g1 = 401; status n1 = 1; end n1 "
            "g1 = 0"},
        {"begin/legacy", "begin L global = 900"},
        {"begin/bad-mode", "mkstream n1 = 0; begin n1 7 = 1"},
        {"begin/invalidated",
            "mkstream n1 = 0; begin n1 global = 0; sync n1 = 900; begin n1 global = 401; end n1 g1 = 901; "
            "begin n1 global = 0; end n1 g1 = 0"},
        {"event/captured-queried-after-end",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 n1 = 0; end n1 "
            "g1 = 0; "
            "evquery e1 = 1; evsync e1 = 1"},
        {"event/captured-waited-after-end",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 "
            "n1 = 0; "
            "end n1 g1 = 0; wait n2 e1 = 1"},
        {"event/captured-waited-in-next-capture",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 n1 = 0; end n1 "
            "g1 = 0; "
            "begin n1 global = 0; wait n1 e1 = 1; status n1 = 2; end n1 g1 = 901"},
        {"event/merge-two-captures",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 global = 0; begin n2 global = 0; "
            "launch n1 = 0; "
            "record e1 n1 = 0; wait n2 e1 = 902; status n1 = 2; status n2 = 2; end n1 g1 = 901; end n2 g2 = "
            "901"},
        {"invalidated/every-call-901",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 relaxed = 0; launch n1 = 0; sync n1 = 900; launch n1 "
            "= 901; "
            "copy n1 = 901; fill n1 = 901; hostfn n1 = 901; record e1 n1 = 901; amalloc m2 n1 = 901; sync n1 "
            "= 900; "
            "query n1 = 900; end n1 g1 = 901; launch n1 = 0; sync n1 = 0"},
        {"invalidated/first-error-wins",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; record e1 n2 = 0; sync n2 = 0; begin n1 "
            "relaxed = 0; "
            "wait n1 e1 = 905; sync n1 = 900; evquery e1 = 0; end n1 g1 = 901"},
        {"invalidated/malloc-after",
            "mkstream n1 = 0; begin n1 global = 0; sync n1 = 900; malloc m2 = 900; status n1 = 2; end n1 g1 "
            "= 901; "
            "malloc m2 = 0"},
        {"invalidated/second-capture-spared",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 relaxed = 0; begin n2 relaxed = 0; sync n1 = 900; "
            "status n2 = 1; end n1 g1 = 901; end n2 g2 = 0"},
        {"invalidated/unsafe-call-hits-all-global",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; begin n2 global = 0; malloc m2 = 900; "
            "status n1 = 2; status n2 = 2; end n1 g1 = 901; end n2 g2 = 901"},
        {"invalidated/unsafe-call-spares-relaxed",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; begin n2 relaxed = 0; malloc m2 = 900; "
            "status n1 = 2; status n2 = 1; end n1 g1 = 901; end n2 g2 = 0"},
        {"abandoned/later-calls-of-the-thread",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; launch n1 = 0; sync n2 = 900; malloc m2 "
            "= 900; "
            "begin n1 global = 401; launch n2 = 0; end n1 g1 = 901"},
        {"replay/into-capture",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; begin n1 "
            "relaxed = 0; "
            "replay x1 n1 = 900; status n1 = 2; end n1 g2 = 901"},
        {"replay/destroyed-graph-keeps-exec",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; rmgraph g1 "
            "= 0; "
            "replay x1 n1 = 0; counter = 1"},
        {"replay/on-other-stream",
            "mkstream n1 = 0; mkstream b1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 "
            "= 0; "
            "replay x1 b1 = 0; replay x1 n1 = 0; replay x1 L = 0; counter = 3"},
        {"update/arguments",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; begin n1 "
            "global = 0; "
            "launchv n1 10 = 0; end n1 g2 = 0; replay x1 n1 = 0; update x1 g2 = 0; why = 0; replay x1 n1 = "
            "0; counter = 11"},
        {"update/topology",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; begin n1 "
            "global = 0; "
            "launch n1 = 0; launch n1 = 0; end n1 g2 = 0; update x1 g2 = 910; why = 2; replay x1 n1 = 0; "
            "counter = 1"},
        {"update/node-type",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; begin n1 "
            "global = 0; "
            "fill n1 = 0; end n1 g2 = 0; update x1 g2 = 910; why = 3; replay x1 n1 = 0; counter = 1"},
        {"update/kernel-same-context",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; begin n1 "
            "global = 0; "
            "launch2 n1 = 0; end n1 g2 = 0; update x1 g2 = 0; why = 0; replay x1 n1 = 0; counter = 100"},
        {"frozen/scalar-kept",
            "mkstream n1 = 0; begin n1 global = 0; launchv n1 5 = 0; end n1 g1 = 0; inst x1 g1 = 0; launchv "
            "n1 100 = 0; "
            "replay x1 n1 = 0; replay x1 n1 = 0; counter = 110"},
        {"fork/member-destroyed-unjoined",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 "
            "n1 = 0; "
            "wait n2 e1 = 0; launch n2 = 0; rmstream n2 = 0; end n1 g1 = 904"},
        {"fork/legacy-joins",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 n1 = 0; wait L "
            "e1 = 906; "
            "status n1 = 2; end n1 g1 = 901"},
        {"event/other-stream-waits-after-invalidation",
            "mkstream n1 = 0; mkstream n2 = 0; mkevent e1 = 0; begin n1 relaxed = 0; launch n1 = 0; record "
            "e1 n1 = 0; "
            "sync n1 = 900; wait n2 e1 = 1; status n2 = 0; end n1 g1 = 901"},
        {"event/queried-after-invalidation",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 relaxed = 0; launch n1 = 0; record e1 n1 = 0; sync n1 "
            "= 900; "
            "evquery e1 = 1; end n1 g1 = 901; evquery e1 = 1"},
        {"event/rerecorded-after-end",
            "mkstream n1 = 0; mkevent e1 = 0; begin n1 global = 0; launch n1 = 0; record e1 n1 = 0; end n1 "
            "g1 = 0; "
            "record e1 n1 = 0; evsync e1 = 0; evquery e1 = 0"},
        {"event/capture-leaves-earlier-record",
            "mkstream n1 = 0; mkevent e1 = 0; record e1 n1 = 0; sync n1 = 0; begin n1 relaxed = 0; launch n1 "
            "= 0; "
            "evquery e1 = 0; end n1 g1 = 0; evquery e1 = 0"},
        {"invalidated/device-sync-hits-all",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 relaxed = 0; begin n2 relaxed = 0; devsync = 900; "
            "status n1 = 2; status n2 = 2; end n1 g1 = 901; end n2 g2 = 901"},
        {"invalidated/legacy-hits-blocking-only",
            "mkstream b1 = 0; mkstream n1 = 0; begin b1 relaxed = 0; begin n1 relaxed = 0; launch L = 906; "
            "status b1 = 2; status n1 = 1; end b1 g1 = 901; end n1 g2 = 0"},
        {"invalidated/device-sync-after",
            "mkstream n1 = 0; begin n1 global = 0; sync n1 = 900; devsync = 900; end n1 g1 = 901; devsync = "
            "0"},
        {"invalidated/unsafe-call-and-own-thread-local",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; 2: begin n2 thread = 0; 2: malloc m2 = "
            "900; "
            "status n1 = 2; status n2 = 2; end n1 g1 = 901; 2: end n2 g2 = 901"},
        {"invalidated/unsafe-call-spares-others-thread-local",
            "mkstream n1 = 0; mkstream n2 = 0; begin n1 global = 0; 2: begin n2 thread = 0; malloc m2 = 900; "
            "status n1 = 2; status n2 = 1; end n1 g1 = 901; 2: end n2 g2 = 0"},
        {"destroy-exec/refused-exec-survives",
            "mkstream n1 = 0; mkstream n2 = 0; begin n2 global = 0; launch n2 = 0; end n2 g2 = 0; inst x2 g2 "
            "= 0; "
            "begin n1 global = 0; rmexec x2 = 900; end n1 g1 = 901; replay x2 n2 = 0; counter = 1"},
        {"replay/live-allocation",
            "mkstream n1 = 0; begin n1 global = 0; amalloc m2 n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; replay "
            "x1 n1 = 0; "
            "replay x1 n1 = 1; afree m2 n1 = 0; replay x1 n1 = 0; sync n1 = 0"},
        {"replay/empty-graph",
            "mkstream n1 = 0; begin n1 global = 0; end n1 g1 = 0; inst x1 g1 = 0; replay x1 n1 = 0; sync n1 "
            "= 0"},
        {"handle/exec-destroyed",
            "mkstream n1 = 0; begin n1 global = 0; launch n1 = 0; end n1 g1 = 0; inst x1 g1 = 0; rmexec x1 = "
            "0; counter = 0"},
    };
    return kCases;
}

} // namespace

std::vector<CaptureCase> captureCases() {
    std::vector<CaptureCase> cases;
    cross(cases, "unrelated", kUnrelated, "n1", false);
    cross(cases, "legacy", kLegacy, "b1", false);
    cross(cases, "member", kMember, "n1", true);
    exchangedModes(cases);
    endings(cases);
    for (const CaptureCase& item : structural())
        cases.push_back(item);
    return cases;
}

} // namespace gdt::bench
