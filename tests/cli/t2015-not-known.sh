#!/usr/bin/env bash
# What the data do not carry is called unknown by every part of the answer.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# json <path>: of what the last command printed
json() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# rows <list> <expression> <condition>: of a list of what the last command printed
rows() {
	sqlite3 -separator ' ' :memory: "SELECT $2 FROM json_each(readfile('$work/stdout'), '$1') WHERE $3"
}

behaviour 'where all ranks were profiled, operators without a match are nobody'"'"'s'
"$synth" -q -o "$work/lost" --ranks 8 --tp 2 --steps 3 --layers 4 --drop-ops 3:0.1 --drop-ops 5:0.3 --no-instances || exit 1
run "$npuprof" cluster -d "$work/lost" -o "$work/out"
expect_exit 0
expect_stdout_lacks 'not profiled'
run "$npuprof" cluster -d "$work/lost" -o "$work/out" -f json
expect_equal "$(rows '$.stragglers' 'count(*)' "value ->> 'rank' IS NULL")" 0
expect_equal "$(json '$.unattributed_ns' | awk '{ print ($1 > 0) }')" 1

behaviour 'waiting in a communicator that was profiled in part, without tasks, is not known'
"$synth" -q -o "$work/part" --format text --ranks 4 --tp 2 --steps 3 --layers 2 --omit-ranks 3 --no-instances || exit 1
find "$work/part" \( -name trace_view.json -o -name communication.json \) -delete
run "$npuprof" cluster -d "$work/part" -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT count(*), count(step.value ->> 'wait_ns'), count(step.value ->> 'transit_ns'), max(step.value ->> 'estimator')
	FROM json_each(readfile('$work/stdout'), '\$.communicators') AS each, json_each(each.value, '\$.steps') AS step
	WHERE json_array_length(each.value -> 'observed') BETWEEN 2 AND json_array_length(each.value -> 'ranks') - 1")" '3|0|0|none'
expect_equal "$(sqlite3 :memory: "SELECT count(*) = count(step.value ->> 'wait_ns'), count(*) > 0
	FROM json_each(readfile('$work/stdout'), '\$.communicators') AS each, json_each(each.value, '\$.steps') AS step
	WHERE json_array_length(each.value -> 'observed') = json_array_length(each.value -> 'ranks')")" '1|1'

behaviour 'why a device is idle is unknown on the critical path as in the partition'
run "$npuprof" whatif -d "$work/part" -f json
expect_exit 0
expect_equal "$(rows '$.critical_path' 'count(*)' "value ->> 'leaf' = 'free/other'")" 0
expect_equal "$(rows '$.critical_path' 'count(*) > 0' "value ->> 'leaf' = 'free/unknown'")" 1
expect_equal "$(json '$.step_basis')" iteration

behaviour 'a run is replayed alike with and without its traces, though starts in communication.json are rounded'
"$synth" -q -o "$work/traces" --format text --ranks 8 --tp 4 --steps 4 --layers 4 --slow-rank 5:1.3 --no-instances || exit 1
run "$npuprof" whatif -d "$work/traces" -f json
with=$(json '$.verdict.recovered_ns')
find "$work/traces" -name trace_view.json -delete
run "$npuprof" whatif -d "$work/traces" -f json
expect_equal "$(json '$.verdict.what')" 5
expect_equal "$(json '$.verdict.recovered_ns' | awk -v with="$with" '{ print ($1 > 0.99 * with && $1 < 1.01 * with) }')" 1

behaviour 'at Level0 a trace has no calls of CANN, but arrows from them: a late host is told from the device'
"$synth" -q -o "$work/level0" --format text --level 0 --ranks 4 --steps 3 --layers 4 --kernels-per-layer 3 --host-gap 2:300 --no-instances || exit 1
run "$npuprof" cluster -d "$work/level0" -o "$work/out" -f json
expect_equal "$(json '$.verdict.what')" 2
expect_equal "$(rows '$.stragglers' "value ->> 'cause'" "value ->> 'rank' = 2")" host
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.steps') AS step,
	json_each(step.value, '\$.ranks') AS rank, json_each(rank.value, '\$.partition') AS part
	WHERE part.value ->> 'leaf' = 'free/unknown'")" 0
