#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory of ranks side by side: who needs more, along what, because of what; steps and roles in snapshots.
. "$(dirname "$0")/lib.sh"
need_program python3

# of <expression over d, and i of its imbalance>: of the JSON on stdout
of() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
i = d["imbalance"]
print(eval(sys.argv[2]))' "$work/stdout" "$1"
}

# make <file> <python>: a snapshot of what `alloc(line, MiB, function)` and `free(n)` were told; each has a segment of its own
make() {
	python3 - "$1" "$2" <<'PYTHON'
import pickle, sys
MiB, base, events, live, marks, clock = 1 << 20, 0x120000000000, [], {}, [], [0]
def event(action, addr, size, frames, **more):
    events.append({"action": action, "addr": addr, "size": size, "stream": 5, "frames": frames, **more})
def alloc(line, size, function="step"):
    address, frames = base + len(events) * 64 * MiB, [{"name": function, "filename": "/home/u/train.py", "line": line}]
    event("segment_alloc", address, size * MiB, frames)
    event("alloc", address, size * MiB - 32, frames)
    live[address] = (size * MiB, frames, True)
    return address
def free(address):
    size, frames, _ = live[address]
    event("free_requested", address, size - 32, [])
    event("free_completed", address, size - 32, [])
    live[address] = (size, frames, False)
exec(sys.argv[2])
d = {"segments": [{"device": 0, "address": a, "total_size": s, "stream": 5, "segment_type": "large", "segment_pool_id": (0, 0),
                   "is_expandable": False, "frames": [], "blocks": [{"address": a, "size": s, "requested_size": s - 32,
                   "state": "active_allocated" if used else "inactive", "frames": f}]} for a, (s, f, used) in live.items()],
     "device_traces": [events]}
if marks:
    for n, e in enumerate(events): e["time_us"] = 1000 + n
    d["external_annotations"] = [{"name": f"ProfilerStep#{7 + k}", "stage": "START", "device": 0, "time_us": 1000 + n} for k, n in enumerate(marks)]
pickle.dump(d, open(sys.argv[1], "wb"), 4)
PYTHON
}

# Two stages of two: the first holds more activations, and rank 1 a little more than rank 0.
mkdir "$work/run"
for rank in 0 1 2 3; do
	make "$work/run/job_rank${rank}_pid1.pickle" "
for layer in range(6 if $rank < 2 else 2): alloc(20, 40)
alloc(10, 100 + 2 * ($rank % 2))"
done

behaviour 'the stage that needs more is named, with the stack that differs and what an even split gives'
run "$npuprof" memory -f json --parallel dp:2,pp:2 "$work/run"
expect_exit 0
expect_equal "$(of '[i["of"], i["ranks"], i["matters"], i["along"], i["least"]["rank"], i["median"]["rank"], i["most"]["rank"]]')" \
	"['reserved', 4, True, 'stage', 2, 3, 1]"
# Stages need 342 and 182 MiB at most.
expect_equal "$(of '[(p["value"], p["ranks"], p["most_bytes"] >> 20, p["most_rank"]) for p in i["dimensions"][0]["parts"]]')" \
	"[('0', 2, 342, 1), ('1', 2, 182, 3)]"
expect_equal "$(of '[i["even_peak_bytes"] >> 20, i["even_gain_bytes"] >> 20]')" '[262, 80]'
expect_equal "$(of '[(x["what"], x["bytes"] - x["median_bytes"] >> 20) for x in i["differences"]]')" "[('train.py:20:step', 160)]"
expect_equal "$(of '[(x["what"], round(x["explained"], 3)) for x in i["dimensions"]]')" "[('stage', 1.0), ('dp', 0.0)]"
run "$npuprof" memory --parallel dp:2,pp:2 "$work/run"
expect_stdout_says 'rank 1 needs most' '168 MB more than the median; by stage: 0 needs 358 MB, 1 190 MB' \
	'more there: train.py:20:step +168 MB' 'an even split by stage would lower the highest peak to 275 MB, by 83.9 MB'

behaviour 'the same on any number of threads'
run "$npuprof" memory -f json -j 1 --sweep "$work/run"
cp "$work/stdout" "$work/one"
run "$npuprof" memory -f json -j 7 --sweep "$work/run"
expect 'the same bytes' cmp "$work/one" "$work/stdout"

