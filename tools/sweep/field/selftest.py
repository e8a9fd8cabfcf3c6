# SPDX-License-Identifier: Apache-2.0
"""Checks of the generator itself: schedules, causality of the simulation, and the sums of what is recorded.

    python3 -m field.selftest        (in tools/sweep)
"""

import sys

from . import cases, schedule, vendor
from .capture import record
from .engine import DEVICE
from .generate import _clocks, _recorded_steps, _run
from .program import build


def check_schedules():
    for stages in (2, 4):
        for kind in ("1f1b", "interleaved", "zero-bubble"):
            chunks = 2 if kind == "interleaved" else 1
            for order in schedule.order(kind, stages, 8):
                assert len(order) == len(set(order)) == 8 * chunks * (3 if kind == "zero-bubble" else 2), kind
                for batch in range(8):
                    for chunk in range(chunks):
                        assert order.index(("F", batch, chunk)) < order.index(("B", batch, chunk)), kind


def check_causality(program):
    """Streams are in order, nothing precedes its launch or what it waits for, nobody leaves before all have come."""
    for ops in program.ranks:
        tails, now = {}, 0
        for op in ops:
            assert op.host_start >= now, "the host goes back in time"
            now = op.host_start
            if op.kind not in DEVICE:
                continue
            assert op.launched <= op.start <= op.end, op.name
            assert op.start >= tails.get(op.stream, 0), f"{op.name} overlaps on its stream"
            tails[op.stream] = op.end
            for dep in op.deps:
                assert op.start >= dep.end, f"{op.name} starts before {dep.name} ends"
    for each in program.instances:
        assert set(each.members) == set(each.group.members), "a collective lacks members"
        assert min(op.end for op in each.members.values()) >= each.arrival
    for each in program.messages:
        assert each.sender and each.receiver, "half a message"
        assert each.receiver.end >= each.sent, "received before it was sent"


def check_captures(program, seed):
    """What is recorded adds up: parts to spans, spans and gaps to iterations; text and db windows agree."""
    for capture in record(program, _clocks(program.layout, seed, True), seed):
        for each, row in zip(_recorded_steps(capture), vendor.step_times_db(capture)):
            assert each["computing_ns"] + each["communication_not_overlapped_ns"] + each["free_ns"] == each["span_ns"]
            assert abs(row[1] * 1000 - each["computing_ns"]) < 1
        for row in capture.communications():
            assert all(row.start <= task.start <= task.end <= row.end for task in row.tasks), row.name
        rows = sorted((row.stream, row.start, row.end) for row in capture.rows)
        assert all(a[0] != b[0] or a[2] <= b[1] for a, b in zip(rows, rows[1:])), "kernels overlap on a stream"


def check_case(name, seed):
    case = cases.make(name, seed)
    program = build(case.layout, case.shape, seed)
    once = _run(program, case.background + case.faults)
    times = [(op.start, op.end) for ops in once.ranks for op in ops]
    check_causality(program)
    check_captures(program, seed)
    again = build(case.layout, case.shape, seed)
    _run(again, case.background)
    _run(again, case.background + case.faults)
    assert times == [(op.start, op.end) for ops in again.ranks for op in ops], f"{name} differs when made again"


def main():
    check_schedules()
    names = sys.argv[1:] or [name for name in cases.CASES if not name.startswith("cut-")]
    for name in names:
        check_case(name, 1)
    print(f"{len(names)} cases are sound")


if __name__ == "__main__":
    main()
