#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published what-if rule for stragglers, by itself: what replay.balance is checked against.

    python3 -m field.published --build DIR [--jobs NAME,...] [--seeds A-B] [--tolerance SHARE] [--keep DIR]

Makes training jobs as the published ones are recorded (per micro-batch one forward and one backward operator, sends
and receives, collectives at both ends of the step, gaps before launches), knows what depends on what, applies the
rule to the recorded times, writes them as profiles, and asks npuprof. Nothing here is shared with npuprof; the rule:

  a transfer lasts from the last start of its group to its own end; computing as long as it was seen to take
  now       every operator starts when all it depends on has ended (gaps before launches dropped), steps at zero
  ideal     the same with computing at the mean of its type, transfers at the median, over ranks and steps
  slowdown  now / ideal; a share is (now - with it ideal) / (now - ideal)

npuprof knows no micro-batches: it compares what lies between two operators with the same of the rank's peers, and pools what
differs by chance alone. Where it differs much ("lengths"), or peers are few ("deep"), four times the tolerance is allowed.

Exit status 1 if npuprof differs by more than the tolerance somewhere.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import deque
from dataclasses import dataclass, field

from . import dbform
from .capture import NONE, Capture, Clock, Row, Task
from .engine import COLLECTIVE, KERNEL, MESSAGE
from .layout import Layout
from .noise import Dice
from .schedule import one_f_one_b

COMPUTING = ("forward-compute", "backward-compute", "optimizer")
OPERATORS = {
    "forward-send": "hcom_send_", "backward-send": "hcom_send_", "forward-recv": "hcom_receive_",
    "backward-recv": "hcom_receive_", "params-all-gather": "hcom_allGather_",
    "grads-reduce-scatter": "hcom_reduceScatter_", "embedding-grads-all-reduce": "hcom_allReduce_",
    "clip": "hcom_allReduce_",
}
ROLES = {
    "params-all-gather": "dp", "grads-reduce-scatter": "dp", "embedding-grads-all-reduce": "embd",
    "clip": "default_group",
}
BYTES = {
    "params-all-gather": 96 << 20, "grads-reduce-scatter": 192 << 20, "embedding-grads-all-reduce": 64 << 20,
    "clip": 4,
}
STREAMS = {name: number for number, name in enumerate(OPERATORS, 11)}


@dataclass
class Operator:
    """An operator of one rank in one step."""

    rank: int
    step: int
    kind: str
    number: int
    length: float  # computing, or transfer
    delay: float  # of its launch
    deps: list = field(default_factory=list)
    group: tuple = ()  # of communication: which of all ranks meet
    start: float = None
    end: float = None


