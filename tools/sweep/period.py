#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iterations found in profiles without step marks against the true steps, over many synthetic jobs."""
import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile


def job(seed):
    """Options of one job: the shape, noise and operators that were not recorded."""
    draw = random.Random(seed)
    options = ["--ranks", str(draw.choice([8, 8, 8, 64])), "--steps", str(draw.randint(4, 9))]
    options += draw.choice([[], ["--pp", "2"], ["--pp", "4", "--tp", "2"], ["--tp", "4"]])
    options += ["--layers", str(draw.choice([4, 8, 12])), "--noise", str(draw.choice([0.5, 1, 2, 4]))]
    options += ["--kernels-per-layer", str(draw.randint(4, 14)), "--seed", str(seed)]
    if draw.random() < 0.5:
        options += ["--drop-ops", f"{draw.randint(0, 7)}:{draw.choice(['3', '0.02'])}"]
    return options


def steps(build, directory, *options):
    out = subprocess.run([f"{build}/npuprof", "cluster", directory, "-o", directory + ".out", "-f", "json", "-q",
                          "--steps-from", "period", *options], capture_output=True, text=True, check=False)
    result = json.loads(out.stdout)
    lengths = [rank["iteration_ns"] or rank["span_ns"] for step in result["steps"] for rank in step["ranks"]
               if rank["rank"] == 0 and rank["iteration_ns"]]
    return result["steps_from"], len(result["steps"]), statistics.median(lengths) if lengths else None


def try_seed(build, seed, form):
    work = tempfile.mkdtemp(prefix="period.")
    try:
        for name, more in (("true", []), ("bare", ["--no-steps"])):
            subprocess.run([f"{build}/npuprof-synth", "-o", f"{work}/{name}", "-q", "--format", form, "--no-instances",
                            *job(seed), *more], check=True)
        _, true_count, true_length = steps(build, f"{work}/true")
        how, count, length = steps(build, f"{work}/bare")
        good = (how["how"] == "period" and abs(count - true_count) <= 1 and length
                and abs(length - true_length) <= 0.01 * true_length)
        return good, f"{how} {count}/{true_count} steps, {length}/{true_length} ns"
    finally:
        shutil.rmtree(work)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--seeds", default="1-40")
    parser.add_argument("--form", default="db")
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split("-"))
    right = 0
    for seed in range(first, last + 1):
        good, what = try_seed(options.build, seed, options.form)
        right += bool(good)
        if not good:
            print(f"seed {seed}: {what}: {' '.join(job(seed))}", flush=True)
    print(f"{right} of {last - first + 1} right", flush=True)


main()
