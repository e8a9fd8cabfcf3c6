#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory under settings of the allocator: what a second model of it comes to, recorded under one setting and foretold for others.
. "$(dirname "$0")/lib.sh"
need_program python3
PYTHONPATH=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

cat >"$work/program.py" <<'PYTHON'
import json, random, sys
from allocator import *

DEVICE = 1000 * MiB
stack = lambda line, name="step": [{"name": "empty", "filename": "/usr/lib/python3/site-packages/torch/t.py", "line": 1},
                                   {"name": name, "filename": "/home/u/train.py", "line": line}]

def program(seed, count=400):
    """Requests of all sizes on two streams."""
    r, live, made, result = random.Random(seed), [], 0, []
    for _ in range(count):
        if live and r.random() < 0.48:
            result.append(("free", live.pop(r.randrange(len(live)))))
            continue
        size = r.choice([r.randrange(1, 4000), r.randrange(1, MiB), r.randrange(MiB, 9 * MiB), r.randrange(9 * MiB, 60 * MiB), 1 << r.randrange(9, 25)])
        result.append(("alloc", made, size, 5 + (r.random() < 0.1)))
        live.append(made)
        made += 1
    return result + [("free", x) for x in live[:len(live) * 3 // 4]]

def play(program, **settings):
    settings["cap"] = int(settings.get("cap", 1) * DEVICE)
    a, where, failed = Allocator(**settings), {}, 0
    for what, number, *rest in program:
        if what == "free":
            if number in where: a.free(where.pop(number), stack(3))
            continue
        try: where[number] = a.alloc(rest[0], rest[1], stack(rest[0] % 7))
        except OutOfMemory: failed += 1
    return a, failed
PYTHON

behaviour 'sizes of blocks are those of the settings of the recording, whatever they are'
cat >"$work/recorded.py" <<'PYTHON'
import os, subprocess, sys
from program import *
forms = {"default": {}, "expandable_segments:True": dict(expandable=True), "roundup_power2_divisions:4": dict(divisions=4),
         "max_split_size_mb:32": dict(max_split=32), "large_segment_size_mb:64": dict(large=64),
         "expandable_segments:True,large_segment_size_mb:64": dict(expandable=True, large=64)}
for name, settings in forms.items():
    a, _ = play(program(7), **settings)
    a.write("recorded_rank0.pickle")
    r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "recorded_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]
    got = r["replay"]["settings"], r["replay"]["exact"], r["peak_allocated"]["bytes"], r["peak_reserved"]["bytes"], r["end"]["allocated_bytes"]
    if got != (name, True, a.peak_allocated, a.peak_reserved, a.allocated): print(name, got, a.peak_allocated, a.peak_reserved, a.allocated)
PYTHON
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 recorded.py "$npuprof" 2>&1)" ''

behaviour 'streams follow their handles, pools their own free blocks, a range without pages is given up, and who gave all back asks the driver'
cat >"$work/order.py" <<'PYTHON'
import subprocess, sys
from program import *
for settings in {}, dict(expandable=True):
    a = Allocator(cap=1000 * MiB, **settings)
    live = []
    for i in range(120):
        stream, pool = (9, 7, 6)[i % 3], (1, 0) if i % 4 == 0 else (0, 0)
        live.append(a.alloc((i * 7919 % 30 + 1) * 300000, stream, stack(i % 7), pool))
        if i % 3 == 2: a.free(live.pop(i * 31 % len(live)), stack(3), later=i % 6 == 5)
        if i == 60:
            while live: a.free(live.pop(), stack(3))
            a.empty_cache()
    # A request that fails while another stream still uses what would have been enough.
    cached = [a.alloc(12 * MiB, 9, stack(4)) for _ in range(12)]
    a.free(a.alloc(300 * MiB, 9, stack(4)), stack(4))
    thirds = [a.alloc(100 * MiB - 512, 9, stack(4)) for _ in range(3)]
    a.alloc(up(1000 * MiB - a.reserved, 20 * MiB) - 40 * MiB, 9, stack(4))
    for at in cached: a.free(at, stack(4))
    a.free(thirds[0], stack(4))
    a.free(thirds[1], stack(4), later=True)
    a.alloc(150 * MiB, 9, stack(5))
    a.write("order_rank0.pickle")
    r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "order_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]
    of = r["replay"]
    got = of["exact"], of["segment_events_equal"], of["blocks_equal"]
    if got != (True, sum(e["action"].startswith("segment") for e in a.events), sum(e["action"] == "alloc" for e in a.events)): print(settings, got, of)
PYTHON
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 order.py "$npuprof" 2>&1)" ''

