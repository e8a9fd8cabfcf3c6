#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in the form in which others published theirs, with the slowdown by their rule, against `cluster`.

"Understanding Stragglers in Large Model Training Using What-if Analysis" records one operator per pass and message:
forward and backward computing of micro-batches, the sends and receives between stages on streams of their own, and at
the ends of the step the exchange of parameters and gradients. Its rule: launch gaps dropped; ideal is every type of
computing at its mean, every type of transfer (end - last start) at its median, over all workers and steps.
slowdown = step without gaps / ideal step. What a worker, a stage or a type recovers is the share of that loss that
vanishes with its operators alone at the ideal.

This makes such jobs (seeds), works that out here, writes them as somebody's converter would, and compares. The kinds
SE, ST and AR have the sizes, the steps and about the slowdowns of the paper's three jobs; --variants draws what a
converter may do otherwise (see FORMS). It shares no code with npuprof-synth nor with the other generator beside it.
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

MS = 1_000_000
KINDS = ("even", "worker", "stage", "sequence")
# The jobs that were published: replicas, stages, micro-batches, recorded steps, forward computing in ms, tensor ranks.
SIZES = {"SE": (32, 2, 8, 43, 230, 1), "ST": (2, 4, 8, 32, 45, 1), "AR": (4, 4, 16, 44, 280, 4)}
LIKE = {"SE": "sequence", "ST": "stage", "AR": "worker"}
COMPUTING = ("forward-compute", "backward-compute", "optimizer", "layernorm", "gc")
BASE = 1_736_410_000_000_000_000
PAUSE = 3 * MS  # from the end of a step to the begin of the next


class Op:
    """An operator of one worker in one step; `takes` is computing, or the transfer after the last start."""

    __slots__ = ("worker", "step", "type", "takes", "gap", "after", "group", "start", "end", "peer")

    def __init__(self, worker, step, kind, takes, gap, after, group=None, peer=None):
        self.worker, self.step, self.type, self.takes, self.gap = worker, step, kind, takes, gap
        self.after, self.group, self.peer = after, group, peer
        self.start = self.end = None