class Job:
    """Who does what after what, with all draws made."""

    def __init__(self, name, seed):
        self.dice = Dice(seed, "published", name)
        self.name, self.ops, self.by_key = name, [], {}
        pp, dp, batches, steps = {
            "stage": (4, 2, 8, 3), "worker": (4, 4, 16, 3), "lengths": (2, 8, 8, 4), "even": (4, 2, 8, 3),
            "deep": (8, 2, 16, 2),
        }[name]
        self.layout = Layout(dp=dp, pp=pp, per_host=8)
        self.rule = None
        if pp > 1:
            for replica in range(dp):
                ends = (self.layout.rank(0, replica, 0), self.layout.rank(0, replica, pp - 1))
                self.layout._add("embd", ends)  # pylint: disable=protected-access
        self.slow_rank = self.dice.integer(0, self.layout.world - 1)
        self.factor = self.dice.uniform(1.3, 2.2)
        for step in range(steps):
            for rank in range(self.layout.world):
                self._rank(step, rank, batches)

    def _length(self, kind, step, rank, batch):
        """Computing of a micro-batch, ns."""
        stage = self.layout.place(rank)[2]
        value = (30e6 if kind == "F" else 62e6) * self.dice.lognormal(0.01)
        if self.name in ("stage", "deep") and stage == self.layout.pp - 1:
            value *= self.factor if kind == "F" else 1 + (self.factor - 1) / 2
        elif self.name == "worker" and rank == self.slow_rank:
            value *= self.factor
        elif self.name == "lengths":
            value *= Dice(self.name, step, self.layout.place(rank)[1], batch).lognormal(0.45)
        return value

    def _add(self, step, rank, kind, number, length, deps, group=()):
        delay = self.dice.short(150e3) + (self.dice.short(4e6) if self.dice.chance(0.05) else 0)
        op = Operator(rank, step, kind, number, length, delay, [each for each in deps if each], group)
        self.ops.append(op)
        self.by_key[step, rank, kind, number] = op
        return op

    def _transfer(self, micros):
        return micros * 1e3 * self.dice.lognormal(0.1) * (3 if self.dice.chance(0.02) else 1)

    def _rank(self, step, rank, batches):
        layout = self.layout
        tp, dp, stage = layout.place(rank)
        order = one_f_one_b(layout.pp, batches)[stage]
        last = layout.pp - 1
        names = {"F": "forward", "B": "backward"}
        gather = self._add(step, rank, "params-all-gather", 0, self._transfer(2500), [], ("dp", stage, 0))
        before, done, first = None, {"F": [], "B": []}, True
        lines = {}
        for place, (kind, batch, _) in enumerate(order):
            name = names[kind]
            receive = None
            if stage != (0 if kind == "F" else last):
                peer = layout.rank(tp, dp, stage + (-1 if kind == "F" else 1))
                group = (name, min(peer, rank), batch)
                deps = [done[kind][-1] if done[kind] else None, lines.get((kind, "recv"))]
                if kind == "B" and not done["B"] and place >= 2:
                    deps.append(done["F"][-2] if len(done["F"]) > 1 else None)
                receive = self._add(step, rank, f"{name}-recv", batch, self._transfer(400), deps, group)
                lines[kind, "recv"] = receive
            before = self._add(
                step, rank, f"{name}-compute", batch, self._length(kind, step, rank, batch),
                [before, receive, gather if first else None],
            )
            first = False
            done[kind].append(before)
            if stage != (last if kind == "F" else 0):
                peer = layout.rank(tp, dp, stage + (1 if kind == "F" else -1))
                group = (name, min(peer, rank), batch)
                lines[kind, "send"] = self._add(
                    step, rank, f"{name}-send", batch, self._transfer(400), [before, lines.get((kind, "send"))], group,
                )
        tail = before
        if stage in (0, last) and last > 0:
            tail = self._add(
                step, rank, "embedding-grads-all-reduce", 0, self._transfer(1800), [tail], ("embd", dp, 0),
            )
        tail = self._add(step, rank, "grads-reduce-scatter", 0, self._transfer(5200), [tail], ("dp", stage, 1))
        tail = self._add(step, rank, "clip", 0, self._transfer(60), [tail], ("all", 0, 0))
        self._add(step, rank, "optimizer", 0, 4e6 * self.dice.lognormal(0.02), [tail])


def simulate(job, length, delay, starts):
    """Fill in start and end of all operators: `length` and `delay` are functions of one; gives {step: end}."""
    following, missing, meeting = {}, {}, {}
    for op in job.ops:
        op.start = op.end = None
        missing[id(op)] = len(op.deps)
        for each in op.deps:
            following.setdefault(id(each), []).append(op)
        if op.group:
            meeting.setdefault((op.step, op.group), []).append(op)
    queue = deque(op for op in job.ops if not op.deps)
    ends = {}
    while queue:
        op = queue.popleft()
        op.start = max((each.end for each in op.deps), default=starts[op.step]) + delay(op)
        members = meeting[op.step, op.group] if op.group else [op]
        if any(each.start is None for each in members):
            continue
        last = max(each.start for each in members)
        for each in members:
            each.end = last + length(each)
            ends[op.step] = max(ends.get(op.step, 0), each.end)
            for after in following.get(id(each), ()):
                missing[id(after)] -= 1
                if missing[id(after)] == 0:
                    queue.append(after)
    assert all(op.end is not None for op in job.ops), "a circle"
    return ends


