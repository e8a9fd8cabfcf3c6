#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated histories, judged by `npuprof history effects` itself (trend.py: by `trend`).

Another generator than that of the unit test: effects add up or multiply, noise is that of Student with three
degrees of freedom and a run in twenty is disturbed on a few ranks, the level of runs drifts, and placements are of
several kinds. Prints a row for each world: in how many seeds all that was planted is named within 1.5 points, how
many others were named, and the largest error.

    tools/sweep/history.py build/dev/npuprof [--seeds 20] [--first 1] [--world NAME]
"""
import argparse
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

TABLES = """
CREATE TABLE NPUPROF_HISTORY(format INTEGER NOT NULL);
INSERT INTO NPUPROF_HISTORY VALUES(1);
CREATE TABLE RUN(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, job TEXT NOT NULL, dir TEXT, captured INTEGER,
 added INTEGER, program TEXT, device TEXT, world INTEGER, ranks INTEGER, steps INTEGER, step_ns INTEGER, basis TEXT,
 verdict TEXT, what TEXT, sentence TEXT);
CREATE TABLE LABEL(run INTEGER NOT NULL, name TEXT NOT NULL, value TEXT);
CREATE TABLE FIGURE(run INTEGER NOT NULL, name TEXT NOT NULL, ns INTEGER);
CREATE TABLE RANK(run INTEGER NOT NULL, rank INTEGER NOT NULL, host TEXT, device INTEGER, stage INTEGER, tp INTEGER,
 dp INTEGER, ep INTEGER, step_ns INTEGER, computing_ns INTEGER, wait_ns INTEGER, transfer_ns INTEGER, idle_ns INTEGER,
 charge_ns INTEGER, mhz REAL);
CREATE TABLE STEP(run INTEGER NOT NULL, rank INTEGER NOT NULL, step TEXT, length_ns INTEGER, computing_ns INTEGER);
CREATE TABLE LINK(run INTEGER NOT NULL, src INTEGER, dst INTEGER, transport TEXT, gb_s REAL, peers_gb_s REAL, slow INTEGER);
CREATE TABLE REPAIR(run INTEGER NOT NULL, repair TEXT NOT NULL, saved_ns INTEGER);
"""

RANKS, DEVICES, STAGES, BASE = 64, 8, 4, 80e6


def student(rng, degrees):
    """Student's t with a standard deviation of 1 (degrees > 2)."""
    chi = sum(rng.gauss(0, 1) ** 2 for _ in range(degrees))
    return rng.gauss(0, 1) / math.sqrt(chi / degrees) / math.sqrt(degrees / (degrees - 2))


# --- placements: machine of each rank ----------------------------------------------------------------------------


def shuffled(rng, run, pool):
    return rng.sample(range(pool), RANKS)