class Job:
    """dp x pp workers, number d + dp * stage, one forward one backward."""

    def __init__(self, seed, kind, most=0):
        self.dice = random.Random(f"published {kind} {seed}")
        self.name, self.kind, self.tp, self.gc = kind, LIKE.get(kind, kind), 1, kind in SIZES
        self.ops, self.by_worker = [], {}
        if kind in SIZES:
            self._as_published(*SIZES[kind], most)
        else:
            self._any()
        for step in self.steps:
            self._step(step)

    def _as_published(self, dp, pp, batches, steps, forward, tp, most):
        """Windows of forty steps, of which some were kept."""
        self.dp, self.pp, self.batches, self.tp = dp, pp, batches, tp
        windows = [range(first, first + 40) for first in (10, 400, 800, 1200)]
        self.steps = sorted(self.dice.sample([step for window in windows for step in window], steps))
        self.steps = self.steps[:most or steps]
        self.forward, self.noise = forward * MS, 0.01
        self.slow, self.factor = (0, 0), self.dice.uniform(1.9, 2.1)

    def _any(self):
        self.pp = self.dice.choice([2, 4])
        self.dp = self.dice.choice([2, 4, 8])
        self.batches = self.dice.choice([8, 12, 16])
        first = self.dice.randrange(10, 50)
        # Captures of such jobs are of chosen steps, seldom neighbours.
        self.steps = [first, first + 2, first + 3] if self.dice.random() < 0.5 else [first, first + 5, first + 9]
        self.forward = self.dice.uniform(5, 40) * MS
        self.slow = self.dice.randrange(self.dp), self.dice.randrange(self.pp)
        self.factor = self.dice.uniform(1.5, 2.2)
        self.noise = self.dice.choice([0.002, 0.01])

    def _gap(self):
        return int(self.dice.expovariate(1) * 0.15 * MS)

    def _takes(self, base, d, s, lengths, batch, kind):
        takes = base * (1 + self.dice.gauss(0, self.noise))
        if self.kind == "worker" and (d, s) == self.slow:
            takes *= self.factor
        if self.kind in ("stage", "sequence") and s == self.pp - 1:
            takes *= 1.4 if kind == "F" else 1.2
        if self.kind == "sequence":
            takes *= lengths[batch]
        return int(takes)

    def of_worker(self, worker):
        """Its operators by start."""
        if not self.by_worker:
            for op in sorted(self.ops, key=lambda each: (each.step, each.start)):
                self.by_worker.setdefault(op.worker, []).append(op)
        return self.by_worker[worker]

    def worker_ranks(self, worker):
        """The ranks of a worker: its tensor parallel ones, next to each other."""
        return range(worker * self.tp, (worker + 1) * self.tp)

    def _order(self, s):
        warm = min(self.pp - s - 1, self.batches)
        order = [("F", i) for i in range(warm)]
        for i in range(self.batches - warm):
            order += [("F", warm + i), ("B", i)]
        return order + [("B", i) for i in range(self.batches - warm, self.batches)]

    def _add(self, d, s, step, kind, takes, after, group=None, peer=None):
        op = Op(d + self.dp * s, step, kind, int(takes), self._gap(), [each for each in after if each], group, peer)
        self.ops.append(op)
        return op

    def _transfer(self, base):
        return base * MS * (1 + abs(self.dice.gauss(0, 0.15)))

    def _step(self, step):
        for d in range(self.dp):
            lengths = [self.dice.lognormvariate(0, 0.35) for _ in range(self.batches)]
            for s in range(self.pp):
                self._worker(d, s, step, lengths)

    def _worker(self, d, s, step, lengths):
        """The operators of a worker: who comes after whom."""
        last, now = self.pp - 1, {}
        gather = self._add(d, s, step, "params-all-gather", self._transfer(2), [], ("dp", s, "gather", step))
        before, order = gather, self._order(s)
        first_back = next(i for i, (kind, _) in enumerate(order) if kind == "B")
        for place, (kind, i) in enumerate(order):
            far = (s > 0) if kind == "F" else (s < last)
            name = "forward" if kind == "F" else "backward"
            receive = None
            if far:
                other = s - 1 if kind == "F" else s + 1
                after = [now.get((name, "recv")), now.get((name, "compute"))]
                if kind == "B" and i == 0 and first_back >= 2:
                    after.append(now["before first backward"])
                receive = self._add(
                    d, s, step, f"{name}-recv", self._transfer(0.6), after, ("pp", d, name, min(s, other), i, step),
                    d + self.dp * other,
                )
                now[(name, "recv")] = receive
            base = self.forward if kind == "F" else 2 * self.forward
            before = self._add(
                d, s, step, f"{name}-compute", self._takes(base, d, s, lengths, i, kind), [before, receive],
            )
            now[(name, "compute")] = before
            if place == first_back - 2:
                now["before first backward"] = before
            if (s < last) if kind == "F" else (s > 0):
                other = s + 1 if kind == "F" else s - 1
                now[(name, "send")] = self._add(
                    d, s, step, f"{name}-send", self._transfer(0.6), [now.get((name, "send")), before],
                    ("pp", d, name, min(s, other), i, step), d + self.dp * other,
                )
        if self.gc:
            before = self._add(d, s, step, "gc", 0.05 * MS, [before])
        end = self._add(d, s, step, "layernorm", 0.3 * MS, [before])
        if s in (0, last):
            end = self._add(d, s, step, "embedding-all-reduce", self._transfer(3), [end], ("embd", d, step))
        end = self._add(d, s, step, "grads-reduce-scatter", self._transfer(5), [end], ("dp", s, "scatter", step))
        end = self._add(d, s, step, "clip-all-reduce", self._transfer(0.2), [end], ("world", step))
        self._add(d, s, step, "optimizer", 6 * MS * (1 + self.dice.gauss(0, 0.01)), [end])


