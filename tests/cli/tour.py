#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the commands of a page and compare what they print with what the page shows.

	tour.py PAGE              in the current directory; prints a difference and fails
	tour.py --update PAGE     writes what they print into the page

A block of the page (```) holds lines that begin with "$ ", each with what it prints below; a command that ends with \\ goes
on in the next line. Commands run in the order of the page, in one directory, so that later ones use what earlier
ones wrote; both streams are shown, and a status other than 0 fails.
"""
import difflib
import subprocess
import sys


def run(command):
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"status {done.returncode} of: {command}\n{done.stdout.decode()}")
    return done.stdout.decode().splitlines()


def rewritten(lines):
    """The lines of the page, with what its commands print now."""
    result = []
    at = 0
    while at < len(lines):
        line = lines[at]
        result.append(line)
        at += 1
        if line != "```" or at == len(lines) or not lines[at].startswith("$ "):
            continue
        while lines[at] != "```":
            if not lines[at].startswith("$ "):
                at += 1
                continue
            command = lines[at][2:]
            result.append(lines[at])
            while command.endswith("\\"):
                at += 1
                command = command[:-1] + lines[at].strip()
                result.append(lines[at])
            at += 1
            result += run(command)
        result.append(lines[at])
        at += 1
    return result


def main(words):
    update = words[0] == "--update"
    page = words[-1]
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    now = rewritten(lines)
    if now == lines:
        return 0
    if update:
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(now) + "\n")
        return 0
    print("\n".join(difflib.unified_diff(lines, now, page, "what is printed", lineterm="")))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
