# SPDX-License-Identifier: Apache-2.0
"""NCCL bytes and calls of each communicator of each layout, exactly what the model's shapes imply; wire bytes likewise."""
import collections

NAME, SECONDS = "bytes", 60
ELEMENT = 4  # fp32
HIDDEN, SEQ, BATCH, MICRO, LAYERS, VOCAB = 64, 64, 2, 4, 4, 8
EAGER_STEP, REPLAYED_STEP = 1, 10


def expected(rank, tp, cp, pp):
    """Sorted (ranks, bytes, calls) of each communicator of this rank in one step, with --sequence-parallel where tp > 1."""
    stage = rank // (tp * cp)
    layers = LAYERS // pp
    first, last = stage == 0, stage == pp - 1
    rows = SEQ // cp * BATCH
    stream = rows // tp * HIDDEN * ELEMENT  # this rank's part of the residual stream
    replicated = 6 * HIDDEN  # of a layer: gains and biases of two norms, biases of two projections
    table = VOCAB * HIDDEN // tp
    parameters = layers * ((12 * HIDDEN * HIDDEN + 7 * HIDDEN) // tp + replicated)
    parameters += (table if first or last else 0) + (2 * HIDDEN if last else 0)
    traffic = []

    def add(ranks, size, calls):
        if ranks > 1:
            traffic.append((ranks, size, calls))

    # Two gathers and two scattered sums a layer and direction; the embedding scatters and gathers once, so does the head;
    # the loss needs the maximum and, in one call, two sums of each row. Once a step: gradients of what all tensor-parallel ranks hold.
    ends = (2 if first else 0) + (2 if last else 0)
    add(tp, MICRO * ((layers * 8 + ends) * stream + (3 * rows * ELEMENT if last else 0))
        + (layers * replicated + (2 * HIDDEN if last else 0)) * ELEMENT,
        MICRO * (layers * 8 + ends + (2 if last else 0)) + 1)
    # The ring: keys and values one hop forward and again backward, their gradients two hops; each a send and a receive.
    hops = (cp - 1) + (cp - 1) + cp
    add(cp, MICRO * layers * 2 * hops * (rows * 2 * HIDDEN // tp * ELEMENT), MICRO * layers * 2 * hops)
    add(cp, parameters * ELEMENT, 1)  # sum of the gradients
    neighbours = (0 if first else 1) + (0 if last else 1)
    add(pp, MICRO * 2 * neighbours * stream, MICRO * 2 * neighbours)
    if first or last:
        add(min(pp, 2), table * ELEMENT, 1)  # tied embedding of the first and the last stage
    add(tp * pp, 8, 1)  # norm of the gradients, a sum in fp64
    add(cp * pp, 8, 1)  # loss, likewise
    return sorted(traffic)


def seen(job, name, step, what):
    rows = job.query(name, """SELECT p.rank, s.nranks, s.%s_bytes, s.%s_ops FROM nccl_step AS s
        JOIN process AS p USING (process_id) WHERE s.step = %d""" % (what, what, step))
    ranks = collections.defaultdict(list)
    for rank, nranks, size, calls in rows:
        ranks[int(rank)].append((int(nranks), int(size), int(calls)))
    return {rank: sorted(traffic) for rank, traffic in ranks.items()}


def wire_is_derived(job, name):
    """Of executables whose calls are all-reduces only, wire bytes are message bytes times 2(n-1)/n."""
    rows = job.query(name, """SELECT r.message_bytes, r.wire_bytes, c.nranks FROM nccl_replay AS r
        JOIN nccl_comm AS c USING (process_id, comm_hash) WHERE NOT EXISTS (SELECT 1 FROM nccl_op AS o
          WHERE o.process_id = r.process_id AND o.comm_hash = r.comm_hash AND o.kind <> 'all_reduce')""")
    return all(abs(int(wire) - int(message) * 2 * (int(n) - 1) / int(n)) <= 1 for message, wire, n in rows)


def rows(job):
    for name, options in job.layouts().items():
        sizes = dict(zip(options[::2], map(int, options[1::2])))
        tp, cp, pp = (sizes.get(flag, 1) for flag in ("--tp", "--cp", "--pp"))
        label = "bytes-" + name
        command = job.trainer("--quiet", "--dtype", "fp32", "--steps", "12", *options,
                              *(["--sequence-parallel"] if tp > 1 else []), "--layers", str(LAYERS), "--hidden", str(HIDDEN),
                              "--seq-len", str(SEQ), "--micro-batch-size", str(BATCH), "--micro-batches", str(MICRO), "--vocab",
                              str(VOCAB))
        ended, report = job.record(command, label, 40)
        row = {"name": name, "ranks": tp * cp * pp}
        if ended.status != 0 or report is None:
            yield {**row, "wrong": "%s %s" % (ended.describe(), ended.err.strip()[-200:])}
            continue
        wrong = ["rank %d, step %d: expected %s, got %s" % (rank, step, expected(rank, tp, cp, pp), traffic.get(rank))
                 for step, what in ((EAGER_STEP, "eager"), (REPLAYED_STEP, "graph"))
                 for traffic in [seen(job, label, step, what)] for rank in range(tp * cp * pp)
                 if traffic.get(rank) != expected(rank, tp, cp, pp)]
        if not wire_is_derived(job, label):
            wrong.append("wire bytes do not follow from message bytes")
        total = sum(size for rank in range(tp * cp * pp) for _, size, _ in expected(rank, tp, cp, pp))
        yield {**row, "bytes_a_step": total, **({"wrong": wrong[0]} if wrong else {})}
