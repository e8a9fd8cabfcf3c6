# SPDX-License-Identifier: Apache-2.0
"""From a case and a seed to a directory of profiles and the truth about them."""

import glob
import json
import os

from . import cases, dbform, textform, vendor
from .capture import Clock, record
from .engine import DEVICE, KERNEL, MEMCPY, simulate
from .noise import Dice
from .program import build


def _mean_iteration(program):
    """The step as it was: mean over ranks and steps of the time from first work to first work."""
    return _mean(row["iteration"] for row in _rank_steps(program) if row["iteration"] is not None)


def _mean(values):
    values = list(values)
    return int(sum(values) / len(values)) if values else None


def _rank_steps(program):
    """True span and iteration of each rank and step."""
    out = []
    for rank, ops in enumerate(program.ranks):
        firsts, lasts = {}, {}
        for op in ops:
            if op.kind in DEVICE and op.kind != MEMCPY and op.recorded:
                firsts[op.step] = min(firsts.get(op.step, op.start), op.start)
                lasts[op.step] = max(lasts.get(op.step, op.end), op.end)
        for step, first in sorted(firsts.items()):
            following = firsts.get(step + 1)
            out.append(
                {
                    "rank": rank, "step": step, "span": lasts[step] - first,
                    "iteration": None if following is None else following - first,
                }
            )
    return out


def _clocks(layout, seed, skew):
    dice = Dice(seed, "clock")
    hosts = {}
    for rank in range(layout.world):
        hosts.setdefault(
            layout.host(rank),
            (
                int(dice.uniform(-9e6, 9e6) if skew else dice.uniform(-2e5, 2e5)),
                dice.uniform(-25, 25) if skew else dice.uniform(-3, 3),
            ),
        )
    return [
        Clock(
            hosts[layout.host(rank)][0] + int(dice.uniform(-15e3, 15e3)), hosts[layout.host(rank)][1],
            int(dice.uniform(-9e3, 4e3)),
        )
        for rank in range(layout.world)
    ]


def _run(program, applied):
    program.reset()
    for fault in applied:
        fault(program)
    simulate(program)
    return program


def _keeper(seed, share):
    """A function that leaves a share of a list: its begin, its end, or what dropped buffers leave of it."""
    dice = Dice(seed, "cut")
    how = dice.choice(["begin", "end", "buffers"])

    def keep(rows):
        count = int(len(rows) * share)
        if how == "begin":
            return rows[:count]
        if how == "end":
            return rows[len(rows) - count :]
        buffers = [rows[at : at + 40] for at in range(0, len(rows), 40)]
        kept = set(dice.random.sample(range(len(buffers)), max(round(len(buffers) * share), 1)))
        return [row for number, buffer in enumerate(buffers) if number in kept for row in buffer]

    return keep


def _recorded_steps(capture):
    """What the capture of a rank adds up to, by the definitions of the project."""
    out = []
    begins = []
    for _, _, first, last in vendor.windows(capture):
        rows = [
            row for row in capture.rows if first <= row.start < last and (row.kind == KERNEL or row.group is not None)
        ]
        lanes = vendor.Lanes(rows)
        begins.append(min(row.start for row in rows))
        span = max(row.end for row in rows) - begins[-1]
        out.append(
            {
                "computing_ns": vendor.length(lanes.computing), "communication_ns": vendor.length(lanes.communication),
                "communication_not_overlapped_ns": vendor.length(lanes.exposed), "free_ns": vendor.length(lanes.free),
                "span_ns": span,
            }
        )
    for index, (each, (step, _, _)) in enumerate(zip(out, capture.steps)):
        each["step"] = str(step)
        each["iteration_ns"] = begins[index + 1] - begins[index] if index + 1 < len(begins) else None
        each["between_ns"] = None if each["iteration_ns"] is None else each["iteration_ns"] - each["span_ns"]
    return out


def generate(name, seed, root, form="db"):
    """Write the profiles of the case below root/run and root/truth.json; return the truth."""
    case = cases.make(name, seed)
    program = build(case.layout, case.shape, seed)
    ideal = build(case.layout, case.ideal_shape, seed) if case.ideal_shape else program
    _run(ideal, case.background)
    step_without, span_without = _mean_iteration(ideal), _mean(row["span"] for row in _rank_steps(ideal))
    _run(program, case.background + case.faults)
    step = _mean_iteration(program)
    spans = _mean(row["span"] for row in _rank_steps(program))
    captures = record(program, _clocks(case.layout, seed, case.skew), seed, case.straddle, case.early)
    for capture in captures:
        capture.gc_recorded = case.gc_recorded
    if case.edit:
        case.edit(captures)
        for capture in captures:
            capture.number()
    form = case.form or form
    where = os.path.join(root, "run")
    os.makedirs(where)
    cut_rank, share, file = case.cut or (None, None, None)
    if file:
        form = "db" if file == "db" else "text"
    for capture in captures:
        if capture.rank in case.omit:
            continue
        keep = _keeper(seed, share) if capture.rank == cut_rank else None
        if form == "db":
            dbform.write(where, capture, keep)
        else:
            textform.write(where, capture, keep, file, trace=file != "csv")
    for name in case.drop:
        for path in glob.glob(os.path.join(where, "*", "*", name)):
            os.remove(path)
    truth = {
        "schema": "npuprof.field-truth/1", "case": name, "seed": seed, "form": form, "ranks": case.layout.world,
        "omitted": sorted(case.omit),
        "accept": [{"kind": kind, "what": what} for kind, what in case.accept], "cause": list(case.cause),
        "judge_gain": case.gain,
        "also": case.also, "cut": list(case.cut) if case.cut else None,
        "step_ns": step, "step_without_fault_ns": step_without, "span_ns": spans, "saved_ns": step - step_without,
        "saved_span_ns": spans - span_without,
        "per_rank": [
            {"rank": capture.rank, "steps": _recorded_steps(capture)}
            for capture in captures
            if capture.rank not in case.omit
        ],
    }
    with open(os.path.join(root, "truth.json"), "w", encoding="utf-8") as out:
        json.dump(truth, out, indent=1)
    return truth