behaviour 'pools of graphs keep what is cached until they are given up, whether events name their pool or not'
cat >"$work/pools.py" <<'PYTHON'
from program import *
for settings in {}, dict(expandable=True):
    a = Allocator(**settings)
    graph = (0, 3)
    for round in range(3):
        live = [a.alloc((i * 7919 % 30 + 1) * 200000 >> (i % 3 * 4), 5, stack(i), graph if i % 2 else (0, 0)) for i in range(40)]
        for at in live[1:]: a.free(at, stack(3))
        a.empty_cache()
    for pools in True, False:
        a.write("pools_rank0.pickle", pools=pools)
        of = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "pools_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]["replay"]
        if not of["exact"] or of["blocks_equal"] != 120: print(settings, pools, of)
    if not any(s.key[2] == graph for s in a.segments): print("the graph gave back what it had")
    a.given_up.add(graph)
    a.empty_cache()
    a.write("pools_rank0.pickle")
    of = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "pools_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]["replay"]
    if not of["exact"]: print(settings, "given up", of)
# More pools than are told apart: what fills the memory is the same.
a = Allocator()
for i in range(300): a.alloc(3 * MiB, 5, stack(1), (0, i))
a.write("pools_rank0.pickle")
r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "pools_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]
if (r["peak_allocated"]["bytes"], r["peak_reserved"]["bytes"]) != (a.peak_allocated, a.peak_reserved): print(r["peak_allocated"], a.peak_allocated)
PYTHON
sed -i 's/^import json, random, sys$/import json, random, subprocess, sys/' "$work/program.py"
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 pools.py "$npuprof" 2>&1)" ''

behaviour 'settings show in a record without its beginning: in sizes of blocks, in pages, in segments, or they are in the file'
cat >"$work/shown.py" <<'PYTHON'
from program import *
cuda = lambda **settings: {"allocator_settings": {"max_split_size": -1, "roundup_power2_divisions": {"1": 0, "2": 0}, **settings}}
forms = [(dict(divisions=8), "roundup_power2_divisions:8", {}), (dict(expandable=True, large=128), "expandable_segments:True,large_segment_size_mb:128", {}),
         (dict(large=64), "large_segment_size_mb:64", {}),
         (dict(max_split=40, pad=0, align=0), "max_split_size_mb:40", cuda(max_split_size=40 * MiB)),
         (dict(divisions=4, pad=0, align=0), "roundup_power2_divisions:4", cuda(roundup_power2_divisions={"1": 4, "2": 4}))]
for settings, name, more in forms:
    a, _ = play(program(7), **settings)
    # Of a segment that was there before nothing shows what size it would have had for less.
    for drop in {0, 0 if name.startswith("large") else len(a.events) // 2}:
        a.write("shown_rank0.pickle", drop, **more)
        r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "shown_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]
        got = r["replay"]["settings"], r["end"]["allocated_bytes"], r["inconsistent_events"]
        if got != (name, a.allocated, 0) or (drop == 0 and not r["replay"]["exact"]): print(drop, name, got, a.allocated, r["replay"]["exact"])
# What is larger than the limit of splitting is handed out as it is: 50 MiB for 40, which were there before the record.
a = Allocator(max_split=32, pad=0, align=0)
a.free(a.alloc(50 * MiB))
large = a.alloc(40 * MiB)
a.alloc(3 * MiB)
drop = len(a.events)
a.free(large)
a.free(a.alloc(2 * MiB))
a.write("shown_rank0.pickle", drop, **cuda(max_split_size=32 * MiB))
r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "shown_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]
if r["peak_allocated"]["bytes"] != a.curve[drop - 1]: print("peak", r["peak_allocated"], a.curve[drop - 1])
PYTHON
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 shown.py "$npuprof" 2>&1)" ''

