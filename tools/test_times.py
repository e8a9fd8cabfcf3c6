#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each test of a built preset takes of the processors, whatever else the machine does.

    tools/test_times.py PRESET [ctest option]...      such as: tools/test_times.py asan -LE 'mpi|lint|long'

Tests run one after another, with the environment that ctest gives them. A line for each, the costliest
first: processor time in all, in the program, in the system, elapsed (all in seconds), exit status, name.
The last line is the sum.
"""
import json
import os
import subprocess
import sys
import time


def environment(preset, test):
    """What ctest would set: of the preset, of the test, and its changes of paths."""
    env = dict(os.environ)
    with open("CMakePresets.json", encoding="utf-8") as file:
        for each in json.load(file)["testPresets"]:
            if each["name"] == preset:
                env.update(each.get("environment", {}))
    for each in test.get("properties", []):
        if each["name"] == "ENVIRONMENT":
            env.update(value.split("=", 1) for value in each["value"])
        if each["name"] == "ENVIRONMENT_MODIFICATION":
            for change in each["value"]:
                name, _, act = change.partition("=")
                env[name] = act.partition(":")[2] + ":" + env.get(name, "")
    return env


def measure(preset, test):
    """(processor time, user, system, elapsed, status, name)"""
    begin = time.monotonic()
    with subprocess.Popen(test["command"], env=environment(preset, test), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime, used.ru_utime, used.ru_stime, time.monotonic() - begin,
            process.returncode, test["name"])


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    preset = sys.argv[1]
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1", *sys.argv[2:]],
                            check=True, capture_output=True, text=True).stdout
    rows = []
    for test in json.loads(listed)["tests"]:
        rows.append(measure(preset, test))
        print(f"\r{len(rows)} {test['name']}\033[K", end="", file=sys.stderr, flush=True)
    print("\r\033[K", end="", file=sys.stderr)
    for row in sorted(rows, reverse=True):
        print("%8.2f %8.2f %8.2f %8.2f %4d  %s" % row)
    sums = [sum(row[i] for row in rows) for i in range(4)]
    print("%8.2f %8.2f %8.2f %8.2f       %d tests" % (*sums, len(rows)))


main()