def run(ops, takes=None, gaps=True):
    """Times of all operators; {step: length}. takes: other lengths, by operator."""
    nexts, left, groups, missing = {}, {}, {}, {}
    for op in ops:
        left[op] = len(op.after)
        for each in op.after:
            nexts.setdefault(each, []).append(op)
        if op.group:
            groups.setdefault(op.group, []).append(op)
    missing = {group: len(members) for group, members in groups.items()}
    ready = [op for op in ops if not left[op]]
    begins, ends = {}, {}
    while ready:
        op = ready.pop()
        op.start = max((each.end for each in op.after), default=0) + (op.gap if gaps else 0)
        done = [op]
        if op.group:
            missing[op.group] -= 1
            done = groups[op.group] if missing[op.group] == 0 else []
            last = max(each.start for each in done) if done else 0
        for each in done:
            length = takes[each] if takes else each.takes
            each.end = (last if each.group else each.start) + length
            begins[each.step] = min(begins.get(each.step, each.start), each.start)
            ends[each.step] = max(ends.get(each.step, each.end), each.end)
            for after in nexts.get(each, ()):
                left[after] -= 1
                if not left[after]:
                    ready.append(after)
    return {step: ends[step] - (begins[step] if gaps else 0) for step in ends}


def mean_step(lengths):
    return sum(lengths.values()) / len(lengths)


def reference(job):
    """What the rule says of a job."""
    by_type = {}
    for op in job.ops:
        by_type.setdefault(op.type, []).append(op.takes)
    best = {
        kind: statistics.fmean(all_) if kind in COMPUTING else statistics.median(all_)
        for kind, all_ in by_type.items()
    }
    ideal = {op: best[op.type] for op in job.ops}
    now = mean_step(run(job.ops, gaps=False))
    least = mean_step(run(job.ops, ideal, gaps=False))

    def recovered(which):
        some = {op: ideal[op] if which(op) else op.takes for op in job.ops}
        return (now - mean_step(run(job.ops, some, gaps=False))) / (now - least)

    out = {"step_ns": now, "ideal_ns": least, "slowdown": now / least, "shares": {}}
    if job.kind == "worker":
        slow = job.slow[0] + job.dp * job.slow[1]
        for rank in job.worker_ranks(slow):
            out["shares"][f"rank:{rank}"] = recovered(lambda op: op.worker == slow)
    if job.kind != "even":
        for stage in range(job.pp):
            out["shares"][f"stage:{stage}"] = recovered(lambda op, s=stage: op.worker // job.dp == s)
        for kind in COMPUTING[:2]:
            out["shares"][f"optype:{kind}"] = recovered(lambda op, k=kind: op.type == k)
    return out


# --- as a converter writes it --------------------------------------------------------------------

# What one may do another way; the first of each is what is written without --variants.
FORMS = {
    "form": ("db", "text", "tables"),  # tables: text without trace_view.json
    "marks": (True, True, False),  # of steps
    "launches": (True, False),  # the calls that launched what ran
    "names": (True, True, False),  # communicators say what they are for, and who is in them
    "messages": ("pipeline", "pair", "direction"),  # who shares a communicator: all stages, two, or two in one direction
    "tasks": (False, False, True),  # below operators
    "ranks": ("all", "first"),  # those of a tensor parallel group that were recorded
    "spaced": (True, False),  # steps are as far apart as they were; False: one follows the other
}
TABLES = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,
  taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
  outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
  opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC,
  opType INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,
  groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,
  size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER, isMaster INTEGER, bandwidth NUMERIC);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE META_DATA (name TEXT, value TEXT);
