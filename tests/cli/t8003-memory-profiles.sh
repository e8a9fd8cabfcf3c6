#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The memory tables of profiles: one form for all of them, a moment, ranks side by side.
. "$(dirname "$0")/lib.sh"
need_program python3

# of <expression over d, and r of its first rank>: of the JSON on stdout
of() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
r = d["ranks"][0]
print(eval(sys.argv[2]))' "$work/stdout" "$1"
}

job=(--ranks 4 --pp 2 --steps 4 --layers 4 --kernels-per-layer 2 --memory --leak 1:2000000 -q)
"$synth" -o "$work/text" "${job[@]}" --format text
"$synth" -o "$work/db" "${job[@]}" --format db

behaviour 'text and database say the same'
before=$(snapshot "$work/text")
run "$npuprof" memory -f json "$work/text"
expect_exit 0
expect_equal "$(snapshot "$work/text")" "$before"
sed "s,$work/text/,,; s,_ascend_pt/.*,_ascend_pt\",g" "$work/stdout" >"$work/of-text"
run "$npuprof" memory -f json "$work/db"
sed "s,$work/db/,,; s,_ascend_pt/.*,_ascend_pt\",g" "$work/stdout" >"$work/of-db"
expect_equal "$(sha256sum <"$work/of-db")" "$(sha256sum <"$work/of-text")"

behaviour 'peaks, what fills them and components; what a profile cannot tell is null'
# 12 GiB before the capture and 96 MiB for each of two layers and two micro-batches in flight.
expect_equal "$(of '[r["source"], r["component"], r["rank"], r["peak_allocated"]["bytes"], r["peak_reserved"]["bytes"]]')" \
	"['profile', 'PTA', 0, 13287555072, 13421772800]"
expect_equal "$(of '[(g["what"], g["bytes"], g["blocks"]) for g in r["at"]["groups"]]')" \
	"[('before the record', 12884901888, None), ('aten::empty', 402653184, 4)]"
expect_equal "$(of '[r["peak_requested"]["bytes"], r["limit_bytes"], r["at"]["event"]]')" '[None, None, None]'
expect_equal "$(of '[(c["component"], c["module"], c["peak_reserved_bytes"]) for c in r["components"]]')" \
	"[('APP', False, 16642998272), ('PTA', False, 13421772800), ('PTA+GE', False, 13421772800), ('APP', True, 13421772800), ('HCCL', True, 440401920), ('RUNTIME', True, 100663296)]"
expect_equal "$(of '[x["pp"] for x in d["ranks"]]')" '[0, 0, 1, 1]'

behaviour 'the planted leak is named on its rank, and on no other'
expect_equal "$(of '[[(g["what"], g["times"], g["bytes_each_time"]) for g in x["grows"]] for x in d["ranks"]]')" \
	"[[], [('aten::cat', 4, 2000000)], [], []]"
run "$npuprof" memory "$work/db"
expect_stdout_says 'grows on rank 1: aten::cat leaves 2.00 MB each time, 4 times'

behaviour 'what takes the place of something from before the capture is no leak; what does not is one'
python3 - "$work" <<'PYTHON'
import os, sys
names = "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB),Release Total Allocated(MB),Device Type"
for kind in "queue", "leak":
    there = f"{sys.argv[1]}/{kind}/rank_0_ascend_pt/ASCEND_PROFILER_OUTPUT"
    os.makedirs(there)
    rows, curve, total = [], [], 500
    for step in range(6):
        begin = 1736405443000000 + step * 10000
        for i in range(10):
            at = begin + 300 * i
            rows.append(f"aten::mm,4096,{at}.000,{at + 100}.000,100.000,{total + 4},{total},NPU:0")
            curve += [(at, total + 4), (at + 100, total)]
        total += 12
        rows.append(f"aten::copy_,12288,{begin + 7000}.000,,,{total},,NPU:0")
        curve.append((begin + 7000, total))
        if kind == "queue":
            total -= 12
            curve.append((begin + 8000, total))
    open(there + "/operator_memory.csv", "w").write("\n".join([names, *rows, ""]))
    open(there + "/memory_record.csv", "w").write("Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n" +
                                                  "".join(f"PTA,{at}.000,{all},2000,NPU:0\n" for at, all in curve))
    open(there + "/step_trace_time.csv", "w").write("Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n0,,100,0,0,0,20\n")