behaviour 'peaks, ends and calls of the driver are foretold for pages, garbage collection and a part of the device'
cat >"$work/foretold.py" <<'PYTHON'
import subprocess, sys
from program import *
forms = {"expandable_segments:True": dict(expandable=True), "roundup_power2_divisions:4": dict(divisions=4), "large_segment_size_mb:64": dict(large=64),
         "expandable_segments:True,segment_size_mb:40": dict(expandable=True, page=40), "max_split_size_mb:32": dict(max_split=32),
         "garbage_collection_threshold:0.6,per_process_memory_fraction:0.9": dict(gc=0.6, cap=0.9),
         "garbage_collection_threshold:0.3,per_process_memory_fraction:0.8": dict(gc=0.3, cap=0.8),
         "max_split_size_mb:24,per_process_memory_fraction:0.6": dict(max_split=24, cap=0.6), "per_process_memory_fraction:0.4": dict(cap=0.4),
         "page_size:1g": dict(page_1g=True)}
collected = 0
for seed in range(1, 8):
    a, failed = play(program(seed))
    if failed: continue
    a.write("foretold_rank0.pickle")
    command = [sys.argv[1], "memory", "-f", "json", "--device-memory", "1000MiB", "foretold_rank0.pickle"]
    for name in forms: command += ["--with", name]
    rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)["ranks"][0]["replay"]["what_if"]
    for (name, settings), row in zip(forms.items(), rows):
        b, failed = play(program(seed), **settings)
        got, wanted = (row["peak_reserved_bytes"], row["end_reserved_bytes"], row["driver_calls"]), (b.peak_reserved, b.reserved, b.grown)
        # From the first request that fails on the two go different ways.
        if (failed > 0) != (row["refused"] > 0) or (failed == 0 and got != wanted): print(seed, name, got, wanted, failed, row["refused"])
        collected += "gc" in settings and any(e["action"] == "segment_free" for e in b.events)
if collected < 4: print("garbage is hardly ever collected:", collected)
PYTHON
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 foretold.py "$npuprof" 2>&1)" ''

behaviour 'who ran out of memory is told why, and what would have served the request'
(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 - <<'PYTHON'
from program import *
a = Allocator(cap=600 * MiB)
blocks = [a.alloc(9 * MiB, 5, stack(7)) for _ in range(50)]
for x in blocks[::2]: a.free(x)
try: a.alloc(150 * MiB, 5, stack(12, "forward"))
except OutOfMemory: a.write("pieces_rank0.pickle")
a = Allocator(cap=600 * MiB)
blocks = [a.alloc(19 * MiB, 5, stack(7)) for _ in range(25)]
try: a.alloc(150 * MiB, 5, stack(12, "forward"))
except OutOfMemory: a.write("few_rank1.pickle")
PYTHON
)
run "$npuprof" memory "$work/pieces_rank0.pickle"
expect_stdout_says 'ran out of memory (1), last at event 125: train.py:12:forward wanted 157 MB' \
	'the device had 105 MB and 288 MB were free within reserved, in pieces of at most 9.44 MB: fragmentation' \
	'do next: set PYTORCH_NPU_ALLOC_CONF=roundup_power2_divisions:4; the request that failed would have been served'
expect_stdout_says 'max_split_size_mb:20 524 MB fails again'
run "$npuprof" memory -f json "$work/pieces_rank0.pickle"
expect_equal "$(python3 "$(dirname "$0")/json_schema.py" "$(dirname "$0")/../../doc/schema" "$work/stdout" 2>&1)" ''
run "$npuprof" memory "$work/few_rank1.pickle"
expect_stdout_says '105 MB and 0 were free within reserved: 52.4 MB too few' 'do next: look at train.py:7:step, which holds 524 MB'
# Twenty-five blocks in a row are no leak.
expect_stdout_says 'none of it grows'

behaviour 'on a smaller device what would run out is said, and settings are compared on that device'
run "$npuprof" memory --device-memory 300MiB --with expandable_segments:True "$work/few_rank1.pickle"
expect_stdout_says 'as it is it would run out at event' 'where the device has 315 MB' 'runs out at event'

behaviour 'settings that do not go together, or need what is not known, are a line'
while IFS='|' read -r settings says; do
	run "$npuprof" memory --with "$settings" "$work/few_rank1.pickle"
	expect_exit 2
	expect_stderr_has "$says"
