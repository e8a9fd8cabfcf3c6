#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs as the public straggler traces record them, converted into captures in many ways.

A job is a table of rows, one per worker, step and operation: forward-compute, backward-compute, the four kinds of messages
between stages, params-all-gather, grads-reduce-scatter, layernorm- and embedding-grads-all-reduce, optimizer-clip-main-grad,
optimizer, gc. Messages of each kind are a stream of their own and are asked for ahead. The rule that is published for
such tables is computed here from the rows alone; the program gets captures that a converter could have made of them, and
nothing says how it goes about that: names, communicators, marks of steps, launches, sub-tasks and files are drawn by seed.

  stragglers.py --kind worker --seeds 4001-4020 [--set form=text --set names=batch] [--keep DIR] [--npuprof PATH]
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

FC, BC, FS, FR, BS, BR = "forward-compute", "backward-compute", "forward-send", "forward-recv", "backward-send", "backward-recv"
AG, RS, LN, EM, CL, OP, GC = ("params-all-gather", "grads-reduce-scatter", "layernorm-grads-all-reduce",
                              "embedding-grads-all-reduce", "optimizer-clip-main-grad", "optimizer", "gc")
MESSAGES = (FS, FR, BS, BR)
MEDIAN = MESSAGES + (AG, RS, LN, EM, CL)
KINDS = ("even", "worker", "stage", "sequence", "pauses", "interleaved", "interleaved-stage", "interleaved-worker", "flat")


def schedule(pp, vpp, micro, stage):
    """(kind, chunk, micro-batch) in the order of computing: one forward, one backward, or the interleaved form of it."""
    def virtual(i, forward):
        group, inner = divmod(i, pp * vpp)
        chunk = inner // pp
        return (chunk if forward else vpp - 1 - chunk), group * pp + inner % pp
    total = micro * vpp
    if vpp == 1:
        warm = min(pp - 1 - stage, micro)
        def at(i, forward):
            return 0, i
    else:
        warm = min((pp - stage - 1) * 2 + (vpp - 1) * pp, total)
        at = virtual
    order = [(FC, *at(i, True)) for i in range(warm)]
    for i in range(total - warm):
        order += [(FC, *at(warm + i, True)), (BC, *at(i, False))]
    return order + [(BC, *at(i, False)) for i in range(total - warm, total)]