run "$npuprof" info -q -f json "$work/level0"
expect_equal "$(rows '$.analyses' "value ->> 'ready'" "value ->> 'name' = 'host gaps'")" 1

behaviour 'calls that one rank lacks are said where ranks are compared'
"$synth" -q -o "$work/calls" --ranks 4 --steps 3 --layers 2 --no-instances || exit 1
run "$npuprof" cluster -d "$work/calls" -o "$work/out"
expect_stdout_lacks 'host gaps'
sqlite3 "$(find "$work/calls" -name 'ascend_pytorch_profiler_1.db')" 'DROP TABLE CANN_API'
run "$npuprof" cluster -d "$work/calls" -o "$work/out"
expect_stdout_says 'not known: host gaps: no calls of CANN (rank 1)'
run "$npuprof" cluster -d "$work/calls" -o "$work/out" -f json
expect_equal "$(rows '$.trust.withheld' "value ->> 'reason'" "value ->> 'what' = 'host gaps'")" 'no calls of CANN (rank 1)'

behaviour 'a run and itself less one rank do not differ, and waiting that was measured in other ways is not judged'
"$synth" -q -o "$work/all" --ranks 4 --steps 6 --layers 4 --slow-rank 2:1.3 --no-instances || exit 1
"$synth" -q -o "$work/less" --ranks 4 --steps 6 --layers 4 --slow-rank 2:1.3 --omit-ranks 2 --no-instances || exit 1
run "$npuprof" compare "$work/all" "$work/less" --fail-on 'step>1%,comm>1%,wait>1%'
expect_exit 0
expect_stdout_says 'wait>1%: inconclusive, p = 1 (waiting was not measured alike in both runs)' \
	'of dp are compared as a whole: not all of its members were profiled in the new run'
run "$npuprof" compare "$work/all" "$work/less" -f json
expect_equal "$(rows '$.waterfall' 'count(*)' "value ->> 'delta_ns' <> 0")" 0
expect_equal "$(rows '$.waterfall' "value ->> 'leaf'" "value ->> 'leaf' LIKE 'comm/dp%'")" comm/dp

need_shared data/resnet-2of8
data=$NPUPROF_SHARED/data

# keep <run> <files>: those files alone of the recorded run
keep() {
	rm -rf "$work/kept"
	(cd "$data/$1" && find . \( -name 'profiler_info*' "${@:2}" \) -exec cp --parents -t "$(mkdir "$work/kept" && echo "$work/kept")" {} +)
	chmod -R u+w "$work/kept"
}

for level in level0 level1; do
	behaviour "recorded, $level, tables of kernels alone: who begins late is not called a slow host"
	keep resnet-2of8/text/$level -o -name kernel_details.csv
	run "$npuprof" cluster -d "$work/kept" -o "$work/out" -f json
	expect_exit 0
	expect_equal "$(json '$.verdict.kind')" none
	expect_stdout_has 'waiting for ranks that were not profiled is not known'
	expect_equal "$(rows '$.stragglers' "value ->> 'cause'" "value ->> 'rank' = 1")" unknown
done

behaviour 'recorded: a rank of another stage is no culprit where nothing tells the stages'
keep llm-pp2dp2 -o -name kernel_details.csv
run "$npuprof" cluster -d "$work/kept" -o "$work/out" -f json
expect_equal "$(json '$.verdict.kind')" withheld
expect_equal "$(json '$.verdict.reason')" 'rank 2: kernels were not counted, and nothing tells which ranks are a stage'
keep llm-pp2dp2 -o -name kernel_details.csv -o -name op_statistic.csv
run "$npuprof" cluster -d "$work/kept" -o "$work/out" -f json
expect_equal "$(json '$.verdict.kind')" withheld
expect_equal "$(json '$.verdict.reason')" 'rank 2: runs other kernels than all others, and nothing tells which ranks are a stage'

behaviour 'recorded: a communicator of eight ranks says how many there are'
run "$npuprof" cluster -d "$data/resnet-2of8/text/level1" -o "$work/out" -f json
expect_equal "$(json '$.input.world_size')" 8
