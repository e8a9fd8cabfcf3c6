#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iterations found in captures whose step marks were removed, against the steps that were marked.

    tools/sweep/period.py [--kind synth|field|shuffled] [--seeds A-B] [--build DIR] [--jobs N] [--keep DIR]

Each seed draws a job (npuprof-synth: 8 or 64 ranks, pipelines, noise, operators and kernels that were not recorded;
field: a case of the second generator, with interleaved pipelines), takes its marks away (STEP_TIME and what the
exporter derived by it) and asks `npuprof cluster` both times. Right: as many iterations as steps, give or take one,
and on every rank the median iteration within 1 %. `shuffled` draws the order of kernels and operators anew: right
is no iterations. Lists the seeds that are wrong. Exit status 1 if fewer than 98 % are right (shuffled: all).
"""

import argparse
import glob
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

sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
from field.cases import CASES  # noqa: E402
from field.generate import generate  # noqa: E402

# Captures that begin or end within a step, or in which ranks have other steps, have no true count to agree on;
# of those with the vendor's own step files alone no marks can be taken away.
LEFT_OUT = ("cut", "late-first", "short", "partial", "missing", "unrecorded", "no-trace", "sums-only")


def synth_options(draw, seed):
    """Options of one job: its shape, noise and what was not recorded."""
    ranks = draw.choice([8, 8, 8, 64])
    options = ["--ranks", str(ranks), "--steps", str(draw.randint(4, 9))]
    options += draw.choice([[], ["--pp", "2"], ["--pp", "4", "--tp", "2"], ["--tp", "4"], ["--ep", "4"]])
    options += ["--layers", str(draw.choice([4, 8, 12])), "--noise", str(draw.choice([0.5, 1, 2, 4]))]
    options += ["--kernels-per-layer", str(draw.randint(4, 14)), "--seed", str(seed)]
    options += draw.choice([[], [], ["--grads", "scatter"], ["--shapes", "3"], ["--between", "3000"]])
    if draw.random() < 0.5:
        options += ["--drop-ops", f"{draw.randint(0, 7)}:{draw.choice(['3', '0.02'])}"]
    return options


def databases(run):
    return sorted(glob.glob(f"{run}/**/ascend_pytorch_profiler*.db", recursive=True))


def thin(run, draw, share):
    """Of every rank some kernels were not recorded."""
    for path in databases(run):
        with sqlite3.connect(path) as database:
            ids = [row[0] for row in database.execute("SELECT globalTaskId FROM COMPUTE_TASK_INFO")]
            for one in draw.sample(ids, int(len(ids) * share)):
                database.execute("DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId = ?", (one,))
                database.execute("DELETE FROM TASK WHERE globalTaskId = ?", (one,))
        database.close()


def unmark(run):
    for path in databases(run):
        with sqlite3.connect(path) as database:
            database.execute("DELETE FROM STEP_TIME")
        database.close()
    for path in glob.glob(f"{run}/**/analysis.db", recursive=True):
        os.unlink(path)


def shuffle_rows(database, draw, table, columns):
    known = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    columns = [name for name in columns if name in known]
    rows = database.execute(f"SELECT rowid, {', '.join(columns)} FROM {table} ORDER BY rowid").fetchall()
    values = [row[1:] for row in rows]
    draw.shuffle(values)
    database.executemany(
        f"UPDATE {table} SET {', '.join(name + ' = ?' for name in columns)} WHERE rowid = ?",
        [(*value, row[0]) for value, row in zip(values, rows)],
    )


def shuffle(run, draw):
    for path in databases(run):
        with sqlite3.connect(path) as database:
            shuffle_rows(database, draw, "COMPUTE_TASK_INFO", ["name", "opType", "inputShapes", "outputShapes"])
            shuffle_rows(database, draw, "COMMUNICATION_OP", ["opName", "groupName", "count", "dataType", "opType"])
        database.close()


def steps(program, directory, *options):
    """How, how many and the median iteration of every rank."""
    done = subprocess.run(
        [program, "cluster", "-d", directory, "-o", directory + ".out", "-f", "json", "-q", *options],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=600,
    )
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return {"how": f"exit status {done.returncode}", "confidence": None}, 0, {}
    lengths = {}
    for step in result["steps"]:
        for rank in step["ranks"]:
            if rank["iteration_ns"]:
                lengths.setdefault(rank["rank"], []).append(rank["iteration_ns"])
    return result["steps_from"], len(result["steps"]), {rank: statistics.median(of) for rank, of in lengths.items()}


def make(kind, seed, root, build):
    """The marked run and what it is called."""
    draw = random.Random(seed)
    run = os.path.join(root, "run")
    if kind == "field":
        names = [name for name in CASES if not any(word in name for word in LEFT_OUT)]
        name = draw.choice(names)
        generate(name, seed, root, "db")
        return run, name, draw
    options = synth_options(draw, seed)
    if kind == "shuffled":
        options[1] = "2"
        options = [word for word in options if not word.startswith("--drop")]
        options = [options[i] for i in range(len(options)) if ":" not in options[i]]
        options = ["--ranks", "8", *options[2:]]
    subprocess.run([f"{build}/npuprof-synth", "-o", run, "-q", "--no-instances", *options], check=True)
    if kind == "synth" and draw.random() < 0.3:
        thin(run, draw, 0.005)
        options.append("(0.5 % of kernels not recorded)")
    return run, " ".join(options), draw


def try_seed(task):
    kind, seed, build, keep = task
    root = tempfile.mkdtemp(prefix="npuprof-period.")
    program = os.path.join(build, "npuprof")
    try:
        run, name, draw = make(kind, seed, root, build)
        if kind == "shuffled":
            shuffle(run, draw)
            unmark(run)
            how, count, _ = steps(program, run)
            good = how["how"] == "none"
            what = f"{how['how']} {how['confidence']}, {count} iterations"
        else:
            _, true_count, truth = steps(program, run)
            unmark(run)
            how, count, found = steps(program, run)
            off = [
                abs(found[rank] - truth[rank]) / truth[rank] if rank in found else 1.0 for rank in truth
            ] or [1.0]
            good = how["how"] == "period" and abs(count - true_count) <= 1 and max(off) <= 0.01
            what = f"{how['how']} {how['confidence']}, {count} iterations of {true_count}, off by {100 * max(off):.2f} %"
        if keep and not good:
            shutil.rmtree(os.path.join(keep, f"{kind}-{seed}"), ignore_errors=True)
            shutil.copytree(run, os.path.join(keep, f"{kind}-{seed}"))
        return seed, good, f"{what}: {name}"
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kind", default="synth", choices=["synth", "field", "shuffled"])
    parser.add_argument("--seeds", default="1-20", help="first and last seed")
    parser.add_argument("--build", default=os.environ.get("NPUPROF_BUILD", "build/release"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="copy the runs that are wrong below this directory")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    tasks = [(options.kind, seed, options.build, options.keep) for seed in range(int(first), int(last or first) + 1)]
    with ProcessPoolExecutor(max(options.jobs, 1)) as pool:
        right = 0
        for seed, good, what in pool.map(try_seed, tasks):
            right += good
            if not good:
                print(f"seed {seed}: {what}", flush=True)
    print(f"{options.kind}: {right} of {len(tasks)} right", flush=True)
    return 0 if right >= (1 if options.kind == "shuffled" else 0.98) * len(tasks) else 1


if __name__ == "__main__":
    sys.exit(main())