"""
HCCL = {
    "params-all-gather": "hcom_allGather_", "grads-reduce-scatter": "hcom_reduceScatter_",
    "embedding-all-reduce": "hcom_allReduce_", "clip-all-reduce": "hcom_allReduce_", "forward-send": "hcom_send_",
    "backward-send": "hcom_send_", "forward-recv": "hcom_receive_", "backward-recv": "hcom_receive_",
}
STREAMS = {
    "forward-send": 11, "forward-recv": 12, "backward-send": 13, "backward-recv": 14, "params-all-gather": 15,
    "grads-reduce-scatter": 15, "embedding-all-reduce": 16, "clip-all-reduce": 17,
}
KERNEL_COLUMNS = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID"
)


def members(job, op, messages):
    """The communicator of an operator: its role and its workers."""
    key = op.group
    if key[0] == "dp":
        return "dp", tuple(range(key[1] * job.dp, (key[1] + 1) * job.dp))
    if key[0] == "pp":
        stages = range(job.pp) if messages == "pipeline" else (key[3], key[3] + 1)
        return f"pp_{key[2]}" if messages == "direction" else "pp", tuple(key[1] + job.dp * s for s in stages)
    if key[0] == "embd":
        return "embd", (key[1], key[1] + job.dp * (job.pp - 1))
    return "default_group", tuple(range(job.dp * job.pp))


def decimal_hash(name):
    """What other files than the metadata call the communicator."""
    high = low = 0
    for char in name.encode():
        high, low = (high * 29 + char) & 0xFFFFFFFF, (low * 131 + char) & 0xFFFFFFFF
    return high << 32 | low


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


class Rank:
    """What one rank recorded: rows of kernels, of operators with their parts, and of steps."""

    def __init__(self, job, number, offsets, variant):
        self.job, self.number, self.variant = job, number, variant
        self.worker, self.inner = divmod(number, job.tp)
        self.kernels, self.operators, self.steps, self.groups, self.counts = [], [], [], {}, {}
        spans = {}
        for op in job.of_worker(self.worker):
            at = BASE + offsets[op.step]
            begin, end = spans.get(op.step, (at + op.start, 0))
            spans[op.step] = min(begin, at + op.start), max(end, at + op.end)
            if op.group:
                self._operator(op, at + op.start, at + op.end)
            else:
                self.kernels.append((op.step, op.type, at + op.start, at + op.end))
        self.steps = [(step, begin - 100_000, end + 1000) for step, (begin, end) in spans.items()]

    def _operator(self, op, start, end):
        job = self.job
        role, workers = members(job, op, self.variant["messages"])
        if role == "default_group":
            ranks = tuple(range(0, job.dp * job.pp * job.tp, 1 if self.variant["ranks"] == "all" else job.tp))
        else:
            ranks = tuple(worker * job.tp + self.inner for worker in workers)
        name = f"10.0.0.1%eth0_60000_{role}_{'_'.join(map(str, ranks[:3]))}"
        self.groups[name] = {"group_name": role, "group_rank": ranks.index(self.number), "global_ranks": list(ranks)}
        nth = self.counts[name] = self.counts.get(name, -1) + 1
        other = ranks.index(op.peer * job.tp + self.inner) if op.peer is not None else (ranks.index(self.number) + 1)
        number = decimal_hash(name)
        self.operators.append(
            {
                "step": op.step, "kind": HCCL[op.type], "name": f"{HCCL[op.type]}_{number % 1000:03d}_{nth}_1",
                "group": name, "hash": number, "start": start, "end": end, "stream": STREAMS[op.type],
                "paid": max(start, end - op.takes), "mine": ranks.index(self.number), "other": other % len(ranks),
                "message": op.peer is not None,
            }
        )

    def write(self, root):
        """The directory of the rank."""
        top = os.path.join(root, f"node_{1000 + self.number}_20250109081616000_ascend_pt")
        where = os.path.join(top, "ASCEND_PROFILER_OUTPUT")
        os.makedirs(where)
        if self.variant["form"] == "db":
            self._database(os.path.join(where, f"ascend_pytorch_profiler_{self.number}.db"))
            return
        with open(os.path.join(top, f"profiler_info_{self.number}.json"), "w", encoding="utf-8") as file:
            json.dump({"config": {}, "rank_id": str(self.number)}, file)
        with open(os.path.join(top, "profiler_metadata.json"), "w", encoding="utf-8") as file:
            json.dump({"parallel_group_info": self.groups} if self.variant["names"] else {}, file)
        self._tables(where)
        if self.variant["form"] == "text":
            self._trace(os.path.join(where, "trace_view.json"))

    def _database(self, path):
        strings, none = {}, 4294967295

        def text(value):
            return strings.setdefault(value, len(strings))

        rows = {"TASK": [], "COMPUTE_TASK_INFO": [], "COMMUNICATION_OP": [], "COMMUNICATION_TASK_INFO": [], "CANN_API": []}
        count = 0
        for _, kind, start, end in self.kernels:
            count += 1
            rows["TASK"].append((start, end, 0, count, count, 1, text("KERNEL_AICORE"), none, 2, count, none))
            rows["COMPUTE_TASK_INFO"].append(
                (text(kind), count, 20, 0, text("AI_CORE"), text(kind)) + (text("N/A"),) * 7
            )
            rows["CANN_API"].append((start - 60_000, start - 20_000, 10000, 7, count, text("launch")))
        for op in self.operators:
            count += 1
            number = count
            rows["COMMUNICATION_OP"].append(
                (
                    text(op["name"]), op["start"], op["end"], number, text(op["group"]), number, 0, 0, 4, text("N/A"),
                    1 << 20, text(op["kind"]),
                )
            )
            rows["CANN_API"].append((op["start"] - 60_000, op["start"] - 20_000, 10000, 7, number, text("launch")))
            for name, first, last in (("Notify_Wait", op["start"], op["paid"]), ("Memcpy", op["paid"], op["end"])):
                if not self.variant["tasks"]:
                    break
                count += 1
                rows["TASK"].append((first, last, 0, number, count, 1, text(name), none, op["stream"], count, none))
                rows["COMMUNICATION_TASK_INFO"].append(
                    (
                        text(name), count, text(name), 0, text(op["group"]), 0, 0, op["mine"], op["other"], 0,
                        0 if name == "Notify_Wait" else 1 << 21, 4, 1, number, 1, 0,
                    )
                )
        if not self.variant["launches"]:
            rows["CANN_API"] = []
        rows["STEP_TIME"] = self.steps if self.variant["marks"] else []
        rows["STRING_IDS"] = [(number, value) for value, number in strings.items()]
        rows["RANK_DEVICE_MAP"] = [(self.number, 0)]
        rows["HOST_INFO"] = [(str(77 + self.number // 8), f"node{self.number // 8}")]
        rows["META_DATA"] = [("SCHEMA_VERSION", "1.0.0")]
        if self.variant["names"]:
            rows["META_DATA"].append(("parallel_group_info", json.dumps(self.groups)))
        db = sqlite3.connect(path)
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + TABLES)
        for table, each in rows.items():
            if each:
                db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(each[0]))})", each)
        db.commit()
        db.close()

    def _tables(self, where):
        """kernel_details.csv and communication.json."""
        lines = []
        for i, (step, kind, start, end) in enumerate(self.kernels):
            mark = step if self.variant["marks"] else ""
            lines.append(
                (start, f"{mark},0,4294967295,{i},2,{kind},{kind},dynamic,AI_CORE,{us(start)}\t,{us(end - start)},0,20,0,NO"
                        + ",N/A" * 7)
            )
        steps = {}
        for op in self.operators:
            mark = op["step"] if self.variant["marks"] else ""
            lines.append(
                (op["start"], f"{mark},0,4294967295,N/A,N/A,{op['name']},{op['kind']},N/A,COMMUNICATION,"
                              f"{us(op['start'])}\t,{us(op['end'] - op['start'])},0,0,0" + ",N/A" * 8)
            )
            kinds = steps.setdefault(f"step{op['step']}" if self.variant["marks"] else "step", {"p2p": {}, "collective": {}})
            took, paid = (op["end"] - op["start"]) / 1e6, (op["end"] - op["paid"]) / 1e6
            kinds["p2p" if op["message"] else "collective"][f"{op['name']}@{op['hash']}"] = {
                "Communication Time Info": {
                    "Start Timestamp(us)": op["start"] / 1000, "Elapse Time(ms)": took, "Transit Time(ms)": paid,
                    "Wait Time(ms)": took - paid, "Synchronization Time(ms)": took - paid, "Idle Time(ms)": 0,
                    "Wait Time Ratio": 0, "Synchronization Time Ratio": 0,
                },
                "Communication Bandwidth Info": {},
            }
        with open(os.path.join(where, "kernel_details.csv"), "w", encoding="utf-8") as file:
            rows = [KERNEL_COLUMNS] + [line for _, line in sorted(lines)]
            # Without steps the column is not there.
            file.write("\n".join(rows if self.variant["marks"] else [row.split(",", 1)[1] for row in rows]) + "\n")
        with open(os.path.join(where, "communication.json"), "w", encoding="utf-8") as file:
            json.dump(steps, file)

    def _trace(self, path):
        """trace_view.json: marks, kernels and operators, and what launched them."""
        host, cann, device, hccl, events = 100, 101, 102, 103, []

        def lane(pid, name, threads):
            events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}})
            for tid, thread in threads:
                events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}})

        def piece(pid, tid, name, start, end, args=None):
            events.append(
                {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us(start), "dur": (end - start) / 1000,
                 "args": args or {}}
            )

        def launched(number, start, pid, tid):
            if not self.variant["launches"]:
                return
            name = f"HostToDevice{number << 32}"
            piece(cann, 7, "Node@launch", start - 60_000, start - 20_000, {"connection_id": number, "level": "node"})
            common = {"cat": "HostToDevice", "name": name, "id": str(number << 32)}
            events.append(dict(common, ph="s", pid=cann, tid=7, ts=us(start - 60_000)))
            events.append(dict(common, ph="f", bp="e", pid=pid, tid=tid, ts=us(start)))

        groups = {name: i * 10 for i, name in enumerate(self.groups)}
        lane(host, "Python", [(5, "Thread 5")])
        lane(cann, "CANN", [(7, "Thread 7")])
        lane(device, "Ascend Hardware", [(2, "Stream 2")])
        names = self.variant["names"]
        lane(hccl, "Communication", [
            (tid, f"Group {name if names else tid // 10} Communication") for name, tid in groups.items()
        ])
        for step, begin, end in self.steps if self.variant["marks"] else ():
            piece(host, 5, f"ProfilerStep#{step}", begin, end)
        for i, (_, kind, start, end) in enumerate(self.kernels):
            piece(device, 2, kind, start, end, {
                "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": i, "connection_id": i + 1,
            })
            launched(i + 1, start, device, 2)
        for i, op in enumerate(self.operators, len(self.kernels) + 1):
            piece(hccl, groups[op["group"]], op["name"], op["start"], op["end"], {"connection_id": i})
            launched(i, op["start"], hccl, groups[op["group"]])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)


def write(job, root, variant):
    """All ranks: one step after the other on one clock, as far apart as the steps are that were not recorded."""
    lengths = run(job.ops)
    offsets, at = {}, 0
    for i, step in enumerate(job.steps):
        if i > 0:
            between = step - job.steps[i - 1] if variant["spaced"] else 1
            at += between * (lengths[job.steps[i - 1]] + PAUSE)
        offsets[step] = at
    for rank in range(0, job.dp * job.pp * job.tp, 1 if variant["ranks"] == "all" else job.tp):
        Rank(job, rank, offsets, variant).write(root)


def draw(job, seed):
    """What the converter of this seed does."""
    dice = random.Random(f"variant {job.name} {seed}")
    return {name: dice.choice(ways) for name, ways in FORMS.items()}


# --- comparing ----------------------------------------------------------------------------------


def step_length(job, basis, variant, steps):
    """What a step takes as recorded: of those that the next one follows where there are any, else their spans."""
    lengths = run(job.ops)
    if not variant["marks"] and not any(steps):  # iterations that nobody marked were not found either
        return sum(lengths.values()) + PAUSE * (len(lengths) - 1)
    if variant["marks"]:
        followed = [lengths[step] + PAUSE for step in job.steps if step + 1 in job.steps]
    else:
        followed = [lengths[step] + PAUSE for step in job.steps[:-1]]
    return statistics.fmean(followed if basis == "iteration" and followed else lengths.values())


def judge(job, truth, cluster, variant):
    """[(part, right, found)]"""
    balance = (cluster.get("replay") or {}).get("balance") or {}
    found = balance.get("slowdown") or 0
    out = [("slowdown", abs(found / truth["slowdown"] - 1) <= 0.02, f"{found:.3f} for {truth['slowdown']:.3f}")]
    error = (cluster.get("replay") or {}).get("fidelity")
    out.append(("replay", error is not None and abs(error) <= 0.005, f"fidelity {error}"))
    steps = (cluster.get("input") or {}).get("steps") or []
    step, true = (cluster.get("replay") or {}).get("step_ns") or 0, step_length(job, cluster.get("step_basis"), variant, steps)
    out.append(("step", abs(step / true - 1) <= 0.01, f"{step / MS:.1f} ms for {true / MS:.1f} ms"))
    shares = {f"{each['kind']}:{each['what']}": each["recovered"] for each in balance.get("shares") or []}
    verdict = cluster.get("verdict") or {}
    named = f"{verdict.get('kind')}:{verdict.get('what')}"
    if job.kind == "worker":
        slow = [f"rank:{rank}" for rank in job.worker_ranks(job.slow[0] + job.dp * job.slow[1])]
        share, want = max(shares.get(rank, 0) for rank in slow), truth["shares"][slow[0]]
        out.append(("share", abs(share - want) <= 0.1, f"{slow} {share:.3f} for {want:.3f}"))
        out.append(("verdict", named in slow, f"{named} for {slow}"))
    elif job.kind == "stage":
        out.append(("verdict", named == f"stage:{job.pp - 1}", f"{named} for stage:{job.pp - 1}"))
    else:
        out.append(("verdict", verdict.get("kind") not in ("rank", "host"), f"{named} for nobody"))
    for key, want in truth["shares"].items():
        # Of types only with what they are called, of stages where something says who is in one.
        if key.startswith("rank") or abs(want) < 0.15 and key not in shares:
            continue
        share = shares.get(key)
        out.append((key, share is not None and abs(share - want) <= 0.1, f"{share} for {want:.3f}"))
    return out


def one(task):
    """One run."""
    kind, seed, program, arguments = task
    job = Job(seed, kind, arguments.steps)
    truth = reference(job)
    variant = draw(job, seed) if arguments.variants else {name: ways[0] for name, ways in FORMS.items()}
    if arguments.bare:
        variant["launches"] = False
    for each in arguments.variant:
        name, _, way = each.partition("=")
        variant[name] = way if FORMS[name][0] is not True else way == "True"
    variant["spaced"] &= variant["marks"]  # else nothing says which time was not recorded
    root = tempfile.mkdtemp(prefix="published")
    try:
        write(job, root, variant)
        command = [program, "cluster", "-q", "-f", "json", "-d", root, "-o", os.path.join(root, "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        cluster = json.loads(done.stdout) if done.stdout else {}
        if arguments.keep:
            shutil.copytree(root, os.path.join(arguments.keep, f"{kind}-{seed}"), dirs_exist_ok=True)
        return kind, seed, variant, judge(job, truth, cluster, variant)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kinds", default=",".join(KINDS), help="of jobs, separated by commas")
    parser.add_argument("--seeds", default="1-20", help="first and last seed")
    parser.add_argument("--build", default=os.environ.get("NPUPROF_BUILD", "build/release"), help="where npuprof is")
    parser.add_argument("--bare", action="store_true", help="without the calls that launched what ran")
    parser.add_argument("--variants", action="store_true", help="what converters may do, drawn by seed")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=WAY", help="one of these")
    parser.add_argument("--steps", type=int, default=0, help="of SE, ST and AR no more than so many steps")
    parser.add_argument("--details", action="store_true", help="what was found, also where it is right")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--floor", type=float, default=0, help="least share of seeds that must be right, in percent")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs here")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    program = os.path.join(arguments.build, "npuprof")
    kinds = arguments.kinds.split(",")
    if not set(kinds) <= set(KINDS) | set(SIZES) or not first.isdigit() or not os.access(program, os.X_OK):
        print("no such kind, seeds that are not A-B, or no npuprof in the build directory", file=sys.stderr)
        return 2
    seeds = range(int(first), int(last or first) + 1)
    tasks = [(kind, seed, program, arguments) for kind in kinds for seed in seeds]
    with ProcessPoolExecutor(max(arguments.jobs, 1)) as pool:
        results = list(pool.map(one, tasks))
    least = 100.0
    for kind in kinds:
        mine = [(seed, variant, parts) for each, seed, variant, parts in results if each == kind]
        right = sum(all(ok for _, ok, _ in parts) for _, _, parts in mine)
        least = min(least, 100 * right / len(mine))
        print(f"{kind}: {right} of {len(mine)} right")
        for seed, variant, parts in mine:
            said = "; ".join(f"{part} {found}" for part, ok, found in parts if not ok or arguments.details)
            if said:
                print(f"  {seed}: {said}" + (f" {variant}" if arguments.variants or arguments.variant else ""))
    return 1 if least < arguments.floor else 0


if __name__ == "__main__":
    sys.exit(main())
