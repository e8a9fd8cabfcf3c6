#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots with planted truth: a leak, fragmentation and an imbalance over stages are named, whatever the seed.
. "$(dirname "$0")/lib.sh"
need_program python3

# The allocator of the generator knows nothing of the one that analyses replay.
cat >"$work/check.py" <<'PYTHON'
import csv, json, sys
truth, found, curves, seed, leaky, leak, torn, heavy = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3], *map(int, sys.argv[4:])
snapshots = {r["rank"]: r for r in found["ranks"] if r["source"] == "snapshot"}
profiles = {r["rank"]: r for r in found["ranks"] if r["source"] == "profile"}
def must(what, holds):
    if not holds: print(f"seed {seed}: {what}")
for r in truth["ranks"]:
    mine, other = snapshots[r["rank"]], profiles[r["rank"]]
    must("peak allocated", mine["peak_allocated"]["bytes"] == other["peak_allocated"]["bytes"] == r["peak_allocated_bytes"])
    must("peak reserved", mine["peak_reserved"]["bytes"] == other["peak_reserved"]["bytes"] == r["peak_reserved_bytes"])
    must("replay", mine["replay"]["exact"] and mine["inconsistent_events"] == 0 and mine["replay"]["segment_events"] > 0)
    block = (leak + 511) // 512 * 512
    # Of a segment of its own up to a MiB more is handed out.
    grows = [(g["what"], g["times"], block <= g["bytes_each_time"] <= block + (1 << 20)) for g in mine["grows"]]
    must(f"leak of rank {r['rank']}: {mine['grows']}", grows == ([("metrics.py:17:remember", 5, True)] if r["rank"] == leaky else []))
    must("leak in the profile", [g["bytes_each_time"] for g in other["grows"]] == [g["bytes_each_time"] for g in mine["grows"]])
    gains = {w["settings"]: w["gain_bytes"] or 0 for w in mine["replay"]["what_if"]}
    best = max(gains, key=gains.get)
    waste = r["peak_reserved_bytes"] - r["peak_allocated_bytes"]
    if r["rank"] == torn:
        # Buffers of four steps are kept in vain; pages are whole.
        must(f"fragmentation: {best} {gains[best]} of {waste}", best.startswith("expandable_segments:True") and gains[best] > 0.8 * waste)
    else:
        must(f"no fragmentation on rank {r['rank']}: {gains[best]} of {waste}", max(gains[best], waste) < 100 << 20)
i = found["imbalance"]
must(f"along {i['along']}", i["matters"] and i["along"] == "stage")
must("stage", snapshots[i["most"]["rank"]]["pp"] == heavy)
must(f"cause {i['differences'][:1]}", i["differences"][0]["what"] == "vocab.py:31:build_table")
# Both have what was allocated after each event; a snapshot beside it what was reserved in between.
course = {}
for row in csv.DictReader(open(curves)):
    values = course.setdefault((int(row["rank"]), row["event"] != ""), [])
    if not values or values[-1] != int(row["allocated_bytes"]): values.append(int(row["allocated_bytes"]))
for rank in snapshots:
    mine, other = course[rank, True], course[rank, False]
    # A snapshot begins before the first allocation, with what was there.
    must(f"curve of rank {rank}", mine[mine[0] == 12 << 30:] == other)
PYTHON

behaviour 'planted leak, fragmentation and imbalance, 20 of 20 seeds; text, database and snapshot agree'
: >"$work/wrong"
for seed in {1..20}; do
	leaky=$((seed % 4)) torn=$(((seed / 4) % 4)) heavy=$((seed / 2 % 2))
	leak=$((1000000 + seed * 777777)) form=db
	((seed % 2)) || form=text
	"$synth" -q -o "$work/run" --force --seed "$seed" --ranks 4 --pp 2 --steps 5 --layers 4 --kernels-per-layer 2 --format "$form" \
		--memory --snapshot --leak "$leaky:$leak" --fragment "$torn:$((40000000 + seed * 1000000))" \
		--stage-memory "$heavy:$((1500000000 + seed * 10000000))" --no-instances
	"$npuprof" memory -q -f json --sweep "$work/run" >"$work/json" 2>"$work/err" || cat "$work/err" >>"$work/wrong"
	"$npuprof" memory -q -f csv --table np_memory_curve "$work/run" >"$work/csv"
	python3 "$work/check.py" "$work/run/truth.json" "$work/json" "$work/csv" "$seed" "$leaky" "$leak" "$torn" "$heavy" >>"$work/wrong"
	rm -rf "$work/run"
done
expect_equal "$(cat "$work/wrong")" ''

behaviour 'the page names them'
"$synth" -q -o "$work/run" --ranks 4 --pp 2 --steps 5 --layers 4 --kernels-per-layer 2 --snapshot --leak 1:3000000 --fragment 0:41943040 \
	--stage-memory 1:2000000000
run "$npuprof" memory --sweep --device-memory 16GB "$work/run"
expect_exit 0
expect_stdout_says 'rank 2 needs most' 'by stage: 1 needs 15.1 GB, 0 13.6 GB' 'more there: vocab.py:31:build_table +2.00 GB' \
	'grows on rank 1: metrics.py:17:remember leaves 3.00 MB each time, 5 times' 'on rank 0 expandable_segments:True'

behaviour 'the JSON is what its schema says'
run "$npuprof" memory --sweep -f json --device-memory 16GB "$work/run"
expect_equal "$(python3 "$(dirname "$0")/json_schema.py" "$(dirname "$0")/../../doc/schema" "$work/stdout" 2>&1)" ''
