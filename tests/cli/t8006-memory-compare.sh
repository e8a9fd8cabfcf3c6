#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory against another run; snapshots beside profiles in the merged database, on the screen and in rules.
. "$(dirname "$0")/lib.sh"
need_program python3
need_program sqlite3

# of <expression over d, and c of its comparison>: of the JSON on stdout
of() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
c = d.get("comparison")
print(eval(sys.argv[2]))' "$work/stdout" "$1"
}

job=(-q --ranks 4 --pp 2 --steps 5 --layers 4 --kernels-per-layer 2 --snapshot --no-instances)
"$synth" -o "$work/old" "${job[@]}"
"$synth" -o "$work/new" "${job[@]}" --leak 1:3000000 --fragment 0:41943040 --stage-memory 1:4000000000

behaviour 'what was added to the peak, by stack; changes sum to the difference'
run "$npuprof" memory -f json --base "$work/old" "$work/new"
expect_exit 0
expect_equal "$(of '[len(c["ranks"]), c["base_only"], c["new_only"]]')" '[4, 0, 0]'
expect_equal "$(of '[r["rank"] for r in c["ranks"] if sum(x["bytes"] - x["base_bytes"] for x in r["changes"]) != r["delta_bytes"]]')" '[]'
# Leaks of five steps, each rounded to a multiple of 512.
expect_equal "$(of '[(x["what"], x["base_bytes"], x["bytes"]) for x in c["ranks"][1]["changes"]]')" "[('metrics.py:17:remember', 0, 15001600)]"
expect_equal "$(of '[(x["what"], x["base_bytes"], x["bytes"] >> 20) for x in c["ranks"][2]["changes"]]')" "[('vocab.py:31:build_table', 0, 3814)]"
expect_equal "$(python3 "$(dirname "$0")/json_schema.py" "$(dirname "$0")/../../doc/schema" "$work/stdout" 2>&1)" ''
run "$npuprof" memory --base "$work/old" "$work/new"
expect_stdout_says '4 ranks in both; on rank 2 peak allocated +4.00 GB' 'What was added' 'vocab.py:31:build_table'

behaviour 'a run against itself, two single files of any name, and ranks that only one has'
run "$npuprof" memory -f json --base "$work/old" "$work/old"
expect_equal "$(of '[(r["delta_bytes"], r["changes"]) for r in c["ranks"]]')" '[(0, []), (0, []), (0, []), (0, [])]'
cp "$work/old/memory_snapshot/snapshot_2025-01-09-08-16_1.pickle" "$work/before.pkl"
run "$npuprof" memory -f json --base "$work/before.pkl" "$work/new/memory_snapshot/snapshot_2025-01-09-08-16_1.pickle"
expect_equal "$(of '[r["peak_allocated_delta_bytes"] for r in c["ranks"]]')" '[15001600]'
run "$npuprof" memory -f json --base "$work/before.pkl" "$work/new"
expect_equal "$(of '[len(c["ranks"]), c["base_only"], c["new_only"]]')" '[0, 1, 4]'
run "$npuprof" memory --base "$work/nowhere" "$work/new"
expect_exit 1
expect_no_stdout

behaviour 'snapshots beside profiles are in the merged database and on the screen'
before=$(snapshot "$work/new/memory_snapshot")
run "$npuprof" cluster -q -d "$work/new" -o "$work/out"
expect_exit 0
expect_stdout_says 'memory snapshots of 4 ranks: rank 2 reserves most, 17.1 GB' \
	'memory of rank 1: metrics.py:17:remember leaves 3.00 MB each time that is never freed' \
	'memory of rank 0: expandable_segments:True would lower peak reserved by'
expect_equal "$(snapshot "$work/new/memory_snapshot")" "$before"
db=$work/out/cluster_analysis_output/cluster_analysis.db
expect_equal "$(sqlite3 "$db" 'SELECT rank, pp, peak_reserved_bytes > 13e9 FROM np_memory_rank ORDER BY rank')" $'0|0|1\n1|0|1\n2|1|1\n3|1|1'
expect_equal "$(sqlite3 "$db" 'SELECT rank, what, times, bytes_each_time FROM np_memory_leak')" '1|metrics.py:17:remember|5|3000320'
run "$npuprof" memory -q -f csv --table np_memory_rank "$work/new/memory_snapshot"
expect_equal "$(sqlite3 "$db" 'SELECT peak_allocated_bytes FROM np_memory_rank ORDER BY rank')" \
	"$(python3 -c 'import csv, sys; print("\n".join(r["peak_allocated_bytes"] for r in csv.DictReader(open(sys.argv[1]))))' "$work/stdout")"

behaviour 'the page has curves, marks, what fills the peak and the blocks then; a timeline has them by event'
run "$npuprof" report -q -d "$work/new" -o "$work/page.html"
expect_exit 0
run "$npuprof" timeline -q -d "$work/new" -o "$work/trace.json"
expect_exit 0
run "$npuprof" memory -q -f json "$work/new/memory_snapshot"
cat >"$work/seen.py" <<'PYTHON'
import json, re, sys
page, trace, memory = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))["ranks"]
s = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))["snapshots"]
print([r["peak_reserved_bytes"] for r in s["ranks"]] == [r["peak_reserved"]["bytes"] for r in memory])
for of, r in enumerate(memory):
    points = [p for p in s["curve"] if p[0] == of]
    marks = {m[2]: (m[1], m[3]) for m in s["marks"] if m[0] == of}
    groups = [(g["what"], g["bytes"]) for g in s["groups"] if g["of"] == of]
    if max(p[2] for p in points) != r["peak_allocated"]["bytes"] or marks["peak allocated"] != (r["peak_allocated"]["event"], r["peak_allocated"]["bytes"]) \
            or groups != [(g["what"], g["bytes"]) for g in r["at"]["groups"]]: print("rank", r["rank"])
