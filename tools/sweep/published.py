#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in the form in which others published theirs, with the slowdown by their rule, against `cluster`.

"Understanding Stragglers in Large Model Training Using What-if Analysis" records one operator per pass and message:
forward and backward computing of micro-batches, the sends and receives between stages on streams of their own, and at
the ends of the step the exchange of parameters and gradients. Its rule: launch gaps dropped; ideal is every type of
computing at its mean, every type of transfer (end - last start) at its median, over all workers and steps.
slowdown = step without gaps / ideal step. What a worker, a stage or a type recovers is the share of that loss that
vanishes with its operators alone at the ideal.

This makes such jobs (seeds), works that out here, writes them as databases as somebody's converter would, and compares.
It shares no code with npuprof-synth nor with the other generator beside it.
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
COMPUTING = ("forward-compute", "backward-compute", "optimizer", "layernorm")
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

    def __init__(self, seed, kind):
        self.dice = random.Random(f"published {kind} {seed}")
        self.kind = kind
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
        self.ops = []
        for step in self.steps:
            self._step(step)

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
    for worker in range(job.dp * job.pp):
        out["shares"][f"rank:{worker}"] = recovered(lambda op, w=worker: op.worker == w)
    for stage in range(job.pp):
        out["shares"][f"stage:{stage}"] = recovered(lambda op, s=stage: op.worker // job.dp == s)
    return out


# --- as a converter writes it --------------------------------------------------------------------

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
STREAMS = {"forward-send": 11, "forward-recv": 12, "backward-send": 13, "backward-recv": 14, "params-all-gather": 15}


def members(job, op):
    """The communicator of an operator: its name and its ranks."""
    key, world = op.group, range(job.dp * job.pp)
    if key[0] == "dp":
        return "dp", tuple(range(key[1] * job.dp, (key[1] + 1) * job.dp))
    if key[0] == "pp":
        return "pp", tuple(key[1] + job.dp * s for s in range(job.pp))
    if key[0] == "embd":
        return "embd", (key[1], key[1] + job.dp * (job.pp - 1))
    return "default_group", tuple(world)


class Rank:
    """The rows of one worker's database."""

    def __init__(self, job, worker, offsets, launches):
        self.job, self.worker, self.strings = job, worker, {}
        self.rows = {name: [] for name in ("TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "CANN_API", "STEP_TIME")}
        self.groups, self.counts, self.launches = {}, {}, launches
        spans = {}
        for op in sorted((each for each in job.ops if each.worker == worker), key=lambda each: (each.step, each.start)):
            at = BASE + offsets[op.step]
            begin, end = spans.get(op.step, (at + op.start, 0))
            spans[op.step] = min(begin, at + op.start), max(end, at + op.end)
            self._op(op, at + op.start, at + op.end)
        for step, (begin, end) in spans.items():
            self.rows["STEP_TIME"].append((step, begin - 1000, end + 1000))

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings))

    def _op(self, op, start, end):
        number = len(self.rows["TASK"]) + len(self.rows["COMMUNICATION_OP"]) + 1
        if self.launches:
            self.rows["CANN_API"].append((start - 60_000, start - 20_000, 10000, 7, number, self.text("launch")))
        if not op.group:
            row = (start, end, 0, number, number, 1, self.text("KERNEL_AICORE"), 4294967295, 2, number, 4294967295)
            self.rows["TASK"].append(row)
            none, kind = self.text("N/A"), self.text(op.type)
            self.rows["COMPUTE_TASK_INFO"].append(
                (kind, number, 20, 0, self.text("AI_CORE"), kind, none, none, none, none, none, none, none)
            )
            return
        role, ranks = members(self.job, op)
        name = f"10.0.0.1%eth0_60000_{role}_{'_'.join(map(str, ranks[:3]))}"
        self.groups[name] = {"group_name": role, "group_rank": ranks.index(self.worker), "global_ranks": list(ranks)}
        nth = self.counts[name] = self.counts.get(name, -1) + 1
        kind = HCCL[op.type]
        self.rows["COMMUNICATION_OP"].append(
            (
                self.text(f"{kind}_{sum(name.encode()) % 1000:03d}_{nth}_1"), start, end, number, self.text(name),
                number, 0, 0, 4, self.text("N/A"), 1 << 20, self.text(kind),
            )
        )

    def write(self, root):
        where = os.path.join(root, f"node_{1000 + self.worker}_20250109081616000_ascend_pt", "ASCEND_PROFILER_OUTPUT")
        os.makedirs(where)
        db = sqlite3.connect(os.path.join(where, f"ascend_pytorch_profiler_{self.worker}.db"))
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + TABLES)
        rows = dict(self.rows)
        rows["STRING_IDS"] = [(number, value) for value, number in self.strings.items()]
        rows["RANK_DEVICE_MAP"] = [(self.worker, 0)]
        rows["HOST_INFO"] = [(str(77 + self.worker // 8), f"node{self.worker // 8}")]
        rows["META_DATA"] = [("SCHEMA_VERSION", "1.0.0"), ("parallel_group_info", json.dumps(self.groups))]
        for table, each in rows.items():
            if each:
                db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(each[0]))})", each)
        db.commit()
        db.close()


