#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must not change when a run is transformed: profiles are copied, changed, and analysed again.

Sources are recorded runs (--data DIR, skipped where absent) and runs of the second generator with a known culprit. Each
transformation says what it promises:

    same      nothing that is said of the run changes but its path
    verdict   the same verdict, and the same computing of every rank
    careful   the same verdict, or none, or it is withheld with a reason; never another culprit

and of every answer: it is JSON, its exit status is 0 or 3 (1 with a message where nothing is left), parts of a step sum to
it, wait and transit to the elapsed time, charges to all waiting.
"""

import argparse
import csv
import fnmatch
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from field.generate import generate  # noqa: E402 pylint: disable=wrong-import-position

SMALL = 0.02  # of the step
QUIET = ("none", "withheld", "not-profiled")
OUTPUT = "ASCEND_PROFILER_OUTPUT"

# --- sources --------------------------------------------------------------------------------------------------------

RECORDED = {
    "resnet-2of8/text/level0": (), "resnet-2of8/text/level1": (), "resnet-2of8/db/level0": (),
    "resnet-2of8/db/level1": (), "helix/standalone": (),
    # the last stage has the loss and the head of the model: 400 ms of computing beside 231 ms
    "llm-pp2dp2": (("stage", "1"),),
}
MADE = (
    ("slow-rank-dp", "db"), ("slow-rank-dp", "text"), ("slow-rank-pp", "db"), ("slow-rank-tp-dp", "text"),
    ("healthy-dp", "text"), ("healthy-pp", "db"), ("slow-link-tp", "db"), ("loader-one", "text"),
)


def ranks_of(run):
    """Directories of ranks, in order."""
    return sorted(os.path.dirname(each) for each in glob.glob(os.path.join(run, "**", OUTPUT), recursive=True))


def files_of(run, pattern):
    return sorted(each for each in glob.glob(os.path.join(run, "**", pattern), recursive=True) if os.path.isfile(each))


# --- transformations ------------------------------------------------------------------------------------------------


def rename(run, _):
    """Directories get names that say nothing."""
    for index, each in enumerate(ranks_of(run)):
        if os.path.abspath(each) == os.path.abspath(run):
            return False
        tail = "_ascend_pt" if each.endswith("_ascend_pt") else ""
        os.rename(each, os.path.join(os.path.dirname(each), f"z{97 - index}{tail}"))
    return True


def deeper(run, _):
    """Everything lies two directories further down."""
    inner = os.path.join(run, "a", "b")
    names = os.listdir(run)
    os.makedirs(inner)
    for name in names:
        os.rename(os.path.join(run, name), os.path.join(inner, name))
    return True


def shuffle_tables(run, dice):
    """Rows of tables of kernels in another order."""
    found = files_of(run, "kernel_details.csv")
    for path in found:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        body = rows[1:]
        dice.shuffle(body)
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([rows[0]] + body)
    return bool(found)


def shuffle_trace(run, dice):
    """Events of traces in another order; those of one moment stay as they are, begins before ends."""
    found = files_of(run, "trace_view.json")
    for path in found:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        listed = events["traceEvents"] if isinstance(events, dict) else events
        about = [each for each in listed if each.get("ph") == "M"]
        rest = [each for each in listed if each.get("ph") != "M"]
        cut = dice.randrange(len(rest) or 1)
        rest = rest[cut:] + rest[:cut]
        listed[:] = about + rest
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)
    return bool(found)


def reverse_databases(run, _):
    """Tables of databases hold their rows the other way round."""
    found = files_of(run, "ascend_pytorch_profiler*.db")
    for path in found:
        with sqlite3.connect(path) as db:
            names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:
                if name.startswith("sqlite_"):
                    continue
                rows = db.execute(f'SELECT * FROM "{name}"').fetchall()
                if not rows:
                    continue
                db.execute(f'DELETE FROM "{name}"')
                marks = ",".join("?" * len(rows[0]))
                db.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows[::-1])
        db.close()
    return bool(found)


def _shift_rank(root, nanoseconds):
    for path in files_of(root, "ascend_pytorch_profiler*.db"):
        with sqlite3.connect(path) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                columns = [row[1] for row in db.execute(f'PRAGMA table_info("{name}")')]
                for column in columns:
                    if column in ("startNs", "endNs", "timestampNs", "startTimeNs", "endTimeNs"):
                        kind = db.execute(f'SELECT typeof("{column}") FROM "{name}" LIMIT 1').fetchone()
                        text = kind and kind[0] == "text"
                        db.execute(
                            f'UPDATE "{name}" SET "{column}" = '
                            + (f'CAST(CAST("{column}" AS INTEGER) + ? AS TEXT)' if text else f'"{column}" + ?'),
                            (nanoseconds,),
                        )
        db.close()
    micro = nanoseconds // 1000
    for path in files_of(root, "trace_view.json"):
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        for each in events["traceEvents"] if isinstance(events, dict) else events:
            if "ts" in each and each.get("ph") != "M":
                whole, _, part = str(each["ts"]).strip().partition(".")
                moved = str(int(whole) + micro) + ("." + part if part else "")
                each["ts"] = moved if isinstance(each["ts"], str) else float(moved) if part else int(moved)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)
    for path in files_of(root, "kernel_details.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        place = next((i for i, name in enumerate(rows[0]) if name.strip().startswith("Start Time")), None)
        for row in rows[1:]:
            if place is not None and place < len(row) and row[place].strip():
                whole, _, part = row[place].strip().partition(".")
                row[place] = str(int(whole) + micro) + ("." + part if part else "")
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)


def shift(microseconds):
    def apply(run, _):
        ranks = ranks_of(run)
        if len(ranks) < 2 or files_of(ranks[-1], "communication.json"):
            return False  # starts in there are absolute, and other forms of them
        _shift_rank(ranks[-1], microseconds * 1000)
        return True

    apply.__doc__ = f"The clock of the last rank is {microseconds} us ahead."
    return apply


def drop(*names, of=None):
    def apply(run, _):
        ranks = ranks_of(run)
        if of is not None and len(ranks) <= of:
            return False
        found = [each for name in names for each in files_of(run if of is None else ranks[of], name)]
        for path in found:
            os.remove(path)
        return bool(found)

    apply.__doc__ = f"{' and '.join(names)} {'' if of is None else f'of rank {of} '}removed."
    return apply


def keep(*names):
    def apply(run, _):
        found = 0
        for rank in ranks_of(run):
            for path in files_of(os.path.join(rank, OUTPUT), "*"):
                if any(fnmatch.fnmatch(os.path.basename(path), name) for name in names):
                    found += 1
                else:
                    os.remove(path)
        return found > 0

    apply.__doc__ = f"Nothing but {' and '.join(names)} is left."
    return apply


def cut(name, share):
    def apply(run, _):
        found = files_of(ranks_of(run)[0], name)
        for path in found:
            if path.endswith(".csv"):
                with open(path, encoding="utf-8", newline="") as file:
                    lines = file.readlines()
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.writelines(lines[: 1 + int(share * (len(lines) - 1))])
            elif path.endswith(".db"):
                with sqlite3.connect(path) as db:
                    for table in ("TASK", "COMPUTE_TASK_INFO"):
                        if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                            db.execute(
                                f"DELETE FROM {table} WHERE rowid > (SELECT ? * max(rowid) FROM {table})", (share,)
                            )
                db.close()
            else:
                with open(path, encoding="utf-8") as file:
                    events = json.load(file)
                listed = events["traceEvents"] if isinstance(events, dict) else events
                del listed[int(share * len(listed)):]
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(events, file)
        return bool(found)

    apply.__doc__ = f"{name} of the first rank is cut to {share:.0%}."
    return apply


def drop_rank(which):
    def apply(run, _):
        ranks = ranks_of(run)
        if len(ranks) < 2:
            return False
        shutil.rmtree(ranks[which])
        return True

    apply.__doc__ = f"Rank {which} removed."
    return apply


def twice(run, _):
    """A rank is there twice."""
    first = ranks_of(run)[0]
    if os.path.abspath(first) == os.path.abspath(run):
        return False
    shutil.copytree(first, os.path.join(os.path.dirname(first), "copy_" + os.path.basename(first)))
    return True


TRANSFORMS = {
    "rename": (rename, "same"),
    "deeper": (deeper, "same"),
    "shuffle-tables": (shuffle_tables, "same"),
    "shuffle-trace": (shuffle_trace, "same"),
    "reverse-db": (reverse_databases, "same"),
    "shift-1ms": (shift(1000), "verdict"),
    "shift-10s": (shift(10_000_000), "verdict"),
    "twice": (twice, "verdict"),
    "drop-memory": (drop("memory_record.csv", "operator_memory.csv", "npu_module_mem.csv"), "verdict"),
    "drop-operators": (drop("operator_details.csv", "api_statistic.csv", "l2_cache.csv"), "verdict"),
    "drop-step-file": (drop("step_trace_time.csv"), "verdict"),
    "drop-statistics": (drop("op_statistic.csv"), "verdict"),
    "drop-trace": (drop("trace_view.json"), "careful"),
    "drop-trace-of-one": (drop("trace_view.json", of=0), "careful"),
    "drop-kernels": (drop("kernel_details.csv"), "careful"),
    "drop-kernels-of-one": (drop("kernel_details.csv", of=0), "careful"),
    "drop-communication": (drop("communication.json", "communication_matrix.json", "analysis.db"), "careful"),
    "drop-communication-of-one": (
        drop("communication.json", "communication_matrix.json", "analysis.db", of=0), "careful",
    ),
    "drop-metadata": (drop("profiler_metadata.json"), "careful"),
    "drop-info": (drop("profiler_info*.json"), "careful"),
    "drop-both-of-one": (drop("trace_view.json", "kernel_details.csv", of=0), "careful"),
    "only-kernels": (keep("kernel_details.csv"), "careful"),
    "only-trace": (keep("trace_view.json"), "careful"),
    "only-step-file": (keep("step_trace_time.csv"), "careful"),
    "only-communication": (keep("communication.json", "communication_matrix.json", "step_trace_time.csv"), "careful"),
    "cut-kernels": (cut("kernel_details.csv", 0.5), "careful"),
    "cut-trace": (cut("trace_view.json", 0.5), "careful"),
    "cut-db": (cut("ascend_pytorch_profiler*.db", 0.5), "careful"),
    "drop-first-rank": (drop_rank(0), "careful"),
    "drop-last-rank": (drop_rank(-1), "careful"),
}

# --- what must hold -------------------------------------------------------------------------------------------------


def ask(program, run):
    """(status, the JSON or None, messages)"""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [program, "cluster", "-q", "--no-db", "-f", "json", "-d", run, "-o", out],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=600,
        )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    return done.returncode, answer, done.stderr.decode("utf-8", "replace")


def always(status, answer, messages):
    """What is wrong with an answer by itself."""
    if status == 1 and messages.strip():
        return []
    if status not in (0, 3) or answer is None:
        return [f"exit status {status}, {'no JSON' if answer is None else 'JSON'}: {messages.strip()[:200]}"]
    wrong = []
    for step in answer["steps"]:
        for rank in step["ranks"]:
            if rank["partition"] is None:
                continue
            total = rank["iteration_ns"] if rank["iteration_ns"] is not None else rank["span_ns"]
            parts = sum(each["ns"] for each in rank["partition"])
            if parts != total:
                wrong.append(f"parts of step {step['step']} of rank {rank['rank']} sum to {parts}, not {total}")
    for group in answer["communicators"]:
        for step in group["steps"]:
            if step["wait_ns"] is not None and step["wait_ns"] + step["transit_ns"] != step["elapsed_ns"]:
                wrong.append(f"wait and transit of {group['group']} do not sum to the elapsed time")
    verdict = answer["verdict"]
    if verdict["kind"] == "withheld" and not verdict["reason"]:
        wrong.append("withheld without a reason")
    if verdict["recovered_ns"] is not None and verdict["recovered_ns"] < 0:
        wrong.append("a negative gain")
    return wrong


def culprit(answer):
    verdict = answer["verdict"]
    return None if verdict["kind"] in QUIET else (verdict["kind"], verdict["what"])


def is_small(answer):
    """Idle time that all have may come to the 1 % that is worth naming."""
    return answer["verdict"]["recovered_ns"] <= SMALL * answer["replay"]["step_ns"]


def without_paths(value):
    """Everything but where it came from."""
    if isinstance(value, dict):
        return {key: without_paths(each) for key, each in value.items() if key not in ("path", "warnings", "skipped")}
    if isinstance(value, list):
        return [without_paths(each) for each in value]
    return value


def computing(answer):
    return {
        (step["step"], rank["rank"]): rank["computing_ns"] for step in answer["steps"] for rank in step["ranks"]
    }


def differs(before, after, path="$"):
    """The first place where two answers differ."""
    if type(before) is not type(after):
        return f"{path}: {before!r:.60} is {after!r:.60}"
    if isinstance(before, dict):
        for key in before:
            if key not in after:
                return f"{path}.{key} is gone"
            found = differs(before[key], after[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(before, list):
        if len(before) != len(after):
            return f"{path}: {len(before)} rows are {len(after)}"
        for index, (one, other) in enumerate(zip(before, after)):
            found = differs(one, other, f"{path}[{index}]")
            if found:
                return found
        return None
    return None if before == after else f"{path}: {before!r:.60} is {after!r:.60}"


def compared(promise, truth, before, after):
    """What is wrong with an answer beside that on the untouched run."""
    if after is None:
        return [] if promise == "careful" else ["nothing is left of the answer"]
    wrong = []
    if promise == "same":
        found = differs(without_paths(before), without_paths(after))
        return [found] if found else []
    if promise == "verdict":
        one, other = (before["verdict"]["kind"], before["verdict"]["what"]), (
            after["verdict"]["kind"], after["verdict"]["what"],
        )
        if one != other:
            wrong.append(f"verdict {one} is {other}: {after['verdict']['text']}")
        if computing(before) != computing(after):
            wrong.append("computing differs")
        return wrong
    named = culprit(after)
    # a stage of which nobody but the culprit was left
    alone = named and named[0] == "stage" and any(f"(rank {what})" in after["verdict"]["text"] for _, what in truth)
    small = named and named[0] in ("between", "host-gaps") and is_small(after)
    if named and named != culprit(before) and named not in truth and not alone and not small:
        wrong.append(f"another culprit than {culprit(before)}: {named}: {after['verdict']['text']}")
    return wrong


# --- the sweep ------------------------------------------------------------------------------------------------------


def sources(arguments, work):
    """(name, directory, culprits that are true)"""
    for name in RECORDED:
        path = os.path.join(arguments.data, name)
        if os.path.isdir(path) and fnmatch.fnmatch(name, arguments.source):
            yield name, path, RECORDED[name]
    first, _, last = arguments.seeds.partition("-")
    for case, form in MADE:
        for seed in range(int(first), int(last or first) + 1):
            root = os.path.join(work, f"{case}-{form}-{seed}")
            if not fnmatch.fnmatch(f"{case}/{form}/{seed}", arguments.source):
                continue
            generate(case, seed, root, form)
            with open(os.path.join(root, "truth.json"), encoding="utf-8") as file:
                truth = json.load(file)
            accept = [(each["kind"], each["what"]) for each in truth["accept"] if each["kind"] not in QUIET]
            yield f"{case}/{form}/{seed}", os.path.join(root, "run"), accept
            shutil.rmtree(root)


def mixed(program, data, work):
    """Ranks of different runs side by side: nobody may be blamed."""
    for one, other in (("text/level0", "text/level1"), ("text/level1", "db/level1"), ("db/level0", "db/level1")):
        run = os.path.join(work, "mixed")
        shutil.rmtree(run, ignore_errors=True)
        for rank, form in ((0, one), (1, other)):
            source = os.path.join(data, "resnet-2of8", form, f"rank{rank}_ascend_pt")
            if not os.path.isdir(source):
                return
            shutil.copytree(source, os.path.join(run, os.path.basename(source)))
        status, answer, messages = ask(program, run)
        wrong = always(status, answer, messages)
        if answer and culprit(answer):
            wrong.append(f"a culprit: {answer['verdict']['text']}")
        yield f"{one} beside {other}", "mixed", wrong


def transformed(program, name, run, truth, arguments, work):
    status, before, messages = ask(program, run)
    wrong = always(status, before, messages)
    yield name, "untouched", wrong
    if before is None:
        return
    for how, (apply, promise) in TRANSFORMS.items():
        if not fnmatch.fnmatch(how, arguments.transform):
            continue
        copy = os.path.join(work, "copy", "run")
        shutil.rmtree(os.path.dirname(copy), ignore_errors=True)
        shutil.copytree(run, copy)
        for path, _, files in os.walk(copy):
            os.chmod(path, 0o755)
            for each in files:
                os.chmod(os.path.join(path, each), 0o644)
        if not apply(copy, random.Random(f"{name} {how}")):
            continue
        status, after, messages = ask(program, copy)
        wrong = always(status, after, messages)
        if not wrong:
            wrong = compared(promise, truth, before, after)
        yield name, how, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default="../shared/data", help="recorded runs [default: ../shared/data]")
    parser.add_argument("--build", default=os.environ.get("NPUPROF_BUILD", "build/release"))
    parser.add_argument("--seeds", default="1-2", help="of the second generator's runs")
    parser.add_argument("--source", default="*", help="pattern of sources")
    parser.add_argument("--transform", default="*", help="pattern of transformations")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "npuprof")
    counts, failures = {}, []

    def see(results):
        for name, how, wrong in results:
            right, total = counts.get(how, (0, 0))
            counts[how] = right + (not wrong), total + 1
            failures.extend(f"{name} {how}: {each}" for each in wrong[:3])

    with tempfile.TemporaryDirectory() as work:
        for name, run, truth in sources(arguments, work):
            see(transformed(program, name, run, truth, arguments, work))
        if fnmatch.fnmatch("mixed", arguments.transform):
            see(mixed(program, arguments.data, work))
    print("| transformation | promises | right |\n|---|---|---|")
    for how, (right, total) in counts.items():
        print(f"| {how} | {TRANSFORMS.get(how, (None, 'careful'))[1]} | {right}/{total} |")
    for each in failures:
        print(each)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
