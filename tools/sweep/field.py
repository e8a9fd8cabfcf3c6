#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often npuprof is right on clusters made by the second generator (tools/sweep/field).

    tools/sweep/field.py [--cases GLOB,...] [--seeds A-B] [--build DIR] [--form db|text] [--jobs N]
                         [--floor PERCENT] [--keep DIR] [--details] [--list]

Each case is generated with each seed in a temporary directory, analysed with `npuprof cluster` and `npuprof
whatif`, and the answers are compared with the truth. Prints a table: case, right of all, the parts judged, and
the seeds that failed. Exit status 1 if a case is right in fewer than PERCENT of its seeds, 2 for wrong usage.

    tools/sweep/field.py --make CASE:SEED DIR [--form db|text]

only writes the profiles below DIR/run and DIR/truth.json.
"""

import argparse
import fnmatch
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
from field.cases import ALL, CASES  # noqa: E402
from field.generate import generate  # noqa: E402
from field.judge import judge  # noqa: E402


def ask(program, command, directory, output):
    """The JSON of a command and its exit status; {} where there is none."""
    arguments = [
        program, command, "-q", "-f", "json", "-d", directory,
    ] + (["-o", output] if command == "cluster" else [])
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=300)
    try:
        return json.loads(done.stdout), done.returncode
    except ValueError:
        return {}, done.returncode


def run_one(task):
    """Generate, analyse and judge one case and seed."""
    name, seed, form, program, keep = task
    gc.disable()  # nothing here is in cycles for long, and looking for them takes a third of the time
    root = tempfile.mkdtemp(prefix="npuprof-field.")
    try:
        truth = generate(name, seed, root, form)
        run = os.path.join(root, "run")
        cluster, status = ask(program, "cluster", run, os.path.join(root, "out"))
        if "steps" not in cluster:
            result = [("answer", False, f"exit status {status}")]
        else:
            whatif, _ = ask(program, "whatif", run, None)
            result = judge(truth, cluster, whatif, status)
        if keep:
            with open(os.path.join(root, "cluster.json"), "w", encoding="utf-8") as file:
                json.dump(cluster, file)
            where = os.path.join(keep, f"{name}-{seed}")
            shutil.rmtree(where, ignore_errors=True)
            shutil.move(root, where)
        return name, seed, result, (cluster.get("verdict") or {}).get("text") or ""
    finally:
        shutil.rmtree(root, ignore_errors=True)
        gc.collect()


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", default="*", help="names or patterns, separated by commas")
    parser.add_argument("--seeds", default="1-20", help="first and last seed")
    parser.add_argument(
        "--build", default=os.environ.get("NPUPROF_BUILD", "build/release"), help="directory with npuprof in it",
    )
    parser.add_argument(
        "--form", choices=("db", "text"), default="db", help="of the profiles (a cut file decides itself)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--floor", type=float, default=0, help="least share of seeds that must be right, in percent")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs and answers here")
    parser.add_argument("--details", action="store_true", help="say of each wrong run what was found")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--make", nargs=2, metavar=("CASE:SEED", "DIR"), help="only write the profiles of one run")
    return parser.parse_args()


def print_table(names, results, seeds):
    """The table, and the least share of right seeds."""
    least = 100.0
    print("| case | right | parts | wrong seeds |\n|---|---|---|---|")
    for name in names:
        mine = [(seed, result) for case, seed, result, _ in results if case == name]
        wrong = [seed for seed, result in mine if not all(right for _, right, _ in result)]
        parts = {}
        for _, result in mine:
            for part, right, _ in result:
                counts = parts.setdefault(part, [0, 0])
                counts[0] += right
                counts[1] += 1
        text = ", ".join(f"{part} {right}/{total}" for part, (right, total) in parts.items())
        print(f"| {name} | {len(mine) - len(wrong)}/{len(mine)} | {text} | {' '.join(map(str, wrong)) or '-'} |")
        least = min(least, 100 * (1 - len(wrong) / len(seeds)))
    return least


def main():
    arguments = options()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    if arguments.make:
        name, _, seed = arguments.make[0].partition(":")
        if name not in ALL or not seed.isdigit():
            print(f"--make takes CASE:SEED, not '{arguments.make[0]}' (--list names the cases)", file=sys.stderr)
            return 2
        generate(name, int(seed), arguments.make[1], arguments.form)
        return 0
    patterns = arguments.cases.split(",")
    names = [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    first, _, last = arguments.seeds.partition("-")
    program = os.path.join(arguments.build, "npuprof")
    if not names or not first.isdigit() or not (last or first).isdigit() or not os.access(program, os.X_OK):
        print("no such case, seeds that are not A-B, or no npuprof in the build directory", file=sys.stderr)
        return 2
    seeds = range(int(first), int(last or first) + 1)
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    tasks = [(name, seed, arguments.form, program, arguments.keep) for name in names for seed in seeds]
    with ProcessPoolExecutor(max(arguments.jobs, 1)) as pool:
        results = list(pool.map(run_one, tasks))
    least = print_table(names, results, seeds)
    if arguments.details:
        for name, seed, result, text in results:
            bad = [f"{part}: {found}" for part, right, found in result if not right]
            if bad:
                print(f"{name} {seed}: {'; '.join(bad)} | {text}")
    return 1 if least < arguments.floor else 0


if __name__ == "__main__":
    sys.exit(main())