def write(job, root, launches):
    """All databases: one step after the other on one clock, as far apart as the steps are that were not recorded."""
    lengths = run(job.ops)
    offsets, at = {}, 0
    for i, step in enumerate(job.steps):
        if i > 0:
            at += (step - job.steps[i - 1]) * (lengths[job.steps[i - 1]] + PAUSE)
        offsets[step] = at
    for worker in range(job.dp * job.pp):
        Rank(job, worker, offsets, launches).write(root)


# --- comparing ----------------------------------------------------------------------------------


def step_length(job, basis):
    """What a step takes as recorded: of those that the next one follows where there are any, else their spans."""
    lengths = run(job.ops)
    followed = [lengths[step] + PAUSE for step in job.steps if step + 1 in job.steps]
    return statistics.fmean(followed if basis == "iteration" else lengths.values())


def judge(job, truth, cluster):
    """[(part, right, found)]"""
    balance = (cluster.get("replay") or {}).get("balance") or {}
    found = balance.get("slowdown") or 0
    out = [("slowdown", abs(found / truth["slowdown"] - 1) <= 0.02, f"{found:.3f} for {truth['slowdown']:.3f}")]
    error = (cluster.get("replay") or {}).get("fidelity")
    out.append(("replay", error is not None and abs(error) <= 0.005, f"fidelity {error}"))
    step, true = (cluster.get("replay") or {}).get("step_ns") or 0, step_length(job, cluster.get("step_basis"))
    out.append(("step", abs(step / true - 1) <= 0.01, f"{step / MS:.1f} ms for {true / MS:.1f} ms"))
    if job.kind in ("worker", "stage"):
        true = f"rank:{job.slow[0] + job.dp * job.slow[1]}" if job.kind == "worker" else f"stage:{job.pp - 1}"
        shares = {f"{each['kind']}:{each['what']}": each["recovered"] for each in balance.get("shares") or []}
        share = shares.get(true)
        want = truth["shares"][true]
        out.append(("share", share is not None and abs(share - want) <= 0.1, f"{true} {share} for {want:.3f}"))
        verdict = cluster.get("verdict") or {}
        named = f"{verdict.get('kind')}:{verdict.get('what')}"
        out.append(("verdict", named == true, f"{named} for {true}"))
    return out


def one(task):
    """One run."""
    kind, seed, program, launches, keep = task
    job = Job(seed, kind)
    truth = reference(job)
    root = tempfile.mkdtemp(prefix="published")
    try:
        write(job, root, launches)
        command = [program, "cluster", "-q", "-f", "json", "-d", root, "-o", os.path.join(root, "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        cluster = json.loads(done.stdout) if done.stdout else {}
        if keep:
            shutil.copytree(root, os.path.join(keep, f"{kind}-{seed}"), dirs_exist_ok=True)
        return kind, seed, judge(job, truth, cluster)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kinds", default=",".join(KINDS), help="of jobs, separated by commas")
    parser.add_argument("--seeds", default="1-20", help="first and last seed")
    parser.add_argument("--build", default=os.environ.get("NPUPROF_BUILD", "build/release"), help="where npuprof is")
    parser.add_argument("--bare", action="store_true", help="without the calls that launched what ran")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--floor", type=float, default=0, help="least share of seeds that must be right, in percent")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs here")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    program = os.path.join(arguments.build, "npuprof")
    kinds = arguments.kinds.split(",")
    if not set(kinds) <= set(KINDS) or not first.isdigit() or not os.access(program, os.X_OK):
        print("no such kind, seeds that are not A-B, or no npuprof in the build directory", file=sys.stderr)
        return 2
    seeds = range(int(first), int(last or first) + 1)
    tasks = [(kind, seed, program, not arguments.bare, arguments.keep) for kind in kinds for seed in seeds]
    with ProcessPoolExecutor(max(arguments.jobs, 1)) as pool:
        results = list(pool.map(one, tasks))
    least = 100.0
    for kind in kinds:
        mine = [(seed, parts) for each, seed, parts in results if each == kind]
        right = sum(all(ok for _, ok, _ in parts) for _, parts in mine)
        least = min(least, 100 * right / len(mine))
        print(f"{kind}: {right} of {len(mine)} right")
        for seed, parts in mine:
            bad = "; ".join(f"{part} {found}" for part, ok, found in parts if not ok)
            if bad:
                print(f"  {seed}: {bad}")
    return 1 if least < arguments.floor else 0


if __name__ == "__main__":
    sys.exit(main())
