// SPDX-License-Identifier: Apache-2.0
#include "bench_tables.h"

#include <fmt/format.h>

#include <initializer_list>

namespace gdt::bench {

namespace {

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Words shape(int layers, int hidden, int heads, int seqLen) {
    return {"--layers", std::to_string(layers), "--hidden", std::to_string(hidden), "--heads",
        std::to_string(heads), "--seq-len", std::to_string(seqLen)};
}

Words batch(int size, int count) {
    return {"--micro-batch-size", std::to_string(size), "--micro-batches", std::to_string(count)};
}

Words mode(const std::string& name) {
    return {"--graph-mode", name};
}

// Rows of one table, with what all of them share.
class Builder {
public:
    explicit Builder(const Settings& settings)
        : m_settings(settings) { }

    [[nodiscard]] Words common() const {
        Words words{"--backend", m_settings.cuda ? "cuda" : "host", "--corpus-tokens", "65536"};
        return m_settings.full ? words + Words{"--dtype", "bf16", "--padded-vocab", "50304"} : words;
    }
    [[nodiscard]] Words natureWords(Nature nature) const {
        return nature == Nature::Native
            ? Words{}
            : Words{"--host-op-overhead-us", fmt::format("{:g}", m_settings.overheadUs)};
    }

    Row& add(const std::string& what, Nature nature, const Words& arguments, int baseline = -1,
        const std::string& document = "") {
        table.rows.push_back(
            {what, nature, common() + arguments + natureWords(nature), document, baseline, false});
        return table.rows.back();
    }
    [[nodiscard]] int next() const { return static_cast<int>(table.rows.size()); }