most = memory[s["map_of"]]
print(most["rank"], sum(b["bytes"] for b in s["blocks"]) == most["at"]["reserved_bytes"],
      sum(b["bytes"] for b in s["blocks"] if b["state"] == "free") == most["at"]["free_bytes"],
      {w: sum(b["bytes"] for b in s["blocks"] if b["what"] == w) for w in {b["what"] for b in s["blocks"]} - {None}} == {g["what"]: g["bytes"] for g in most["at"]["groups"]})
# Each event is a microsecond in a process that says so.
of = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name" and "snapshot" in e["args"]["name"]}
print(len(of), all("not time" in name for name in of.values()))
leak = [e for e in trace if e.get("cat") == "memory" and e["pid"] in of and e["name"] == "metrics.py:17:remember"]
print(len(leak), {e["args"]["bytes"] for e in leak}, {e["args"]["freed"] for e in leak}, {of[e["pid"]].split(":")[0] for e in leak})
peaks = [max(e["args"]["value"] for e in trace if e["ph"] == "C" and e["pid"] == pid and e["name"] == "memory reserved") for pid in sorted(of)]
print(peaks == [r["peak_reserved"]["bytes"] for r in memory])
PYTHON
expect_equal "$(python3 "$work/seen.py" "$work/page.html" "$work/trace.json" "$work/stdout" 2>&1)" \
	$'True\n2 True True True\n4 True\n5 {3000320} {\'never\'} {\'memory snapshot of rank 1\'}\nTrue'
run "$npuprof" report -q --anonymize -d "$work/new" -o "$work/anonymous.html"
expect 'an anonymous page has no names of stacks or files' sh -c "! grep -qE 'metrics.py|vocab.py|model.py|pickle' '$work/anonymous.html'"

behaviour 'rules name the leak, the setting and the stage; without snapshots they have nothing to say'
run "$npuprof" advisor -q -f json -d "$work/new"
ids=$(python3 -c 'import json, sys; print(*sorted(f["rule"] for f in json.load(open(sys.argv[1]))["findings"] if f["rule"].startswith("memory")))' "$work/stdout")
expect_equal "$ids" 'memory.imbalance memory.leak'
rm -rf "$work/new/memory_snapshot"
run "$npuprof" advisor -q -f json -d "$work/new"
expect_equal "$(python3 -c 'import json, sys
print(*sorted({r["status"] for r in json.load(open(sys.argv[1]))["rules"] if r["id"] in ("memory.leak", "memory.settings", "memory.imbalance", "memory.workspace")}))' "$work/stdout")" skipped

behaviour 'where snapshots are large, cluster does not try other settings, and says so'
cp -r "$work/old" "$work/large"
# Zeros behind the end are padding.
truncate -s 260M "$work/large/memory_snapshot/snapshot_2025-01-09-08-16_0.pickle"
run "$npuprof" cluster -d "$work/large" -o "$work/out3"
expect_exit 0
expect_stdout_says 'MB of snapshots: other settings of the allocator are not tried'
expect_equal "$(sqlite3 "$work/out3/cluster_analysis_output/cluster_analysis.db" 'SELECT count(*) > 0, (SELECT count(*) FROM np_memory_whatif) FROM np_memory_rank')" '1|0'
rm -rf "$work/large"

behaviour 'a damaged snapshot is noted and costs itself alone'
mkdir "$work/old/bad"
printf '\x80\x04cos\nsystem\n.' >"$work/old/bad/x_rank0.pickle"
run "$npuprof" cluster -d "$work/old" -o "$work/out2"
expect_exit 3
expect_stdout_says 'x_rank0.pickle'

behaviour 'peaks grow over the runs of a history'
for n in {1..12}; do
	"$synth" -q -o "$work/h$n" --seed "$n" --ranks 2 --steps 2 --layers 2 --snapshot --no-instances \
		--stage-memory "0:$((n < 7 ? 1000000000 + n * 1000000 : 1600000000 + n * 1000000))"
	run "$npuprof" history add "$work/h$n" -q --job train --store "$work/runs.db"
	expect_exit 0
	# Runs of the generator begin at about the same time; these are of the days before.
	sqlite3 "$work/runs.db" "UPDATE RUN SET captured = captured - $((13 - n)) * 86400000000000 WHERE id = $n"
done
run "$npuprof" history trend --job train --figure memory/reserved --store "$work/runs.db"
expect_stdout_says 'memory/reserved rose by 4.3 % at run 7' 'from 14.1 GB to 14.7 GB'
run "$npuprof" history trend --job train --figure memory/reserved -f json --store "$work/runs.db"
run_peak=$(of 'd["series"][-1]["bytes"]')
expect_equal "$(of '[c["run"] for c in d["changes"]]')" '[7]'
expect_equal "$(python3 "$(dirname "$0")/json_schema.py" "$(dirname "$0")/../../doc/schema" "$work/stdout" 2>&1)" ''
run "$npuprof" memory -q -f json "$work/h12"
expect_equal "$(of 'max(r["peak_reserved"]["bytes"] for r in d["ranks"])')" "$run_peak"
"$synth" -q -o "$work/worse" --seed 50 --ranks 2 --steps 2 --layers 2 --snapshot --no-instances --stage-memory 0:12000000000
run "$npuprof" history judge "$work/worse" --job train --fail-on 'memory/reserved>5%' --store "$work/runs.db"
expect_exit 4
expect_stdout_says 'fails: memory/reserved is'