class Model:
    """What waits for what, in one step of one pipeline; all steps and pipelines are alike."""

    def __init__(self, pp, vpp, micro, gathers, scatters):
        self.pp = pp
        self.after, self.groups, self.all_dp, self.meta = {}, [], set(), {}
        queue = {}  # kind, stage -> messages that exist
        for s in range(pp):
            order = schedule(pp, vpp, micro, s)
            count, last, chain = {}, None, {}
            for kind, chunk, mb in order:
                n = count[kind] = count.get(kind, -1) + 1
                op = (kind, n, s)
                self.meta[op] = (chunk, mb)
                deps = self.after.setdefault(op, [])
                if last:
                    deps.append(last)
                whole = chunk * pp + s
                ahead = kind == FC
                source, target = (whole - 1, whole + 1) if ahead else (whole + 1, whole - 1)
                receive, send = (FR, FS) if ahead else (BR, BS)
                if 0 <= source < pp * vpp:
                    r = (receive, n, s)
                    self.meta[r] = (chunk, mb)
                    self.after.setdefault(r, []).extend([(kind, n - 1, s)] if n else [])
                    self.after[r] += [chain[receive]] if receive in chain else []
                    chain[receive] = r
                    deps.append(r)
                    queue.setdefault((receive, s), []).append(r)
                if 0 <= target < pp * vpp:
                    m = (send, n, s)
                    self.meta[m] = (chunk, mb)
                    self.after[m] = [op] + ([chain[send]] if send in chain else [])
                    chain[send] = m
                    queue.setdefault((send, s), []).append(m)
                last = op
            first = next(i for i, o in enumerate(order) if o[0] == BC)
            if first >= 2:
                before = (FC, first - 2, s)
                for kind in (BS, BR):
                    if (kind, 0, s) in self.after:
                        self.after[(kind, 0, s)].append(before)
            previous = None
            for i in range(gathers):
                op = (AG, i, s)
                self.after[op] = [previous] if previous else []
                self.groups.append([op])
                self.all_dp.add(op)
                previous = op
            if previous:
                self.after[(FC, 0, s)].append(previous)
            tail = [(GC, 0, s), (LN, 0, s)] + ([(EM, 0, s)] if s in (0, pp - 1) else []) + \
                   [(RS, i, s) for i in range(scatters)] + [(CL, 0, s), (OP, 0, s)]
            for op in tail:
                self.after[op] = [last]
                last = op
            for i in range(scatters):
                self.groups.append([(RS, i, s)])
                self.all_dp.add((RS, i, s))
        for (kind, s), sends in queue.items():
            if kind in (FS, BS):
                peer = (s + 1) % pp if kind == FS else (s - 1) % pp
                self.groups += [list(p) for p in zip(sends, queue[(FR if kind == FS else BR, peer)])]
        self.groups.append([(EM, 0, s) for s in sorted({0, pp - 1})])
        clip = [(CL, 0, s) for s in range(pp)]
        self.groups.append(clip)
        self.all_dp.update(clip)
        self.group = {op: g for g, ops in enumerate(self.groups) for op in ops}
        self.follow()

    def follow(self):
        """An order in which all that an operation needs stands before it, with the members of a group side by side."""
        node = lambda op: ("g", self.group[op]) if op in self.group else op
        degree, following, members = {}, {}, {}
        for op, deps in self.after.items():
            members.setdefault(node(op), []).append(op)
            degree.setdefault(node(op), 0)
            for d in deps:
                degree[node(op)] += 1
                following.setdefault(node(d), []).append(node(op))
        ready = [n for n, d in degree.items() if d == 0]
        self.order = []
        while ready:
            n = ready.pop()
            self.order.append((n, members[n]))
            for f in following.get(n, []):
                degree[f] -= 1
                if degree[f] == 0:
                    ready.append(f)
        if len(self.order) != len(degree):
            raise RuntimeError("a schedule that never ends")

    def sweep(self, dps, length, delay, begin=0.0, start=None):
        """Starts and ends of one step: computing takes length(), an exchange length() from when its last member has come."""
        start = {} if start is None else start
        end = {}
        for n, members in self.order:
            for op in members:
                for dp in range(dps):
                    at = max((end[(dp, d)] for d in self.after[op]), default=begin)
                    start[(dp, op)] = at + (delay(dp, op) if delay else 0.0)
            if members[0] in self.group:
                if members[0] in self.all_dp:
                    come = max(start[(dp, op)] for op in members for dp in range(dps))
                for dp in range(dps):
                    if members[0] not in self.all_dp:
                        come = max(start[(dp, op)] for op in members)
                    for op in members:
                        end[(dp, op)] = come + length(dp, op)
            else:
                for dp in range(dps):
                    for op in members:
                        end[(dp, op)] = start[(dp, op)] + length(dp, op)
        return end