PYTHON
run "$npuprof" memory "$work/queue"
expect_stdout_says 'never freed: 6 blocks, 75.5 MB; none of it grows'
run "$npuprof" memory "$work/leak"
expect_stdout_says 'grows: aten::copy_ leaves 12.6 MB each time, 6 times'

behaviour 'against the device, who runs out first and when'
run "$npuprof" memory -f json --device-memory 17GB "$work/db"
# 17 GB less 13.42 GB of the allocator and 3.22 GB beside it, by 2 MB a step.
expect_equal "$(of '[d["imbalance"]["runs_out_first"][k] for k in ("rank", "headroom_bytes", "growth_bytes_per_step", "steps_left")]')" \
	'[1, 357001728, 2000000, 178]'
run "$npuprof" memory --device-memory 17GB "$work/db"
expect_stdout_says 'rank 1 runs out first: it has left 357 MB and takes 2.00 MB more each step: 178 steps'

behaviour 'moments: a step, the end, a time; by module, size and lifetime'
run "$npuprof" memory -f json --ranks 0 --at end "$work/db"
expect_equal "$(of '[(g["what"], g["bytes"]) for g in r["at"]["groups"]]')" "[('before the record', 12884901888)]"
run "$npuprof" memory -f json --ranks 0 --at step:11 --by size "$work/db"
expect_equal "$(of '[r["at"]["by"], r["at"]["allocated_bytes"], r["steps"][1]["most_bytes"]]')" "['size', 13287555072, 13287555072]"
expect_equal "$(of '[(g["what"], g["bytes"]) for g in r["at"]["groups"]]')" \
	"[('before the record', 12884901888), ('below 100 MiB', 402653184)]"
run "$npuprof" memory -f json --ranks 0 --at time:0ns --by op "$work/db"
expect_equal "$(of '[(g["what"], g["blocks"]) for g in r["at"]["groups"]]')" "[('before the record', None), ('aten::empty', 1)]"
run "$npuprof" memory -f json --ranks 0 --by module "$work/db"
expect_equal "$(of '[(g["what"], g["bytes"]) for g in r["at"]["groups"]]')" \
	"[('APP', 13421772800), ('HCCL', 440401920), ('RUNTIME', 100663296)]"
run "$npuprof" memory -f json --ranks 0 --by lifetime "$work/db"
expect_equal "$(of '[g["what"] for g in r["at"]["groups"]]')" "['before the record', 'freed soon']"
run "$npuprof" memory --ranks 0 --at step:99 "$work/db"
expect_exit 1
expect_stderr_has 'there is no step 99'
run "$npuprof" memory --ranks 0 --at event:3 "$work/db"
expect_exit 1
expect_stderr_has 'a profile has no events of the allocator'

behaviour 'the gate judges profiles; what cannot be foretold is not'
run "$npuprof" memory --fail-on 'reserved>13GB' "$work/db"
expect_exit 4
run "$npuprof" memory --fail-on 'reserved>14GB' "$work/db"
expect_exit 0
run "$npuprof" memory --fail-on 'reserved>14GB' --with expandable_segments:True "$work/db"
expect_exit 1
expect_stderr_has 'a profile does not say what the allocator was asked for'

behaviour 'columns of msprof, in KB, are the same'
cp -r "$work/text" "$work/kb"
python3 - "$work/kb" <<'PYTHON'
import csv, pathlib, sys
for path in list(pathlib.Path(sys.argv[1]).rglob("memory_record.csv")) + list(pathlib.Path(sys.argv[1]).rglob("operator_memory.csv")) + \
        list(pathlib.Path(sys.argv[1]).rglob("npu_module_mem.csv")):
    rows = list(csv.reader(path.open(newline="")))
    wide = [i for i, name in enumerate(rows[0]) if name.endswith("(MB)")]
    for row in rows[1:]:
        for i in wide:
            row[i] = repr(float(row[i]) * 1024) if row[i] else ""
    rows[0] = [name.replace("(MB)", "(KB)") for name in rows[0]]
    csv.writer(path.open("w", newline="")).writerows(rows)