class Rule:
    """The rule, from the recorded times alone."""

    def __init__(self, job):
        self.job = job
        groups = {}
        for op in job.ops:
            if op.group:
                groups.setdefault((op.step, op.group), []).append(op)
        self.length, by_kind = {}, {}
        for op in job.ops:
            last = max(each.start for each in groups[op.step, op.group]) if op.group else op.start
            self.length[id(op)] = max(op.end - last, 0)
            by_kind.setdefault(op.kind, []).append(self.length[id(op)])
        self.ideal = {
            kind: statistics.fmean(values) if kind in COMPUTING else statistics.median(values)
            for kind, values in by_kind.items()
        }

    def step(self, is_ideal):
        zero = {op.step: 0.0 for op in self.job.ops}
        ends = simulate(
            self.job, lambda op: self.ideal[op.kind] if is_ideal(op) else self.length[id(op)], lambda _: 0.0, zero,
        )
        return statistics.fmean(ends.values())

    def result(self):
        now, ideal = self.step(lambda _: False), self.step(lambda _: True)
        shares = {}
        layout = self.job.layout
        for stage in range(layout.pp):
            shares["stage", str(stage)] = self.step(lambda op, s=stage: layout.place(op.rank)[2] == s)
        shares["rank", str(self.job.slow_rank)] = self.step(lambda op: op.rank == self.job.slow_rank)
        for kind in COMPUTING[:2]:
            shares["optype", kind] = self.step(lambda op, k=kind: op.kind == k)
        return {
            "step_ns": now, "ideal_ns": ideal, "slowdown": now / ideal,
            "shares": {key: (now - each) / (now - ideal) for key, each in shares.items()},
        }


def _rows(job, rank, clock, pieces):
    layout = job.layout
    for op in (op for op in job.ops if op.rank == rank):
        start, end = clock.device_ns(int(op.start)), clock.device_ns(int(op.end))
        launch = start - 9000
        if op.kind in COMPUTING:
            cuts = [start + (end - start) * i // pieces for i in range(pieces + 1)]
            for first, last in zip(cuts, cuts[1:]):
                yield Row(
                    KERNEL, f"aclnn{op.kind}", op.kind, "AI_CORE", 2, first, last, launch - 5000, launch, launch + 6000,
                    "aten::mm", op.step,
                )
            continue
        name = OPERATORS[op.kind]
        message = op.kind.endswith(("send", "recv"))
        group = layout.group("pp" if message else ROLES[op.kind], rank)
        size = 8 << 20 if message else BYTES[op.kind]
        row = Row(
            MESSAGE if message else COLLECTIVE, name, name, "", STREAMS[op.kind], start, end, launch - 5000, launch,
            launch + 6000, "Hccl", op.step, group=group, size=size,
        )
        mine = group.local(rank)
        peer = mine
        if message:
            peer = mine + (1 if op.kind in ("forward-send", "backward-recv") else -1)
        elif len(group.members) > 1:
            peer = (mine + 1) % len(group.members)
        begin = max(end - max(int(job.rule.length[id(op)]), 2000), start)
        row.tasks = [
            Task(start, begin, "Notify_Wait", 0, mine, peer, 0, 65535),
            Task(begin, max(end - 500, begin), "Memcpy", 0, mine, peer, size, 1),
        ]
        yield row


def write(job, root, pieces):
    """The profiles of the job as it was recorded."""
    clocks = Dice("clocks", job.name, job.factor)
    for rank in range(job.layout.world):
        clock = Clock(int(clocks.uniform(-2e5, 2e5)), clocks.uniform(-2, 2))
        capture = Capture(rank, rank % 8, job.layout.host(rank), 7000 + rank, job.layout)
        capture.rows = sorted(_rows(job, rank, clock, pieces), key=lambda row: (row.start, row.end))
        ordinals = {}
        for number, row in enumerate(sorted(capture.rows, key=lambda row: row.launch)):
            row.connection, row.task_id = 1200 + 3 * number, 30_000 + number
        for row in capture.rows:
            if row.group is not None:
                ordinal = ordinals[row.group.name] = ordinals.get(row.group.name, -1) + 1
                row.name = f"{row.type}_{row.group.hash % 1000:03d}_{ordinal}_1"
        for step in sorted({op.step for op in job.ops}):
            mine = [op for op in job.ops if op.rank == rank and op.step == step]
            capture.steps.append(
                (
                    step + 5, clock.host_ns(int(min(op.start for op in mine)) - 400_000),
                    clock.host_ns(int(max(op.end for op in mine)) + 200_000),
                )
            )
        dbform.write(root, capture)


def ask(program, root, output):
    arguments = [program, "cluster", "-q", "-f", "json", "-d", root, "-o", output]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=False, timeout=300)
    return (json.loads(done.stdout).get("replay") or {}).get("balance") or {}