class Job:
    def __init__(self, kind, seed, options):
        r = random.Random(seed * 7919 + KINDS.index(kind))
        self.kind, self.r = kind, r
        vpp = 1
        if kind == "sequence":
            self.dp, self.pp, micro, steps = r.choice([(8, 2), (16, 2), (8, 4)]) + (r.choice([9, 12, 18]), r.choice([3, 4]))
        elif kind == "worker":
            self.dp, self.pp, micro, steps = r.choice([(4, 4), (2, 4), (4, 2), (4, 8)]) + (r.choice([12, 16, 24]), r.choice([2, 3, 4]))
        elif kind.startswith("interleaved"):
            vpp = r.choice([2, 2, 3])
            self.dp, self.pp = r.choice([(2, 2), (2, 4), (4, 4)])
            micro, steps = self.pp * r.choice([2, 3]), r.choice([2, 3, 4])
        elif kind == "flat":
            self.dp, self.pp, micro, steps = r.choice([4, 8, 16]), 1, r.choice([4, 8]), r.choice([3, 4])
        else:
            self.dp, self.pp, micro, steps = r.choice([(2, 4), (2, 4), (1, 4), (4, 2), (2, 2), (2, 8)]) + (r.choice([6, 8, 12]), r.choice([3, 4, 6]))
        self.dp, self.pp = int(options.get("dp", self.dp)), int(options.get("pp", self.pp))
        micro, steps = int(options.get("micro", micro)), int(options.get("steps", steps))
        self.vpp, self.micro = vpp, micro
        self.model = Model(self.pp, vpp, micro, r.choice([1, 2, vpp]), r.choice([1, 2, vpp]))
        self.ids, at = [], r.choice([5, 16, 23])
        for _ in range(steps):
            self.ids.append(at)
            at += r.choice([1, 1, 2, 5, 8])
        self.slow = (r.randrange(self.dp), r.randrange(self.pp)) if kind.endswith("worker") else None
        self.factor = r.uniform(1.6, 2.3) if kind.endswith("worker") else 1.0
        longer = {"stage": r.uniform(1.25, 1.6), "sequence": r.uniform(1.1, 1.3), "interleaved-stage": r.uniform(1.2, 1.5)}.get(kind, 1.0)
        forward = r.uniform(0.03, 0.12) / vpp
        self.base = {FC: forward, BC: forward * r.uniform(1.8, 2.2)}
        self.last = [1.0] * (self.pp - 1) + [longer] if self.pp > 1 else [1.0]
        self.head = kind == "interleaved-stage" and r.random() < 0.5  # the last chunk alone is longer
        transfer = r.uniform(0.0005, 0.004)
        self.base.update({FS: transfer, FR: transfer, BS: transfer, BR: transfer, AG: r.uniform(0.004, 0.02), RS: r.uniform(0.005, 0.03),
                          LN: 5e-5, EM: r.uniform(0.001, 0.01), CL: 4e-4, OP: r.uniform(0.004, 0.015), GC: 2e-5})
        self.noise = r.choice([0.002, 0.01])
        self.heavy = float(options.get("heavy", r.uniform(0.25, 0.7)))
        self.clock = [r.gauss(0, r.choice([0, 2e-5, 1e-4])) for _ in range(self.dp * self.pp)]
        self.pause = kind == "pauses"
        self.paused = set()
        self.run()

    def rank(self, dp, stage):
        return stage * self.dp + dp

    def run(self):
        r, m = self.r, self.model
        self.rows = []
        now = 1.75e9 + r.random() * 1e6
        for number, step in enumerate(self.ids):
            size = {(dp, mb): (min(3.0, max(0.35, r.lognormvariate(-self.heavy ** 2 / 2, self.heavy))) if self.kind == "sequence" else 1.0)
                    for dp in range(self.dp) for mb in range(self.micro)}
            length = {}
            for op in m.after:
                for dp in range(self.dp):
                    kind, n, s = op
                    t = self.base[kind] * r.lognormvariate(0, self.noise)
                    if kind in (FC, BC):
                        chunk, mb = m.meta[op]
                        t *= size[(dp, mb)]
                        if not self.head or chunk == self.vpp - 1:
                            t *= self.last[s]
                        if (dp, s) == self.slow:
                            t *= self.factor
                        if self.pause and kind == FC and r.random() < 0.02:
                            t += r.uniform(0.15, 0.4)
                            self.paused.add(self.rank(dp, s))
                    elif kind in MESSAGES:
                        t *= r.lognormvariate(0, 0.1)
                    length[(dp, op)] = t
            delays = {}
            for op in m.after:
                for dp in range(self.dp):
                    delays[(dp, op)] = r.expovariate(1 / 3e-5) if op[0] not in (FC, BC) else r.choice([0, 0, 2e-6, r.expovariate(1 / 1e-4)])
            first = {}
            for dp in range(self.dp):
                for s in range(self.pp):
                    first[(dp, s)] = r.expovariate(1 / 0.002)
            def delay(dp, op):
                return delays[(dp, op)] + (first[(dp, op[2])] if not m.after[op] else 0)
            start = {}
            end = m.sweep(self.dp, lambda dp, op: length[(dp, op)], delay, now, start)
            finish = max(end.values())
            for (dp, op), a in start.items():
                off = self.clock[self.rank(dp, op[2])]
                self.rows.append([dp, op[2], step, op, a + off, end[(dp, op)] + off])
            skipped = self.ids[number + 1] - step - 1 if number + 1 < len(self.ids) else 0
            now = finish + r.choice([0.003, 0.01]) + skipped * (finish - now)

    def rule(self):
        """The published rule: (slowdown, mean step without gaps, ideal step, shares, mean step as recorded)."""
        m, duration, transfer = self.model, {}, {}
        by = {(x[0], x[2], x[3]): x for x in self.rows}
        for dp, s, step, op, a, b in self.rows:
            duration[(dp, step, op)] = b - a
        for (dp, step, op), x in by.items():
            if op in m.group:
                peers = [(d, o) for o in m.groups[m.group[op]] for d in (range(self.dp) if op in m.all_dp else [dp])]
                transfer[(dp, step, op)] = x[5] - max(by[(d, step, o)][4] for d, o in peers)
                if transfer[(dp, step, op)] < -0.01:
                    transfer[(dp, step, op)] = 0.0
        real = {k: transfer.get(k, v) for k, v in duration.items()}
        pools = {}
        for k, v in real.items():
            pools.setdefault(k[2][0], []).append(v)
        even = {}
        for kind, values in pools.items():
            values.sort()
            n = len(values)
            even[kind] = (values[n // 2] + values[(n - 1) // 2]) / 2 if kind in MEDIAN else sum(values) / n
        def mean(choose):
            total = 0.0
            for step in self.ids:
                total += max(m.sweep(self.dp, lambda dp, op: choose(dp, step, op), None).values())
            return total / len(self.ids)
        now = mean(lambda dp, step, op: real[(dp, step, op)])
        ideal = mean(lambda dp, step, op: even[op[0]])
        def removed(which):
            t = mean(lambda dp, step, op: even[op[0]] if which(dp, op) else real[(dp, step, op)])
            return (now - t) / (now - ideal) if now > ideal else 0.0
        shares = {}
        if now / ideal > 1.02:
            shares[("optype", "forward")] = removed(lambda dp, op: op[0] == FC)
            shares[("optype", "backward")] = removed(lambda dp, op: op[0] == BC)
            for s in range(self.pp):
                shares[("stage", s)] = removed(lambda dp, op: op[2] == s)
            if self.slow:
                shares[("rank", self.rank(*self.slow))] = removed(lambda dp, op: (dp, op[2]) == self.slow)
        recorded = 0.0
        for step in self.ids:
            x = [q for q in self.rows if q[2] == step]
            recorded += max(q[5] for q in x) - min(q[4] for q in x)
        return now / ideal, now, ideal, shares, recorded / len(self.ids)


VARIANTS = {
    "form": ["db", "db", "text", "trace"],
    "names": ["hcom", "hcom", "plain"],
    "pairs": ["pipeline", "pipeline", "pair", "directed", "all"],
    "named": ["yes", "yes", "ranks", "no"],
    "tasks": ["yes", "yes", "no"],
    "api": ["no", "no", "yes"],
    "marks": ["step", "step", "step", "tight", "none"],
    "kernels": ["one", "few", "few", "many"],
    "types": ["same", "phase", "phase"],  # do kernels of both directions have other types
    "layernorm": ["kernel", "group", "drop"],
}


def draw(seed, options):
    r = random.Random(seed * 31 + 5)
    v = {k: r.choice(c) for k, c in sorted(VARIANTS.items())}
    if v["pairs"] == "all":  # what is known to go wrong is asked for by name
        v["pairs"] = "pair" if v["pairs"] == "all" else v["pairs"]
    v.update({k: x for k, x in options.items() if k in VARIANTS})
    return v


def typed(kind, v, n, r):
    names = {FC: ["MatMulV3", "FlashAttentionScore", "RmsNorm", "SwiGlu", "Add"], BC: ["MatMulV3", "FlashAttentionScoreGrad", "RmsNormGrad", "SwiGluGrad", "Mul"],
             OP: ["ApplyAdamW"], GC: ["Cast"], LN: ["Add"]}[kind]
    if v["types"] == "same" and kind == BC:
        names = ["MatMulV3", "FlashAttentionScore", "RmsNorm", "SwiGlu", "Add"]
    return names[n % len(names)]


class Capture:
    """What a converter makes of the rows of one rank."""

    def __init__(self, job, v, seed):
        self.job, self.v = job, v
        self.r = random.Random(seed)
        self.groups = {}
        self.counts = {}

    def communicator(self, dp, op):
        """Name and members of the communicator that a converter puts the operation into, and the peer of a message."""
        j, v = self.job, self.v
        kind, n, s = op
        pipeline = [j.rank(dp, x) for x in range(j.pp)]
        world = list(range(j.dp * j.pp))
        if kind in MESSAGES:
            step = 1 if kind in (FS, BR) else -1
            other = (s + step) % j.pp
            peer = j.rank(dp, other)
            mine = j.rank(dp, s)
            if v["pairs"] == "pipeline":
                return "10.0.0.1%%pp_%d" % dp, "pp", pipeline, peer
            if v["pairs"] == "all":
                return "10.0.0.1%%pp_all", "pp", world, peer
            a, b = (mine, peer) if v["pairs"] == "directed" and kind in (FS, BS) else (peer, mine) if v["pairs"] == "directed" else sorted((mine, peer))
            return "10.0.0.1%%p2p_%d_%d" % (a, b), "pp", sorted((mine, peer)), peer
        if kind == EM:
            return "10.0.0.1%%embd_%d" % dp, "embd", sorted({j.rank(dp, 0), j.rank(dp, j.pp - 1)}), None
        if kind == CL:
            return "10.0.0.1%%world", "default_group", world, None
        if kind == LN:
            return "10.0.0.1%%tp_%d" % j.rank(dp, s), "tp", [j.rank(dp, s)], None
        return "10.0.0.1%%dp_%d" % s, "dp", [j.rank(d, s) for d in range(j.dp)], None

    def events(self, rank):
        j, v = self.job, self.v
        s, dp = divmod(rank, j.dp)
        kernels, comms = [], []
        index = {}
        for x in sorted((x for x in j.rows if x[0] == dp and x[1] == s), key=lambda x: x[4]):
            _, _, step, op, a, b = x
            a, b = int(round(a * 1e9)), int(round(b * 1e9))
            kind = op[0]
            if b <= a:
                b = a + 1
            if kind in (FC, BC, OP, GC) or kind == LN and v["layernorm"] == "kernel":
                parts = {"one": 1, "few": 4, "many": 12}[v["kernels"]] if kind in (FC, BC) else 1
                if v["kernels"] == "one":
                    word = "compute" if v["types"] == "same" and kind in (FC, BC) else kind
                    kernels.append((step, word, word, a, b))
                    continue
                weight = [1.0 + 0.3 * ((i * 7) % 5) for i in range(parts)]
                edge, total, done = a, sum(weight), 0.0
                for i in range(parts):
                    done += weight[i]
                    stop = b if i == parts - 1 else a + int((b - a) * done / total)
                    kernels.append((step, "aclnn%s_%d" % (typed(kind, v, i, self.r), i) if self.v["form"] != "db" else "%s_%s_%d" % (kind[:3], typed(kind, v, i, self.r), i),
                                    typed(kind, v, i, self.r), edge, stop))
                    edge = stop
                continue
            if kind == LN and v["layernorm"] == "drop":
                continue
            name, label, members, peer = self.communicator(dp, op)
            self.groups[name] = (label, members)
            number = index[name] = index.get(name, -1) + 1
            word = {FS: "send", BS: "send", FR: "receive", BR: "receive", AG: "allGather", RS: "reduceScatter"}.get(kind, "allReduce")
            if v["names"] == "batch" and kind in MESSAGES:
                word = "batchSendRecv"
            digits = sum(ord(c) * 31 ** i for i, c in enumerate(name)) % 1000
            opname = "hcom_%s__%03d_%d_1" % (word, digits, number)
            if v["names"] == "plain" and kind in MESSAGES:
                opname = "hcom_%s_%d" % (word, number)
            size = int(j.base[kind] * 2e10)
            comms.append((step, opname, word, name, a, b, peer, members, kind, size))
        return kernels, comms


def strings(c):
    ids = {}
    def get(text):
        if text not in ids:
            ids[text] = len(ids) + 1
            c.execute("insert into STRING_IDS values(?,?)", (ids[text], text))
        return ids[text]
    return get


def metadata(cap, rank):
    """What parallel_group_info says of the communicators of a rank, as far as the variant lets it."""
    v, info = cap.v, {}
    if v["named"] == "no":
        return info
    for name, (label, members) in sorted(cap.groups.items()):
        if rank in members:
            info[name] = {"group_name": label if v["named"] == "yes" else "", "group_rank": members.index(rank), "global_ranks": members}
    return info


def write_db(cap, rank, out, steps):
    j, v = cap.job, cap.v
    kernels, comms = cap.events(rank)
    folder = os.path.join(out, "rank%d_ascend_pt" % rank, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(folder)
    with open(os.path.join(folder, "..", "profiler_info_%d.json" % rank), "w") as f:
        json.dump({"rank_id": rank, "config": {}}, f)
    c = sqlite3.connect(os.path.join(folder, "ascend_pytorch_profiler_%d.db" % rank))
    c.executescript("""
create table STRING_IDS(id INTEGER PRIMARY KEY,value TEXT);
create table SESSION_TIME_INFO(startTimeNs INTEGER,endTimeNs INTEGER);
create table NPU_INFO(id INTEGER,name TEXT); create table RANK_DEVICE_MAP(rankId INTEGER,deviceId INTEGER);
create table META_DATA(name TEXT,value TEXT); create table HOST_INFO(hostUid TEXT,hostName TEXT);
create table TASK(startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId INTEGER);
create table COMPUTE_TASK_INFO(name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER);
create table COMMUNICATION_OP(opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count NUMERIC,opType INTEGER,deviceId INTEGER);
create table COMMUNICATION_TASK_INFO(name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER,isMaster INTEGER,bandwidth NUMERIC);
create table CANN_API(startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,connectionId INTEGER PRIMARY KEY,name INTEGER);
create table PYTORCH_API(startNs TEXT,endNs TEXT,globalTid INTEGER,connectionId INTEGER,name INTEGER,sequenceNumber INTEGER,fwdThreadId INTEGER,inputDtypes INTEGER,inputShapes INTEGER,callchainId INTEGER,type INTEGER);
create table CONNECTION_IDS(id INTEGER,connectionId INTEGER);
""")
    text = strings(c)
    device = rank % 8
    times = [x[3] for x in kernels] + [x[4] for x in comms]
    c.execute("insert into SESSION_TIME_INFO values(?,?)", (min(times) - 10 ** 7, max(times) + 10 ** 9))
    c.execute("insert into NPU_INFO values(?,?)", (device, "Ascend910B"))
    c.execute("insert into RANK_DEVICE_MAP values(?,?)", (rank, device))
    c.execute("insert into HOST_INFO values(?,?)", ("77%03d" % (rank // 8), "node%d" % (rank // 8)))
    info = metadata(cap, rank)
    if info:
        c.execute("insert into META_DATA values('parallel_group_info',?)", (json.dumps(info),))
    if v["marks"] != "none":
        c.execute("create table STEP_TIME(id INTEGER,startNs INTEGER,endNs INTEGER)")
        for step, (a, b) in steps[rank].items():
            c.execute("insert into STEP_TIME values(?,?,?)", (step, a, b))
    task = connection = 0
    tid = 4242 << 32 | 4242
    def launched(a):
        nonlocal connection
        connection += 1
        if v["api"] == "yes":
            begin = a - 200000 - (connection % 7) * 10000
            c.execute("insert into CANN_API values(?,?,10000,?,?,?)", (begin, begin + 8000, tid, connection, text("launch")))
            c.execute("insert into PYTORCH_API values(?,?,?,?,?,-1,0,null,null,null,50001)", (str(begin - 9000), str(begin + 9000), tid, connection, text("aten::op")))
            c.execute("insert into CONNECTION_IDS values(?,?)", (connection, connection))
        return connection
    for step, name, kind, a, b in kernels:
        task += 1
        t = text("AI_CORE")
        c.execute("insert into TASK values(?,?,?,?,?,4242,?,4294967295,2,?,4294967295)", (a, b, device, launched(a), task, text("KERNEL_AICORE"), task % 65536))
        c.execute("insert into COMPUTE_TASK_INFO values(?,?,24,0,?,?,null,null,null,null,null,null,null)", (text(name), task, t, text(kind)))
    for number, (step, name, word, group, a, b, peer, members, kind, size) in enumerate(comms, 1):
        con = launched(a)
        stream = 20 + (MESSAGES.index(kind) if kind in MESSAGES else 5)
        c.execute("insert into COMMUNICATION_OP values(?,?,?,?,?,?,0,0,4,?,?,?,?)", (text(name), a, b, con, text(group), number, text("MESH"), size // 2,
                                                                                text("hcom_%s_" % word), device))
        task += 1
        local = members.index(rank)
        other = members.index(peer) if peer is not None else (local + 1) % len(members)
        if v["tasks"] == "yes":
            move = max(a, b - int(j.base[kind] * 1e9))
            parts = [("Notify_Wait", a, move, 0), ("Memcpy", move, b, size)] if word != "send" else [("Notify_Wait", a, move, 0), ("RDMASend", move, b, size)]
            for word2, x, y, bytes_ in parts:
                task += 1
                sender = word == "send" or kind in (FS, BS)
                src, dst = (local, other) if sender or word2 == "Notify_Wait" else (other, local)
                c.execute("insert into TASK values(?,?,?,?,?,4242,?,4294967295,?,?,4294967295)", (x, y, device, con, task, text("SDMA"), stream, task % 65536))
                c.execute("insert into COMMUNICATION_TASK_INFO values(?,?,?,0,?,?,65534,?,?,?,?,4,?,?,1,0)",
                          (text(name), task, text(word2), text(group), 1, src, dst, 0 if word2 != "RDMASend" else 1, bytes_, 1, number))
    c.commit()
    c.close()


def us(t):
    return "%d.%03d" % (t // 1000, t % 1000)


def write_text(cap, rank, out, steps):
    v = cap.v
    kernels, comms = cap.events(rank)
    folder = os.path.join(out, "rank%d_ascend_pt" % rank, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(folder)
    with open(os.path.join(folder, "..", "profiler_info_%d.json" % rank), "w") as f:
        json.dump({"rank_id": rank, "config": {}}, f)
    info = metadata(cap, rank)
    with open(os.path.join(folder, "..", "profiler_metadata.json"), "w") as f:
        json.dump({"parallel_group_info": info} if info else {}, f)
    device = rank % 8
    events, pids = [], {"Python": 4242, "CANN": 900, "Ascend Hardware": 1000 + device, "Communication": 1100 + device}
    for name, pid in pids.items():
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}})
        events.append({"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": "CPU" if name in ("Python", "CANN") else "NPU %d" % device}})
    if v["marks"] != "none":
        for step, (a, b) in steps[rank].items():
            events.append({"ph": "X", "name": "ProfilerStep#%d" % step, "pid": 4242, "tid": 4242, "ts": us(a), "dur": (b - a) / 1000, "cat": "cpu_op", "args": {}})
    connection = 0
    def launch(a, pid, tid):
        nonlocal connection
        connection += 1
        if v["api"] == "yes":
            begin = a - 200000
            events.append({"ph": "X", "name": "Node@launch", "pid": 900, "tid": 4242, "ts": us(begin), "dur": 8.0,
                           "args": {"Thread Id": 4242, "Mode": "launch", "level": "node", "id": "op", "item_id": "op", "connection_id": connection}})
            events.append({"ph": "s", "name": "HostToDevice%d" % (connection << 32), "cat": "HostToDevice", "id": str(connection << 32), "pid": 900, "tid": 4242, "ts": us(begin)})
            events.append({"ph": "f", "bp": "e", "name": "HostToDevice%d" % (connection << 32), "cat": "HostToDevice", "id": str(connection << 32), "pid": pid, "tid": tid, "ts": us(a)})
        return connection
    events.append({"ph": "M", "name": "thread_name", "pid": pids["Ascend Hardware"], "tid": 2, "args": {"name": "Stream 2"}})
    for i, (step, name, kind, a, b) in enumerate(kernels):
        events.append({"ph": "X", "name": name, "pid": pids["Ascend Hardware"], "tid": 2, "ts": us(a), "dur": (b - a) / 1000,
                       "args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": i, "Batch Id": 0, "Subtask Id": 4294967295,
                                "connection_id": launch(a, pids["Ascend Hardware"], 2)}})
    lanes = {}
    for group in sorted({x[3] for x in comms}):
        lanes[group] = 2 * len(lanes)
        events.append({"ph": "M", "name": "thread_name", "pid": pids["Communication"], "tid": lanes[group], "args": {"name": "Group %s Communication" % group}})
        events.append({"ph": "M", "name": "thread_sort_index", "pid": pids["Communication"], "tid": lanes[group], "args": {"sort_index": lanes[group]}})
        if v["tasks"] == "yes":
            events.append({"ph": "M", "name": "thread_name", "pid": pids["Communication"], "tid": lanes[group] + 1, "args": {"name": "Plane 0"}})
    for step, name, word, group, a, b, peer, members, kind, size in comms:
        events.append({"ph": "X", "name": name, "pid": pids["Communication"], "tid": lanes[group], "ts": us(a), "dur": (b - a) / 1000,
                       "args": {"connection_id": launch(a, pids["Communication"], lanes[group]), "model id": 4294967295, "data_type": "FP32", "alg_type": "MESH", "count": size // 4}})
        if v["tasks"] == "yes":
            local = members.index(rank)
            other = members.index(peer) if peer is not None else (local + 1) % len(members)
            move = max(a, b - int(cap.job.base[kind] * 1e9))
            for word2, x, y, bytes_ in (("Notify_Wait", a, move, 0), ("Memcpy", move, b, size)):
                src, dst = (local, other) if kind in (FS, BS) or word2 == "Notify_Wait" else (other, local)
                events.append({"ph": "X", "name": word2, "pid": pids["Communication"], "tid": lanes[group] + 1, "ts": us(x), "dur": (y - x) / 1000,
                               "args": {"notify_id": "1", "duration estimated(us)": 1.0, "stream id": 20, "task id": 1, "context id": 0, "task type": word2, "src rank": src,
                                        "dst rank": dst, "transport type": "SDMA", "size(Byte)": bytes_, "data type": "FP32", "link type": "HCCS", "bandwidth(GB/s)": 20.0, "model id": 4294967295}})
    with open(os.path.join(folder, "trace_view.json"), "w") as f:
        json.dump(events, f)
    if v["form"] == "trace":
        return
    with open(os.path.join(folder, "kernel_details.csv"), "w") as f:
        f.write("Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,"
                "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID\n")
        rest = "N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A"
        rows = [(a, b, step, name, kind, "AI_CORE") for step, name, kind, a, b in kernels]
        rows += [(x[4], x[5], x[0], x[1], "hcom_%s_" % x[2], "COMMUNICATION") for x in comms]
        for a, b, step, name, kind, core in sorted(rows):
            f.write("%s,%d,4294967295,1,2,%s,%s,static,%s,%s\t,%.3f,0,24,0,%s\n" % (step if v["marks"] != "none" else "", device, name, kind, core, us(a), (b - a) / 1000, rest))


def convert(job, v, out, seed):
    cap = Capture(job, v, seed)
    world = range(job.dp * job.pp)
    for rank in world:
        cap.events(rank)
    steps = {}
    for rank in world:
        s, dp = divmod(rank, job.dp)
        mine = {}
        for x in job.rows:
            if x[0] == dp and x[1] == s:
                a, b = mine.get(x[2], (x[4], x[5]))
                mine[x[2]] = (min(a, x[4]), max(b, x[5]))
        early = 10 ** 6 if v["api"] == "yes" and v["marks"] != "tight" else 1000
        steps[rank] = {k: (int(a * 1e9) - early, int(b * 1e9) + 1000) for k, (a, b) in mine.items()}
    for rank in world:
        (write_db if v["form"] == "db" else write_text)(cap, rank, out, steps)


def judge(job, v, out, program, verbose):
    slow, now, ideal, shares, recorded = job.rule()
    done = subprocess.run([program, "cluster", "-q", "--no-db", "-f", "json", "-d", out], capture_output=True, text=True)
    faults = []
    if done.returncode not in (0, 1, 2, 3) or not done.stdout.strip():
        return ["no answer: %s" % done.stderr[-300:]], ""
    d = json.loads(done.stdout)
    replay, verdict = d.get("replay"), d.get("verdict") or {}
    if verbose:
        print(json.dumps({"truth": [slow, now, ideal, {"%s %s" % k: round(x, 3) for k, x in shares.items()}], "replay": replay, "verdict": verdict,
                          "warnings": d.get("warnings"), "exit": done.returncode}, indent=1))
    said = "%.3f of %.3f" % (((replay or {}).get("balance") or {}).get("slowdown", 0), slow)
    if not replay:
        return ["no replay"], said
    if replay["fidelity"] is None or abs(replay["fidelity"]) > 0.005:
        faults.append("replay %.2f %%" % (100 * (replay["fidelity"] or 9)))
    b = replay.get("balance")
    if not b:
        faults.append("no balance")
    elif v["marks"] != "none" or len(job.ids) == 1:
        if abs(b["slowdown"] / slow - 1) > 0.02:
            faults.append("slowdown %.3f for %.3f" % (b["slowdown"], slow))
        if abs(b["step_ns"] / 1e9 / now - 1) > 0.01:
            faults.append("step %.4f for %.4f" % (b["step_ns"] / 1e9, now))
        for (kind, what), share in shares.items():
            if kind == "optype":
                continue
            got = [x["recovered"] for x in b["shares"] if x["kind"] == kind and str(x["what"]).split()[-1] == str(what)]
            if abs((got[0] if got else 0.0) - share) > 0.05 and (share > 0.1 or got):
                faults.append("share of %s %s %.2f for %.2f" % (kind, what, got[0] if got else 0.0, share))
    text = json.dumps(verdict)
    said += "  " + str(verdict.get("headline") or verdict.get("text") or text)[:110]
    faults += accuse(job, verdict)
    return faults, said


def accuse(job, verdict):
    kind = verdict.get("kind")
    what = verdict.get("what")
    if job.slow:
        rank = job.rank(*job.slow)
        if kind == "rank" and str(verdict.get("what")) != str(rank):
            return ["accused %s, slow is %d" % (what, rank)]
        if kind != "rank":
            return ["not named: %s" % kind]
    elif kind in ("rank", "link", "host") and not (kind == "rank" and str(what) in map(str, job.paused)):
        return ["accused %s %s" % (kind, what)]
    return []


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kind", action="append", choices=KINDS)
    p.add_argument("--seeds", default="4001-4003")
    p.add_argument("--set", action="append", default=[], dest="options")
    p.add_argument("--npuprof", default=os.environ.get("NPUPROF", "npuprof"))
    p.add_argument("--keep")
    p.add_argument("--verbose", action="store_true")
    a = p.parse_args()
    first, _, last = a.seeds.partition("-")
    options = dict(o.split("=", 1) for o in a.options)
    bad = total = 0
    for kind in a.kind or KINDS:
        right = 0
        seeds = range(int(first), int(last or first) + 1)
        for seed in seeds:
            job, v = Job(kind, seed, options), draw(seed, options)
            out = a.keep or tempfile.mkdtemp(prefix="stragglers")
            if a.keep:
                shutil.rmtree(out, ignore_errors=True)
                os.makedirs(out)
            try:
                convert(job, v, out, seed)
                faults, said = judge(job, v, out, a.npuprof, a.verbose)
            finally:
                if not a.keep:
                    shutil.rmtree(out, ignore_errors=True)
            right += not faults
            if faults or a.verbose:
                print("%s %d: %s | dp %d pp %d vpp %d mb %d steps %d | %s | %s" % (kind, seed, "; ".join(faults) or "right", job.dp, job.pp, job.vpp, job.micro, len(job.ids),
                      " ".join("%s=%s" % x for x in v.items()), said))
                sys.stdout.flush()
        print("%s: %d of %d" % (kind, right, len(seeds)))
        sys.stdout.flush()
        total += len(seeds)
        bad += len(seeds) - right
    print("right in %d of %d" % (total - bad, total))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
