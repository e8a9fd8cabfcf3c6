#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated series of runs, judged by `npuprof history trend` itself.

Another generator than that of the unit test: runs that depend on the run before them, machines and commits that are
used for several runs, weekends, runs that are far off, changes that are reverted, staircases and drifts. Prints a row for
each kind of series: of how many a change is said where there is none; how many are found at their run or at most two
later, or within two runs; how many are said to be gradual.

    tools/sweep/trend.py build/release/npuprof [--seeds 200] [--first 1] [--world NAME]
"""
import argparse
import json
import math
import os
import random
import sqlite3
import subprocess
import tempfile

from history import TABLES, student

DAY, STEP, NOISE = 86400 * 10**9, 100e6, 0.01


# --- noise: of each run, in parts of NOISE ------------------------------------------------------------------------


def alone(rng, runs):
    return [student(rng, 5) for _ in range(runs)]


def normal(rng, runs):
    return [rng.gauss(0, 1) for _ in range(runs)]


def skewed(rng, runs):
    return [rng.expovariate(1) for _ in range(runs)]


def far_off(rng, runs):
    return [student(rng, 5) + (30 * rng.random() if rng.random() < 0.1 else 0) for _ in range(runs)]


def weekends(rng, runs):
    return [student(rng, 5) + 2 * (run % 7 >= 5) for run in range(runs)]


def two_machines(rng, runs):
    return [student(rng, 5) + 6 * (rng.random() < 0.5) for _ in range(runs)]


def in_turns(rng, runs):
    machines = [2 * rng.gauss(0, 1) for _ in range(runs // 5 + 1)]
    return [student(rng, 5) + machines[run // 5] for run in range(runs)]


def three_times(rng, runs):
    commits = [student(rng, 5) for _ in range(runs // 3 + 1)]
    return [commits[run // 3] + 0.2 * rng.gauss(0, 1) for run in range(runs)]


def like_before(share):
    def noise(rng, runs):
        values = [rng.gauss(0, 1)]
        while len(values) < runs:
            values.append(share * values[-1] + math.sqrt(1 - share * share) * rng.gauss(0, 1))
        return values
    return noise


# --- series: noise, what changes at which runs, how many runs -----------------------------------------------------


def steps(*planted):
    """A step of so much, each at its run; a run of None is anywhere."""
    return lambda rng, runs: [(rng.randrange(10, runs - 10) if at is None else at, share) for at, share in planted]


def for_ten(rng, runs):
    at = rng.randrange(20, 40)
    return [(at, 0.05), (at + 10, -0.05)]


def early(rng, runs):
    return [(rng.randrange(4, runs - 3), 0.05)]


def drift(share, begin=0):
    return lambda rng, runs: [(run, share / (runs - begin)) for run in range(begin + 1, runs)]


WORLDS = {
    **{f"{runs} runs": (alone, None, runs) for runs in (8, 12, 20, 60, 200)},
    "normal": (normal, None, 60),
    "skewed": (skewed, None, 60),
    "far off": (far_off, None, 60),
    "weekends": (weekends, None, 60),
    "two machines": (two_machines, None, 60),
    "like before .3": (like_before(0.3), None, 60),
    "like before .5": (like_before(0.5), None, 60),
    "like before .8": (like_before(0.8), None, 60),
    "machines in turns": (in_turns, None, 60),
    "commits three times": (three_times, None, 60),
    **{f"step {share} %": (alone, steps((None, share / 100)), 60) for share in (1, 1.5, 2, 3, 5, -3)},
    "step 3 %, far off": (far_off, steps((None, 0.03)), 60),
    "step 3 %, weekends": (weekends, steps((None, 0.03)), 60),
    "step 5 %, like before .5": (like_before(0.5), steps((None, 0.05)), 60),
    "step 5 %, two machines": (two_machines, steps((None, 0.05)), 60),
    "step 5 %, 20 runs": (alone, early, 20),
    "step 5 %, newest four": (alone, steps((56, 0.05)), 60),
    "for ten runs 5 %": (alone, for_ten, 60),
    "two steps 3 %": (alone, steps((20, 0.03), (40, 0.03)), 60),
    "two steps 5 %": (alone, steps((20, 0.05), (40, 0.05)), 60),
    "drift 2 %": (alone, drift(0.02), 60),
    "drift 6 %": (alone, drift(0.06), 60),
    "level, drift 6 %": (alone, drift(0.06, 30), 60),
}


def write(path, values):
    db = sqlite3.connect(path)
    db.executescript("PRAGMA synchronous = OFF;" + TABLES)
    for run, value in enumerate(values, 1):
        db.execute("INSERT INTO RUN VALUES(?,?,'job',NULL,?,0,'0','NPU',8,8,4,?,'iteration','none',NULL,NULL)",
                   (run, f"f{run}", run * DAY, value))
        db.execute("INSERT INTO FIGURE VALUES(?,'step',?)", (run, value))
    db.commit()
    db.close()


def changes_of(program, values):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "runs.db")
        write(path, values)
        out = subprocess.run([program, "history", "trend", "--store", path, "-f", "json"], check=True, capture_output=True).stdout
    return json.loads(out)["changes"]


def near(found, planted, before, after):
    return len(found) >= len(planted) and all(any(at - before <= one <= at + after for one in found) for at, _ in planted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--world", action="append")
    options = parser.parse_args()
    for name, (noise, planting, runs) in WORLDS.items():
        if options.world and name not in options.world:
            continue
        said = right = within = gradual = 0
        for seed in range(options.first, options.first + options.seeds):
            rng = random.Random(f"{name} {seed}")
            planted = planting(rng, runs) if planting else []
            levels = [1 + sum(share for at, share in planted if run >= at) for run in range(runs)]
            changes = changes_of(options.program,
                                 [int(STEP * (level + NOISE * one)) for level, one in zip(levels, noise(rng, runs))])
            found = [change["run"] - 1 for change in changes if change["kind"] == "step"]
            said += len(changes) > 0
            gradual += len(found) < len(changes)
            right += near(found, planted, 0, 2)
            within += near(found, planted, 2, 2)
        if not planting:
            print(f"{name:26} {said} of {options.seeds} without a change are said to have one", flush=True)
        elif name.startswith(("drift", "level")):
            print(f"{name:26} {gradual} of {options.seeds} are gradual, of {said} something is said", flush=True)
        else:
            print(f"{name:26} {right} of {options.seeds} found at the run or at most two later, {within} within two runs, "
                  f"{gradual} gradual", flush=True)


if __name__ == "__main__":
    main()