behaviour 'without places nothing is named along, and even ranks are even'
run "$npuprof" memory -f json "$work/run"
expect_equal "$(of '[i["along"], i["even_peak_bytes"] >> 20]')" '[None, 261]'
run "$npuprof" memory --ranks 0,1 --parallel dp:2,pp:2 "$work/run"
expect_stdout_says '2 ranks: peaks of reserved are even'

behaviour 'roles are told apart; one rank in two roles is two'
mkdir "$work/roles"
for rank in 0 1; do
	make "$work/roles/actor_rank${rank}_pid1.pickle" 'alloc(1, 300)'
	make "$work/roles/rollout_rank${rank}_pid2.pickle" 'alloc(2, 100)'
done
run "$npuprof" memory -f json "$work/roles"
expect_equal "$(of '[i["ranks"], i["along"], [p["value"] for p in i["dimensions"][0]["parts"]]]')" "[4, 'role', ['actor', 'rollout']]"

behaviour 'steps from marks of the profiler, or from a frame'
steps='
for step in range(4):
    marks.append(len(events))
    x = alloc(3, 30, "load")
    y = alloc(20, 10 * (step + 1)); free(y)
    free(x)
    alloc(9, 4)'
make "$work/marked_rank0.pickle" "$steps"
run "$npuprof" memory -f json --at step:8 "$work/marked_rank0.pickle"
expect_equal "$(of '[(s["step"], s["most_bytes"] >> 20, s["least_bytes"] >> 20) for s in d["ranks"][0]["steps"]]')" \
	"[('7', 40, 0), ('8', 54, 4), ('9', 68, 8), ('10', 82, 12)]"
expect_equal "$(of '[(g["what"], g["bytes"] >> 20) for g in d["ranks"][0]["at"]["groups"]]')" \
	"[('train.py:3:load', 30), ('train.py:20:step', 20), ('train.py:9:step', 4)]"
expect_equal "$(of '[(g["what"], g["times"]) for g in d["ranks"][0]["grows"]]')" "[('train.py:9:step', 4)]"
run "$npuprof" memory -f json --at time:5us "$work/marked_rank0.pickle"
expect_equal "$(of '[d["ranks"][0]["at"]["event"], d["ranks"][0]["at"]["allocated_bytes"] >> 20]')" '[5, 30]'
make "$work/frame_rank0.pickle" "${steps/marks.append(len(events))/pass}"
for frame in load train.py:3; do
	run "$npuprof" memory -f json --step-frame "$frame" --at 1 "$work/frame_rank0.pickle"
	expect_equal "$(of '[(s["step"], s["most_bytes"] >> 20) for s in d["ranks"][0]["steps"]]')" "[('0', 40), ('1', 54), ('2', 68), ('3', 82)]"
	expect_equal "$(of 'd["ranks"][0]["at"]["allocated_bytes"] >> 20')" 54
done
run "$npuprof" memory --at step:9 --step-frame load "$work/frame_rank0.pickle"
expect_exit 2
expect_stderr_has 'there is no step 9; steps are 0 to 3'
run "$npuprof" memory --at step:9 "$work/frame_rank0.pickle"
expect_exit 2
expect_stderr_has 'its steps are not known: name a frame with --step-frame, or an event as --at event:9'
run "$npuprof" memory --at time:1s "$work/frame_rank0.pickle"
expect_exit 2
expect_stderr_has 'its events have no times'

behaviour 'by operator and by module of a snapshot'
run "$npuprof" memory -f json --by op --at event:1 "$work/frame_rank0.pickle"
expect_equal "$(of '[(g["what"], g["bytes"] >> 20) for g in d["ranks"][0]["at"]["groups"]]')" "[('load', 30)]"
run "$npuprof" memory -f json --by module --at event:1 "$work/frame_rank0.pickle"
expect_equal "$(of '[g["what"] for g in d["ranks"][0]["at"]["groups"]]')" "['train.py']"

behaviour 'wrong sizes are refused before anything is read'
while IFS='|' read -r option value says; do
	run "$npuprof" memory "$option" "$value" "$work/nowhere"
	expect_exit 2
	expect_stderr_has "$says"
done <<'END'
--parallel|tp:0|takes sizes such as
--parallel|xx:2|takes sizes such as
--device-memory|64|takes a size such as
--at|time:soon|neither peak
END