done <<'END'
garbage_collection_threshold:0.8|add per_process_memory_fraction:0.95
garbage_collection_threshold:1.5,per_process_memory_fraction:0.5|above 0 and below 1
expandable_segments:True,garbage_collection_threshold:0.8,per_process_memory_fraction:0.5|refuses expandable_segments together with garbage_collection_threshold
page_size:2m|only 1g
segment_size_mb:1024|from 20 to 512
END
(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 -c '
from program import *
a = Allocator(); a.free(a.alloc(30 * MiB)); a.write("plain_rank0.pickle")')
run "$npuprof" memory -f json --with per_process_memory_fraction:0.5 "$work/plain_rank0.pickle"
expect_stdout_says 'give --device-memory'
run "$npuprof" memory --with per_process_memory_fraction:0.5 --fail-on 'reserved>1GB' "$work/plain_rank0.pickle"
expect_exit 1
expect_stderr_has 'cannot be judged'

behaviour 'a record that is bent, cut or written by another version says the same, or that it does not know'
cat >"$work/bent.py" <<'PYTHON'
import copy, os, pickle, subprocess, sys
from program import *
def training(**settings):
    """Steps that leave 4 MiB each and free the rest."""
    a = Allocator(**settings)
    weights = [a.alloc(3 * MiB, 5, stack(1, "weights")) for _ in range(20)]
    for step in range(8):
        acts = [a.alloc((2 + i % 11) * MiB, 5, stack(20 + i % 5, "forward")) for i in range(30)]
        a.alloc(4 * MiB, 5, stack(9, "remember"))
        for x in acts: a.free(x, stack(30, "backward"))
    return a
a = training()
d = {"segments": a.snapshot_segments(), "device_traces": [a.events]}
def ask(what, name):
    pickle.dump(what, open("bent_rank0.pickle", "wb"), 4)
    done = subprocess.run([sys.argv[1], "memory", "-f", "json", "bent_rank0.pickle"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not done.stdout: return name, done.returncode, done.stderr.decode()
    return [(done.returncode, r["device"], r["peak_allocated"]["bytes"], r["replay"].get("exact"), [(g["what"], g["times"]) for g in r["grows"]])
            for r in json.loads(done.stdout)["ranks"]]
truth = (0, 0, a.peak_allocated, True, [("train.py:9:remember", 8)])
def same(what, name, wanted=[truth]):
    got = ask(what, name)
    if got != wanted: print(name, got, wanted)
def bend(change):
    b = copy.deepcopy(d)
    change(b)
    return b
turned = lambda x: {k: turned(x[k]) for k in reversed(list(x))} if isinstance(x, dict) else [turned(e) for e in x] if isinstance(x, list) else x
same(d, "as it is")
same(turned(d), "other orders of keys")
same(bend(lambda b: [e.update(compile_context="N/A", user_metadata="", forward_frames=["x"]) for e in b["device_traces"][0]]), "newer members")
same(bend(lambda b: [e.update(time_us=1000 + n) for n, e in enumerate(b["device_traces"][0])]), "times")
same(bend(lambda b: [e.update(time_us=n) for n, e in enumerate(b["device_traces"][0]) if n % 2]), "times of some")
same(bend(lambda b: [s.pop("is_expandable") or s.pop("segment_pool_id") for s in b["segments"]]), "older segments")
same(bend(lambda b: b["device_traces"][0].insert(99, {"action": "new", "addr": 1, "size": 1, "stream": 5, "frames": []})), "an unknown action")
def elsewhere(b):
    b["device_traces"] = [[], [], b["device_traces"][0], []]
    for s in b["segments"]: s["device"] = 2
same(bend(elsewhere), "another device", [(0, 2) + truth[2:]])
other = Allocator(device=1, base=0x220000000000)
other.free(other.alloc(30 * MiB))
same({"segments": d["segments"] + other.snapshot_segments(), "device_traces": [a.events, other.events]}, "two devices",
     [truth, (0, 1, other.peak_allocated, True, [])])
same({"segments": d["segments"] + other.snapshot_segments(), "device_traces": [a.events, other.events] + [[]] * 6}, "one empty list for all others",
     [truth, (0, 1, other.peak_allocated, True, [])])
# Python writes lists in batches of a thousand.
deep = [{"name": f"f{n}", "filename": "/usr/lib/python3/deep.py", "line": n} for n in range(2500)]
same(bend(lambda b: [e.update(frames=e["frames"] + deep) for e in b["device_traces"][0] if e["frames"]]), "deep stacks")
# A ring that kept the newest: peaks since then are known, the rest of the leak is.
late = len(a.events) // 4
same(bend(lambda b: b["device_traces"].__setitem__(0, b["device_traces"][0][late:])), "a ring", [(0, 0, a.peak_allocated, True, [("train.py:9:remember", 6)])])
# What is missing is damage, and nobody is blamed for it.
def hole(b): del b["device_traces"][0][100:160]
same(bend(hole), "events missing", [(3, 0, ask(bend(hole), "")[0][2], None, [])])
# A whole history says what its end has: segments that are not there are a contradiction, no more.
def gone(b): b["segments"] = b["segments"][::2]
same(bend(gone), "segments missing")
if json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", "bent_rank0.pickle"], stdout=subprocess.PIPE).stdout)["ranks"][0]["inconsistent_events"] != 1:
    print("segments missing: not said")
same(bend(lambda b: b.__setitem__("device_traces", [[]])), "no history", [(0, 0, a.allocated, None, [])])
PYTHON
expect_equal "$(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 bent.py "$npuprof" 2>&1)" ''

behaviour 'who looks at a file of a GPU, a state without history or a table beside a dump is told what it is'
(cd "$work" && PYTHONPATH=$PYTHONPATH:$work python3 - <<'PYTHON'
import os
from program import *
a = Allocator(pad=0, align=0)
r = random.Random(6)
for i in range(20): a.alloc(r.randrange(2, 30) * MiB, 5, stack(1))
for step in range(6):
    live = [a.alloc(r.randrange(1, 24 * MiB), 5, stack(i % 5)) for i in range(60)]
    for x in reversed(live): a.free(x, stack(9))
for n, e in enumerate(a.events): e["time_us"] = 1000 + n
pickle.dump({"segments": a.snapshot_segments(), "device_traces": [a.events], "allocator_settings": {"max_split_size": -1}}, open("gpu_rank0.pickle", "wb"), 2)
a = Allocator()
a.alloc(30 * MiB, 5, stack(7))
pickle.dump({"segments": a.snapshot_segments(), "device_traces": [[]]}, open("state_rank0.pickle", "wb"), 2)
pickle.dump({"segments": a.snapshot_segments(), "device_traces": [a.events[-1:]]}, open("last_rank0.pickle", "wb"), 2)
os.makedirs("dump")
for name in ("oom_snapshot_4711_20261118201500.pickle", "oom_snapshot_4712_20261118231500.pickle"): a.write("dump/" + name)
open("dump/device_0_memUsageInfo_20261118201502.csv", "w").write("moduleName,curMemSize(MB),memPeakSize(MB)\nRUNTIME,96.0000,96.0000\nHCCL,420.0000,430.5000\nGE,0.0000,0.0000\n")
workspace = [{"action": x, "addr": 0x900000000000, "size": 64 * MiB, "stream": 5, "frames": []} for x in ("workspace_snapshot", "segment_alloc", "alloc")]
pickle.dump({"segments": a.snapshot_segments() + [{"device": 0, "address": 0x900000000000, "total_size": 64 * MiB, "stream": 5, "segment_type": "large",
    "blocks": [{"address": 0x900000000000, "size": 64 * MiB, "requested_size": 0, "state": "inactive", "frames": []}]}],
    "device_traces": [workspace + a.events]}, open("workspace_rank0.pickle", "wb"), 2)
PYTHON
)
run "$npuprof" memory --sweep "$work/gpu_rank0.pickle"
expect_stdout_says 'do next: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
expect_stdout_lacks large_segment
for name in state last; do
	run "$npuprof" memory "$work/${name}_rank0.pickle"
	expect_stdout_says 'rank 0: at the dump allocated 31.5 MB' 'peaks are not known' 'at the dump, by stack: train.py:7:step'
done
run "$npuprof" memory "$work/dump/oom_snapshot_4711_20261118201500.pickle"
expect_stdout_says 'at most, beside the allocator: HCCL 451 MB, RUNTIME 101 MB' 'module HCCL'
run "$npuprof" memory "$work/dump/oom_snapshot_4712_20261118231500.pickle"
expect_stdout_lacks HCCL # of another dump
run "$npuprof" memory "$work/workspace_rank0.pickle"
expect_stdout_says 'at most, beside the allocator: workspace of operators 67.1 MB' 'peak allocated 31.5 MB'
echo 'x,y' >"$work/dump/device_0_memUsageInfo_20261118201502.csv"
run "$npuprof" memory "$work/dump/oom_snapshot_4711_20261118201500.pickle"
expect_exit 3
expect_stderr_has 'memUsageInfo_20261118201502.csv:1: there is no column moduleName'