    Table table;

private:
    Settings m_settings;
};

struct Model {
    const char* name;
    Words arguments;
    Nature nature = Nature::Emulated;
    const char* document = "";
};

// One rank of the document's 13B job.
Words slice(const Settings& s) {
    const Words model = s.full ? shape(40, 5120, 40, 2048) : shape(4, 64, 4, 32);
    const Words layout = s.full ? Words{"--tp", "8", "--pp", "4"} : Words{"--tp", "4", "--pp", "2"};
    return model + layout + batch(1, 8) + Words{"--comm", "model"};
}

void addModes(Builder& b, const std::string& name, Nature nature, const Words& model, bool cite) {
    const int first = b.next();
    const auto add = [&](const char* what, const Words& more, const char* document) {
        b.add(name + ", " + what, nature, model + more, b.next() == first ? -1 : first, cite ? document : "")
            .recorded
            = true;
    };
    add("eager", mode("eager"), "182 tok/s, busy 62 %, NCCL 28 %");
    add("auto", mode("auto"), "195 tok/s (+7 %), busy 68 %, NCCL 25 %, 31 % fail");
    add("manual", mode("manual"), "205 tok/s (+12 %), busy 83 %, NCCL 19 %");
}

Table modes(const Settings& s) {
    Builder b(s);
    b.table = {"5.1", "eager execution, automatic and manual graphs", {}, {}, {}};
    const Words small = s.full ? shape(12, 768, 12, 1024) + batch(16, 2) : shape(2, 32, 4, 32) + batch(1, 4);
    const char* name = s.full ? "124M" : "toy";
    addModes(b, name, Nature::Native, small, false);
    addModes(b, name, Nature::Emulated, small, false);
    if (s.full) {
        addModes(b, "124M launch-bound", Nature::Native, shape(12, 768, 12, 256) + batch(1, 2), false);
        addModes(b, "1.5B", Nature::Native, shape(48, 1600, 25, 1024) + batch(8, 2), false);
    }
    const int first = b.next();
    addModes(b, s.full ? "13B slice" : "toy slice", Nature::Modelled, slice(s), true);
    b.add("slice, auto, 12 lengths in turn", Nature::Modelled,
        slice(s) + mode("auto") + Words{"--fault", "graph-cache-overflow:12"}, first, "31 % fail");
    b.add("slice, manual, collectives forked", Nature::Modelled, slice(s) + Words{"--tp-comm", "fork"}, first)
        .recorded
        = true;
    b.table.notes
        = {"The document's 13B row is 182 tokens/s here and 205 in its table 5.3; 205 tokens/s of 13B "
           "are 16.5 TFLOP/s, 5 % of one of its 64 GPUs: read it as a shape, not as a target.",
            "Its NCCL % is of a framework's run on 64 GPUs; ours is the share of time in which nothing but "
            "communication ran, in a run that was recorded for it. On the host a replay is timed as a whole, "
            "so what "
            "communicates inside a graph does not count."};
    return b.table;
}

Table microBatches(const Settings& s) {
    Builder b(s);
    b.table = {"5.2", "micro-batch size at a fixed global batch", {}, {}, {}};
    const Words model = s.full ? shape(12, 768, 12, 1024) : shape(2, 32, 4, 32);
    struct Key {
        const char* name;
        Words arguments;
    };
    // 16 micro-batches with a graph for each direction, and the optimizer's.
    const Words limit{"--max-graphs", "33"};
    const Key keys[] = {{"key micro-batch, full: eager", Words{"--graph-key", "microbatch"} + limit},
        {"key micro-batch, full: lru", Words{"--graph-key", "microbatch", "--graph-policy", "lru"} + limit},
        {"key slot", Words{"--graph-key", "slot"} + limit},
        {"key cycle", Words{"--graph-key", "cycle"} + limit}};
    const char* documents[]
        = {"205 tok/s, 92 % hits", "218 tok/s, 98 %", "212 tok/s, 100 %", "198 tok/s, 100 %"};
    for (const Key& key : keys) {
        const int first = b.next();
        int index = 0;
        for (const int size : {1, 2, 4, 8}) {
            b.add(fmt::format("{}, micro-batch {}", key.name, size), Nature::Native,
                model + batch(size, size == 1 ? 17 : 16 / size) + key.arguments, size == 1 ? -1 : first,
                documents[index++]);
        }
    }
    b.table.notes = {"Global batch 16 sequences; 17 at micro-batch 1, one more than the cache has room for.",
        "The same 17 graphs in turn under lru: each is given up just before it is wanted again.",
        "One stage has no bubble, so larger micro-batches only make larger products; an optimum below the "
        "largest needs several stages."};
    return b.table;
}

std::vector<Model> sizes(const Settings& s) {
    if (!s.full) {
        return {{"hidden 16", shape(2, 16, 2, 32) + batch(1, 2), Nature::Emulated, "7B: +17 %"},
            {"hidden 64", shape(2, 64, 4, 32) + batch(1, 2), Nature::Emulated, "13B: +12 %"},
            {"hidden 160", shape(2, 160, 4, 64) + batch(2, 2), Nature::Emulated, "70B: +8 %"}};
    }
    const Words peers{"--comm", "model", "--tp", "8"};
    return {{"124M", shape(12, 768, 12, 1024) + batch(4, 2)},
        {"350M", shape(24, 1024, 16, 1024) + batch(4, 2)}, {"774M", shape(36, 1280, 20, 1024) + batch(4, 2)},
        {"1.5B", shape(48, 1600, 25, 1024) + batch(4, 2)},
        {"6.7B", shape(32, 4096, 32, 1024) + batch(1, 2), Nature::Emulated, "7B: +17 %"},
        {"13B slice TP8 PP4", shape(40, 5120, 40, 2048) + batch(1, 8) + peers + Words{"--pp", "4"},
            Nature::Modelled, "13B: +12 %"},
        {"70B slice TP8 PP8", shape(80, 8192, 64, 2048) + batch(1, 8) + peers + Words{"--pp", "8"},
            Nature::Modelled, "70B: +8 %"}};
}

Table modelSizes(const Settings& s) {
    Builder b(s);
    b.table = {"5.3", "gain of graphs by model size", {}, {}, {}};
    for (const Model& model : sizes(s)) {
        for (const Nature nature : {Nature::Native, model.nature}) {
            if (nature == Nature::Native && model.nature == Nature::Modelled) {
                continue; // a slice has no native form
            }
            const int first = b.next();
            b.add(std::string(model.name) + ", eager", nature, model.arguments + mode("eager"));
            b.add(std::string(model.name) + ", manual", nature, model.arguments + mode("manual"), first,
                nature == Nature::Native ? "" : model.document);
        }
    }
    b.table.notes = {
        "The document gives network topology as the reason at 70B; its rows stand beside those of ours that "
        "take the same place in the order of sizes."};
    return b.table;
}

Table precisions(const Settings& s) {
    Builder b(s);
    b.table = {"5.4", "gain of graphs by number format", {}, {}, {}};
    const Words model = s.full ? shape(12, 768, 12, 1024) + batch(4, 2) : shape(2, 48, 4, 32) + batch(1, 2);
    struct Format {
        const char* name;
        const char* document;
    };
    const std::vector<Format> formats = s.cuda ? std::vector<Format>{{"fp32", ""}, {"tf32", ""},
                                            {"bf16", "+5 %"}, {"fp16", "largest gain"}, {"fp8", ""}}
                                               : std::vector<Format>{{"fp64", ""}, {"fp32", ""}};
    for (const Format& format : formats) {
        const Words dtype{"--dtype", format.name};
        for (const Nature nature : {Nature::Native, Nature::Emulated}) {
            const int first = b.next();
            b.add(std::string(format.name) + ", eager", nature, model + dtype + mode("eager"));
            b.add(std::string(format.name) + ", manual", nature, model + dtype + mode("manual"), first,
                nature == Nature::Emulated ? format.document : "");
        }
    }
    if (s.cuda) {
        // The document's reason for fp8's small gain, as a fault; against eager fp8 on the same emulated
        // host.
        b.add("fp8, scales from the host, manual", Nature::Emulated,
            model + Words{"--dtype", "fp8", "--fault", "fp8-scale-host"}, b.next() - 2,
            "+3 %, host overhead");
    }
    b.table.notes = {
        "bf16 and fp16 kernels take the same time on tensor cores, so there is no reason for the document's "
        "smaller gain with bf16.",
        "The host rounds narrower formats in software, which says nothing of their speed: they have no row "
        "there. "
        "A format or fault that a build does not know is shown with its refusal."};
    return b.table;
}

Table stability(const Settings& s) {
    Builder b(s);
    b.table = {"5.5", "stability of a context-parallel ring on a host that stalls", {}, {}, {8, 7, 280}};
    const Words model = (s.full ? shape(2, 256, 4, 32768) : shape(2, 32, 4, 64)) + batch(1, 1)
        + Words{"--cp", "4", "--comm", "model"};
    const Words stalls{"--host-stalls", "0.0001", "200"};
    b.add("no stalls, eager", Nature::Modelled, model + mode("eager"));
    b.add("stalls, eager", Nature::Modelled, model + stalls + mode("eager"), 0,
        "one NCCL time-out in 2,000 steps");
    b.add("stalls, a graph a hop", Nature::Modelled, model + stalls + Words{"--graph-scope", "hop,optimizer"},
        0, "none in 10,000 steps");
    b.add("stalls, a graph a cycle", Nature::Modelled, model + stalls, 0);
    b.table.notes = {
        "Each call that queues work stalls with probability 1e-4, for 200 ms on average; graphs make fewer "
        "calls, and only that protects them.",
        "Late steps are those that took longer than the watchdog; no peer waits here, so no job ends."};
    return b.table;
}

} // namespace

const char* natureName(Nature nature) {
    switch (nature) {
    case Nature::Native:
        return "native";
    case Nature::Emulated:
        return "EMULATED";
    case Nature::Modelled:
        return "MODELLED";
    }
    return "unknown";
}

std::optional<Table> makeTable(const std::string& id, const Settings& settings) {
    struct Maker {
        const char* id;
        Table (*make)(const Settings&);
    };
    constexpr Maker kMakers[] = {
        {"5.1", modes}, {"5.2", microBatches}, {"5.3", modelSizes}, {"5.4", precisions}, {"5.5", stability}};
    for (const Maker& maker : kMakers) {
        if (id == maker.id) {
            return maker.make(settings);
        }
    }
    return std::nullopt;
}

} // namespace gdt::bench