def make(name, seed):
    """A job as it was recorded, and what the rule makes of it."""
    job = Job(name, seed)
    starts, time = {op.step: 0.0 for op in job.ops}, 1e9
    for step, end in sorted(simulate(job, lambda op: op.length, lambda op: op.delay, starts).items()):
        starts[step] = time
        time += end + 2e6
    simulate(job, lambda op: op.length, lambda op: op.delay, starts)
    recorded = [(op.start, op.end) for op in job.ops]
    job.rule = Rule(job)
    result = job.rule.result()
    for op, (start, end) in zip(job.ops, recorded):
        op.start, op.end = start, end
    return job, result


def check(name, seed, program, pieces, keep):
    """(line, worst difference) of one job."""
    job, wanted = make(name, seed)
    root = tempfile.mkdtemp(prefix="npuprof-published.")
    try:
        run = os.path.join(root, "run")
        os.makedirs(run)
        write(job, run, pieces)
        found = ask(program, run, os.path.join(root, "out"))
        if keep:
            shutil.rmtree(os.path.join(keep, f"{name}-{seed}"), ignore_errors=True)
            shutil.copytree(run, os.path.join(keep, f"{name}-{seed}"))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if not found:
        return f"{name:8} {seed:3}  no balance", 1.0
    shares = {(each["kind"], each["what"]): each["recovered"] for each in found["shares"]}
    worst = abs(found["slowdown"] / wanted["slowdown"] - 1)
    parts = []
    for key, value in wanted["shares"].items():
        if abs(value) > 0.15 and wanted["slowdown"] > 1.05:
            parts.append(f"{key[0]} {key[1]} {shares.get(key, 0):.2f}/{value:.2f}")
            worst = max(worst, abs(shares.get(key, 0) - value) / 10)
    line = (
        f"{name:8} {seed:3}  step {found['step_ns'] / 1e6:8.1f}/{wanted['step_ns'] / 1e6:8.1f} ms"
        f"  slowdown {found['slowdown']:.4f}/{wanted['slowdown']:.4f}  {', '.join(parts)}"
    )
    return line, worst


def main():
    parser = argparse.ArgumentParser(description="npuprof/published rule, for jobs of known causes")
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--jobs", default="even,stage,worker,lengths,deep")
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--pieces", type=int, default=1, help="kernels of a micro-batch")
    parser.add_argument("--tolerance", type=float, default=0.01, help="of slowdowns; ten times that of shares")
    parser.add_argument("--keep", metavar="DIR")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    bad = False
    for name in arguments.jobs.split(","):
        for seed in range(int(first), int(last or first) + 1):
            line, worst = check(
                name, seed, os.path.join(arguments.build, "npuprof"), arguments.pieces, arguments.keep,
            )
            differs = worst > arguments.tolerance * (4 if name in ("lengths", "deep") else 1)
            bad |= differs
            print(line + ("  <-- differs" if differs else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
