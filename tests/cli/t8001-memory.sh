#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory snapshots: peaks, what fills them, what grows; what is hostile is refused.
. "$(dirname "$0")/lib.sh"
need_program python3

# of <expression over r>: of the first rank in the JSON on stdout
of() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
r = d["ranks"][0]
print(eval(sys.argv[2]))' "$work/stdout" "$1"
}

# make <file> <python>: a snapshot `d`; write it as pickle of the protocol `protocol`
make() {
	python3 - "$1" "$2" <<'PYTHON'
import pickle, sys
frames = lambda line: [{"name": "zeros", "filename": "/usr/lib/python3/site-packages/t.py", "line": 1},
                       {"name": "step", "filename": "/home/u/train.py", "line": line}]
base, MiB, protocol, events, blocks = 0x100000000000, 1 << 20, 4, [], []
event = lambda action, addr, size, line: events.append(
    {"action": action, "addr": addr, "size": size, "stream": 5, "frames": frames(line)})
# Every round leaves one, frees another.
for i in range(4):
    kept, brief = base + 8 * i * MiB * 8, base + (8 * i + 4) * MiB * 8
    event("segment_alloc", kept, 20 * MiB, 7)
    event("alloc", kept, 10 * MiB - 32, 7)
    event("segment_alloc", brief, 20 * MiB, 9)
    event("alloc", brief, 12 * MiB - 32, 9)
    event("free_requested", brief, 12 * MiB - 32, 9)
    event("free_completed", brief, 12 * MiB - 32, 9)
    used = {"address": kept, "size": 10 * MiB, "requested_size": 10 * MiB - 32, "state": "active_allocated",
            "frames": frames(7)}
    rest = {"address": kept + 10 * MiB, "size": 10 * MiB, "requested_size": 0, "state": "inactive", "frames": []}
    whole = {"address": brief, "size": 20 * MiB, "requested_size": 0, "state": "inactive", "frames": []}
    for address, parts in ((kept, [used, rest]), (brief, [whole])):
        blocks.append({"device": 0, "address": address, "total_size": 20 * MiB, "stream": 5, "segment_type": "large",
                       "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": parts})
d = {"segments": blocks, "device_traces": [events]}
exec(sys.argv[2])
pickle.dump(d, open(sys.argv[1], "wb"), protocol)
PYTHON
}

behaviour 'a planted leak is named, and the brief block at the peak'
mkdir "$work/run"
make "$work/run/job_rank3_pid77.pickle" ''
before=$(snapshot "$work/run")
run "$npuprof" memory -f json "$work/run"
expect_exit 0
expect_equal "$(of '[d["schema"], r["rank"], r["events"], r["inconsistent_events"]]')" "['npuprof.memory/1', 3, 24, 0]"
expect_equal "$(of '[r["peak_allocated"], r["peak_reserved"]["bytes"]]')" \
	"[{'bytes': 54525952, 'event': 21}, 167772160]"
expect_equal "$(of '[[g["what"], g["bytes"], g["blocks"]] for g in r["at"]["groups"]]')" \
	"[['train.py:7:step', 41943040, 4], ['train.py:9:step', 12582912, 1]]"
expect_equal "$(of '[[g["what"], g["times"], g["bytes_each_time"]] for g in r["grows"]]')" \
	"[['train.py:7:step', 4, 10485760]]"
expect_equal "$(of '[r["brief_at_peak"]["what"], r["brief_at_peak"]["peak_without_bytes"]]')" "['train.py:9:step', 41943040]"
expect_equal "$(snapshot "$work/run")" "$before"

behaviour 'the same of every protocol, and compressed'
cp "$work/stdout" "$work/first"
for protocol in 2 3 5; do
	mkdir "$work/run$protocol"
	make "$work/run$protocol/job_rank3_pid77.pickle" "protocol = $protocol"
	run "$npuprof" memory -f json "$work/run$protocol"
	sed "s,$work/run$protocol/,$work/run/," "$work/stdout" >"$work/renamed"
	expect_equal "$(sha256sum <"$work/renamed")" "$(sha256sum <"$work/first")"
done
gzip -k "$work/run2/job_rank3_pid77.pickle"
run "$npuprof" memory -f json "$work/run2/job_rank3_pid77.pickle.gz"
expect_equal "$(of 'r["peak_allocated"]["bytes"]')" 54525952