PYTHON
run "$npuprof" memory -f json "$work/kb"
sed "s,$work/kb/,,; s,_ascend_pt/.*,_ascend_pt\",g" "$work/stdout" >"$work/of-kb"
expect_equal "$(sha256sum <"$work/of-kb")" "$(sha256sum <"$work/of-text")"

behaviour 'allocations without a curve give one; a curve without allocations gives peaks'
cp -r "$work/text" "$work/ops"
find "$work/ops" -name memory_record.csv -delete
run "$npuprof" memory -f json --ranks 0 "$work/ops"
expect_equal "$(of '[r["peak_allocated"]["bytes"], r["peak_reserved"]["bytes"], r["outside_bytes"]]')" '[13287555072, 13421772800, None]'
cp -r "$work/text" "$work/curve"
find "$work/curve" -name operator_memory.csv -delete
run "$npuprof" memory -f json --ranks 0 "$work/curve"
expect_equal "$(of '[r["peak_allocated"]["bytes"], r["never_freed"]["bytes"], [g["what"] for g in r["at"]["groups"]]]')" \
	"[13287555072, None, ['before the record']]"

behaviour 'compiled graphs: what operators hold at most, by logical time'
dir=$(dirname "$(find "$work/text" -name operator_memory.csv | sort | head -1)")
cat >"$dir/static_op_mem.csv" <<'END'
Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)
0,weights,0,1,0,4294967295,1024
0,add,0,1,1,3,512
0,mul,0,1,3,5,2048
0,sub,0,1,6,7,256
0,inner,part,2,0,1,128
0,TOTAL,0,1,0,4294967295,3840
END
run "$npuprof" memory -f json --ranks 0 "$work/text"
expect_equal "$(of '[[g[k] for k in ("graph", "model", "operators", "peak_bytes", "total_bytes", "largest")] for g in r["graphs"]]')" \
	"[[1, None, 4, 3670016, 3932160, 'mul'], [2, 'part', 1, 131072, 131072, 'inner']]"
printf 'Op Name,Size\na,1\n' >"$dir/static_op_mem.csv"
run "$npuprof" memory -f json --ranks 0 "$work/text"
expect_exit 3
expect_stderr_has 'static_op_mem.csv'
expect_equal "$(of '[r["graphs"], len(d["skipped"])]')" '[[], 1]'
rm "$dir/static_op_mem.csv"

behaviour 'a damaged table costs what only it tells'
printf 'nothing\n' >"$(find "$work/curve" -name memory_record.csv | sort | head -1)"
run "$npuprof" memory -f json "$work/curve"
expect_exit 3
expect_equal "$(of 'len(d["ranks"])')" 4
expect_equal "$(of '[x["peak_allocated"]["bytes"] is None for x in d["ranks"]].count(True)')" 1

behaviour 'profiles without memory say what to do'
"$synth" -o "$work/none" --ranks 2 --steps 1 --layers 1 -q
run "$npuprof" memory "$work/none"
expect_exit 1
expect_stderr_has 'no memory was recorded below' 'profile_memory=True'

behaviour 'tables as CSV, one or all'
run "$npuprof" memory -f csv --table np_memory_rank --ranks 0 "$work/db"
expect_stdout_has 'file,rank,device,source,role' ',0,0,profile,'
run "$npuprof" memory -f csv -o "$work/csv" "$work/db"
expect_equal "$(cd "$work/csv" && echo *)" \
	'np_memory_block.csv np_memory_component.csv np_memory_curve.csv np_memory_group.csv np_memory_leak.csv np_memory_mark.csv np_memory_rank.csv np_memory_whatif.csv'
run "$npuprof" memory -f csv --table np_memory "$work/db"
expect_exit 2
expect_stderr_has 'there is no table' 'np_memory_group'