def by_hosts(rng, run, pool):
    """Hosts change their places, the devices of a host stay together in their order."""
    hosts = rng.sample(range(pool // DEVICES), RANKS // DEVICES)
    return [hosts[rank // DEVICES] * DEVICES + rank % DEVICES for rank in range(RANKS)]


def two_orders(rng, run, pool):
    """The scheduler knows two orders."""
    return list(range(RANKS)) if run % 2 else [(rank + 24) % RANKS for rank in range(RANKS)]


def partly(rng, run, pool):
    """Half of the hosts are shuffled among themselves, the others never move."""
    half = list(range(RANKS // 2))
    rng.shuffle(half)
    return half + list(range(RANKS // 2, RANKS))


def fixed(rng, run, pool):
    return list(range(RANKS))


def replaced(rng, run, pool):
    """Always the same places, but a host is replaced by a spare one now and then."""
    machines = list(range(RANKS))
    if pool > RANKS and run % 3 == 0:
        host = rng.randrange(RANKS // DEVICES)
        machines[host * DEVICES:(host + 1) * DEVICES] = range(RANKS, RANKS + DEVICES)
    return machines


# --- worlds: what is planted, by what -----------------------------------------------------------------------------
# planted: ("device", machine), ("host", host), ("stage", stage) -> share of the base

WORLDS = {
    "even": dict(placed=shuffled, planted={}),
    "device+stage": dict(placed=shuffled, planted={("device", 27): 0.05, ("stage", 2): 0.08}),
    "additive": dict(placed=shuffled, planted={("device", 27): 0.05, ("stage", 2): 0.08}, additive=True),
    "hosts move": dict(placed=by_hosts, planted={("device", 27): 0.05, ("stage", 2): 0.08}),
    "two orders": dict(placed=two_orders, planted={("device", 27): 0.05, ("stage", 2): 0.08}),
    "two devices": dict(placed=shuffled, planted={("device", 5): 0.06, ("device", 41): 0.10}),
    "slow host": dict(placed=shuffled, planted={("host", 3): 0.07}),
    "slow host, hosts move": dict(placed=by_hosts, planted={("host", 3): 0.07, ("stage", 0): 0.05}),
    "spare hosts": dict(placed=shuffled, planted={("device", 70): 0.06, ("stage", 1): 0.08}, pool=96),
    "partly": dict(placed=partly, planted={("device", 9): 0.06}),
    "partly, slow one never moves": dict(placed=partly, planted={("device", 50): 0.06}, untold=True),
    "fixed": dict(placed=fixed, planted={("device", 27): 0.05}, untold=True),
    "a spare now and then": dict(placed=replaced, planted={}, pool=72),
    "drift": dict(placed=shuffled, planted={("device", 27): 0.05, ("stage", 2): 0.08}, drift=0.20),
    "other sizes": dict(placed=shuffled, planted={("device", 27): 0.05}, sizes=True),
    "ranks missing": dict(placed=shuffled, planted={("device", 27): 0.06, ("stage", 2): 0.08}, missing=0.3),
    "eight runs": dict(placed=shuffled, planted={("device", 27): 0.10}, runs=8),
}


def computing(world, machine, rank, level, rng):
    shares = [share for (kind, number), share in world["planted"].items()
              if number == {"device": machine, "host": machine // DEVICES, "stage": rank * STAGES // RANKS}[kind]]
    value = BASE * level
    if world.get("additive"):
        value += BASE * sum(shares)
    else:
        for share in shares:
            value *= 1 + share
    return value * math.exp(0.02 * student(rng, 3))


def write(path, world, rng):
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    runs = world.get("runs", 30)
    for run in range(1, runs + 1):
        level = (1 + world.get("drift", 0) * run / runs) * math.exp(0.05 * rng.gauss(0, 1))
        ranks = RANKS // 2 if world.get("sizes") and run % 4 == 0 else RANKS
        machines = world["placed"](rng, run, world.get("pool", RANKS))
        disturbed = set(rng.sample(range(RANKS), 6)) if rng.random() < 0.05 else set()
        db.execute("INSERT INTO RUN VALUES(?,?,'job',NULL,?,?,'0','NPU',?,?,4,?,'iteration','none',NULL,NULL)",
                   (run, f"f{run}", run * 86400 * 10 ** 9, 0, ranks, ranks, int(BASE * 1.2)))
        for rank in range(ranks):
            if rng.random() < world.get("missing", 0):
                continue
            value = computing(world, machines[rank], rank, level, rng) * (1.4 if rank in disturbed else 1)
            db.execute("INSERT INTO RANK VALUES(?,?,?,?,?,-1,-1,-1,?,?,0,0,1000000,0,NULL)",
                       (run, rank, f"node-{machines[rank] // DEVICES}", machines[rank] % DEVICES, rank * STAGES // RANKS,
                        int(BASE * 1.2), int(value)))
    db.commit()
    db.close()


def unit_of(one):
    if one["unit"] == "device":
        return "device", int(one["host"].split("-")[1]) * DEVICES + one["number"]
    if one["unit"] == "host":
        return "host", int(one["host"].split("-")[1])
    return one["unit"], one["number"]


def judge(world, effects):
    """(right, names of others, largest error in points)"""
    found = {unit_of(one): one for one in effects}
    named = {unit for unit, one in found.items() if one["named"]}
    if world.get("untold"):
        return not named, len(named), 0
    others = named - set(world["planted"])
    error = 0
    right = not others
    for unit, share in world["planted"].items():
        one = found.get(unit)
        if not one or one["share"] is None or not one["named"]:
            right = False
            continue
        error = max(error, abs(one["share"] - share))
        right &= abs(one["share"] - share) <= 0.015
    return right, len(others), 100 * error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--world", action="append")
    options = parser.parse_args()
    failed = False
    for name, world in WORLDS.items():
        if options.world and name not in options.world:
            continue
        right = others = 0
        worst = 0.0
        for seed in range(options.first, options.first + options.seeds):
            with tempfile.TemporaryDirectory() as work:
                path = os.path.join(work, "runs.db")
                write(path, world, random.Random(f"{name} {seed}"))
                out = subprocess.run([options.program, "history", "effects", "--store", path, "-f", "json"], check=True,
                                     capture_output=True).stdout
            good, wrong, error = judge(world, json.loads(out)["effects"])
            right += good
            others += wrong
            worst = max(worst, error)
        failed |= right < options.seeds
        print(f"{name:30} {right:3} of {options.seeds} right, {others} others named, off by {worst:.1f} points at most", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