behaviour 'the first lines are for people'
run "$npuprof" memory "$work/run"
expect_exit 0
expect_stdout_says 'rank 3: peak allocated 54.5 MB at event 21' 'grows: train.py:7:step leaves 10.5 MB each time, 4 times' \
	'train.py:9:step, one block, 12.6 MB; without it the peak would be 41.9 MB'

behaviour 'at the end, by size and lifetime, as CSV'
run "$npuprof" memory -f csv --at end --by size "$work/run"
expect_stdout <<END
file,rank,device,event,what,bytes,requested_bytes,blocks
$work/run/job_rank3_pid77.pickle,3,0,23,below 100 MiB,41943040,41942912,4
END
run "$npuprof" memory -f json --at 3 --by lifetime "$work/run"
expect_equal "$(of '[[g["what"], g["bytes"]] for g in r["at"]["groups"]]')" \
	"[['freed soon', 12582912], ['to the end of the record', 10485760]]"

behaviour 'ranks come from names; a time or a process is no rank'
mkdir "$work/names" "$work/names/rank_12"
make "$work/names/snapshot_2026-08-01-10-30_5.pickle" ''
make "$work/names/snapshot_1768383987920985470.pkl" ''
make "$work/names/rank_12/oom_snapshot_4711_20260801103000.pickle" ''
run "$npuprof" memory -f json "$work/names"
expect_equal "$(of '[x["rank"] for x in d["ranks"]]')" '[5, 12, None]'
mkdir "$work/parts"
for name in local_rank_3 host1-tp_rank_1-pp_rank0 frank2 global_rank_9_local_rank_1 Rank-4; do make "$work/parts/$name.pickle" ''; done
run "$npuprof" memory -f json "$work/parts"
expect_equal "$(of '[x["rank"] for x in d["ranks"]]')" '[4, 9, None, None, None]'
run "$npuprof" memory -f json --rank 7 "$work/names/snapshot_1768383987920985470.pkl"
expect_equal "$(of 'r["rank"]')" 7

behaviour 'a pickle that names code is refused in a line, and nothing runs'
python3 - "$work/evil.pkl" "$work/ran" <<'PYTHON'
import os, pickle, sys
class Evil:
    def __reduce__(self): return (os.system, ("touch " + sys.argv[2],))
pickle.dump({"segments": [], "device_traces": [[Evil()]]}, open(sys.argv[1], "wb"), 4)
PYTHON
run "$npuprof" memory "$work/evil.pkl"
expect_exit 1
expect_no_stdout
expect_stderr_has "STACK_GLOBAL 'posix system' at byte" 'names code'
expect_equal "$(wc -l <"$work/stderr")" 1
expect 'nothing ran' test ! -e "$work/ran"

behaviour 'one of several that is damaged is named, and the status is 3'
head -c 900 "$work/run/job_rank3_pid77.pickle" >"$work/run/job_rank4_pid78.pickle"
run "$npuprof" memory -f json "$work/run"
expect_exit 3
expect_stderr_has 'is cut at byte 900'
expect_equal "$(of '[len(d["ranks"]), len(d["skipped"])]')" '[1, 1]'

behaviour 'what is no snapshot, or not there, or a wrong option, is a line'
python3 -c 'import pickle, sys; pickle.dump([1, 2], open(sys.argv[1], "wb"))' "$work/other.pkl"
run "$npuprof" memory "$work/other.pkl"
expect_exit 1
expect_stderr_has "not a memory snapshot"
run "$npuprof" memory "$work/nowhere.pkl"
expect_exit 2
: >"$work/empty.pkl"
run "$npuprof" memory "$work/empty.pkl"
expect_exit 1
expect_stderr_has 'is empty'
run "$npuprof" memory --at noon "$work/run"
expect_exit 2
expect_stderr_has 'neither peak, end, step:N, event:N, time:T nor a number'

if [[ -z ${NPUPROF_SHARED:-} || ! -d $NPUPROF_SHARED/data/snapshots ]]; then
	echo 'left out: no recorded snapshots (NPUPROF_SHARED/data/snapshots)'
	exit 0
fi

behaviour 'a recorded snapshot with its whole history, to the byte'
run "$npuprof" memory -f json "$NPUPROF_SHARED/data/snapshots/snapshot_1768383987920985470.pkl"
expect_equal "$(of '[r["events"], *r["actions"].values(), r["release_runs"], r["inconsistent_events"]]')" \
	'[9700, 3216, 3216, 3216, 52, 0, 0]'
expect_equal "$(of '[(r[k]["bytes"], r[k]["event"]) for k in ("peak_allocated", "peak_reserved", "peak_requested", "largest_gap")]')" \
	'[(494000128, 5180), (551550976, 5141), (471498368, 2599), (551550976, 9698)]'
expect_equal "$(of '[r["at"][k] for k in ("blocks", "rounding_bytes", "free_bytes", "largest_free_bytes", "free_small_pool_bytes")]')" \
	'[968, 22501760, 57550848, 16776704, 24602112]'
expect_equal "$(of '[r["end"][k] for k in ("segments", "reserved_bytes", "allocated_bytes", "stuck_bytes", "largest_free_bytes")]')" \
	'[52, 551550976, 0, 0, 20971520]'
expect_equal "$(of '[r["never_freed"]["blocks"], *r["largest_freed"].values()]')" '[0, 17211904, 16777728, 1974, 2]'
expect_equal "$(of '[(g["what"], g["bytes"], g["blocks"]) for g in r["at"]["groups"]][:4]')" \
	"[('memory_leaks_demo.py:14:train_one_step', 297649152, 484), ('<no stack>', 100110336, 161), ('memory_leaks_demo.py:26:main', 95524864, 320), ('memory_leaks_demo.py:10:train_one_step', 714752, 1)]"
expect_equal "$(of 'r["grows"]')" '[]'
run "$npuprof" memory -f json --by size "$NPUPROF_SHARED/data/snapshots/snapshot_1768383987920985470.pkl"
expect_equal "$(of '[(g["bytes"], g["blocks"]) for g in r["at"]["groups"]]')" '[(459881984, 140), (34118144, 828)]'
run "$npuprof" memory -f json --by inner "$NPUPROF_SHARED/data/snapshots/snapshot_1768383987920985470.pkl"
expect_equal "$(of '[(g["what"], g["bytes"]) for g in r["at"]["groups"]][:5]')" \
	"[('adam.py:703:_multi_tensor_adam', 102677504), ('<no stack>', 100110336), ('adam.py:178:_init_group', 98114560), ('adam.py:174:_init_group', 96856064), ('_module.py:76:convert', 95524864)]"

behaviour 'a recorded snapshot that began late, to the byte'
run "$npuprof" memory -f json "$NPUPROF_SHARED/data/snapshots/snapshot_with_empty_cache.pkl"
expect_equal "$(of '[r["events"], *r["actions"].values(), r["release_runs"], r["inconsistent_events"]]')" \
	'[8180, 2899, 2574, 2574, 79, 54, 3, 0]'
expect_equal "$(of '[*r["before_record"].values()]')" '[9, 113246208, 320, 95524864, 94326992, 0]'
expect_equal "$(of '[(r[k]["bytes"], r[k]["event"]) for k in ("peak_allocated", "peak_reserved", "peak_requested", "largest_gap")]')" \
	'[(616078336, 7498), (662700032, 7453), (597327488, 7498), (246282240, 8158)]'
expect_equal "$(of '[r["at"][k] for k in ("blocks", "rounding_bytes", "free_bytes", "largest_free_bytes", "free_small_pool_bytes")]')" \
	'[971, 18750848, 46621696, 3408384, 24602112]'
expect_equal "$(of '[r["end"][k] for k in ("segments", "reserved_bytes", "allocated_bytes", "stuck_bytes", "stuck_blocks", "largest_free_bytes")]')" \
	'[34, 509607936, 416417792, 93190144, 40, 18614784]'
expect_equal "$(of '[*r["never_freed"].values()]')" '[325, 320892928, 314057296]'
expect_equal "$(of '[*r["largest_freed"].values()]')" '[17211904, 16777728, 1647, 2]'
expect_equal "$(of '[(g["what"], g["bytes"], g["blocks"]) for g in r["at"]["groups"]]')" \
	"[('memory_leaks_demo.py:17:train_one_step', 295659520, 484), ('memory_leaks_demo.py:11:train_one_step', 125830656, 3), ('<no stack>', 98347520, 161), ('before the record', 95524864, 320), ('memory_leaks_demo.py:13:train_one_step', 714752, 1), ('memory_leaks_demo.py:14:train_one_step', 512, 1), ('memory_leaks_demo.py:15:train_one_step', 512, 1)]"
expect_equal "$(of '[(g["what"], g["times"], g["bytes_each_time"]) for g in r["grows"]]')" \
	"[('memory_leaks_demo.py:11:train_one_step', 3, 41943552)]"
