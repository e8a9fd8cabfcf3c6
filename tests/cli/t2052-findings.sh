#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is strange about a job, how a straggler goes on over the steps, and why a stage takes longer.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
need_program sqlite3
export PYTHONDONTWRITEBYTECODE=1

# cluster <case:seed>: its JSON in $work/json; its screen was run last
cluster() {
	rm -rf "$work/made"
	run python3 "$NPUPROF_SOURCE/tools/sweep/field.py" --make "$1" "$work/made" --form db
	expect_exit 0
	run "$npuprof" cluster -q -f json -d "$work/made/run" -o "$work/out"
	cp "$work/stdout" "$work/json"
	run "$npuprof" cluster -q -d "$work/made/run" -o "$work/out"
}

# ask <SQL over @j, the JSON>
ask() {
	sqlite3 :memory: "${1//@j/readfile(\'$work\/json\')}"
}

behaviour 'a first step that is much longer than the others is named as warm-up'
cluster warm-up:1
expect_equal 'warm-up' "$(ask "SELECT f.value ->> 'what' FROM json_each(@j, '\$.job_findings') f")"
expect_stdout_says 'warm-up; --skip-steps'

behaviour 'a first step that is as long as some others is none'
"$synth" -q -o "$work/every" --ranks 4 --steps 9 --layers 2 --kernels-per-layer 4 --dataloader all:20000:4 || exit 1
run "$npuprof" cluster "$work/every" -o "$work/out" --steps 12-18 -f json -q
cp "$work/stdout" "$work/json"
expect_equal "$(ask "SELECT count(*) FROM json_each(@j, '\$.job_findings') f WHERE f.value ->> 'what' = 'warm-up'")" 0

behaviour 'ranks that go on together out of gaps of their hosts are a finding, and their hosts no verdict'
cluster unrecorded:1
expect_equal 'unrecorded wait|8|1' "$(ask "SELECT f.value ->> 'what', json_array_length(f.value, '\$.ranks'),
	f.value ->> 'group' IS NOT NULL FROM json_each(@j, '\$.job_findings') f")"
expect_equal 'none' "$(ask "SELECT @j ->> '\$.verdict.kind'")"

behaviour 'pauses of hosts that are not aligned over ranks are named'
cluster gc-unaligned:1
expect_equal 'unaligned pauses' "$(ask "SELECT f.value ->> 'what' FROM json_each(@j, '\$.job_findings') f")"
expect_stdout_says 'garbage collection recorded:' 'let all ranks collect in the same step'
recorded=$(for each in "$work"/made/run/*/ASCEND_PROFILER_OUTPUT/*profiler_*.db; do
	sqlite3 "$each" 'SELECT count(*) FROM GC_RECORD'
done | awk '$1 > 0 { n += $1 } END { print n }')
said=$(ask "SELECT f.value ->> 'detail' FROM json_each(@j, '\$.job_findings') f")
expect 'of the collections that were recorded, those of ranks that paused are counted' \
	awk -v said="$said" -v all="$recorded" 'BEGIN { match(said, /recorded: [0-9]+/); n = substr(said, RSTART + 10, RLENGTH - 10) + 0; exit !(n > 0 && n <= all) }'
run "$npuprof" cluster -q -f json -d "$work/made/run" -o "$work/out" --cache "$work/cache"
run "$npuprof" cluster -q -f json -d "$work/made/run" -o "$work/out" --cache "$work/cache"
expect_stdout_has "${said:0:60}" 'garbage collection recorded:'
run python3 "$NPUPROF_SOURCE/tools/sweep/field.py" --make gc-unaligned:1 "$work/text" --form text
run "$npuprof" cluster -q -f json -d "$work/text/run" -o "$work/out"
expect_stdout_has "$(sed -n 's/.*\(garbage collection recorded: [0-9]* slices\).*/\1/p' <<<"$said")"

behaviour 'where no collection was recorded, it is something to look for'
for each in "$work"/made/run/*/ASCEND_PROFILER_OUTPUT/*profiler_*.db; do
	sqlite3 "$each" 'DELETE FROM GC_RECORD'
done
run "$npuprof" cluster -q -d "$work/made/run" -o "$work/out"
expect_stdout_says 'look for garbage'

behaviour 'the excess of a straggler is growing, or periodic, and the verdict says so'
cluster heat:1
expect_equal 'growing|6' "$(ask "SELECT @j ->> '\$.stragglers[0].course.kind', json_array_length(@j, '\$.stragglers[0].course.steps')")"
expect_stdout_says 'growing from step to step'
cluster periodic:1
expect_equal 'periodic|3' "$(ask "SELECT @j ->> '\$.stragglers[0].course.kind', json_array_length(@j, '\$.stragglers[0].course.steps')")"
expect_stdout_says 'every third'

behaviour 'a stage with more layers is unevenly split'
cluster uneven-stage:1
expect_stdout_says 'the pipeline is unevenly split: stage 1'

behaviour 'a job in order has no findings'
cluster healthy-dp:1
expect_equal '[]' "$(ask "SELECT @j -> '\$.job_findings'")"

# totals <idle of rank 3> <communication of rank 3> <bubble>: the vendor's totals alone of four ranks, in $work/totals
totals() {
	rm -rf "$work/totals"
	for rank in 0 1 2 3; do
		mkdir -p "$work/totals/rank${rank}_ascend_pt/ASCEND_PROFILER_OUTPUT"
		printf '{"rank_id": %s}\n' "$rank" >"$work/totals/rank${rank}_ascend_pt/profiler_info_$rank.json"
		idle=1000 comm=5000
		((rank == 3)) && idle=$1 comm=$2
		{
			echo 'Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing'
			for step in 5 6; do
				echo "$step,14000.5,$comm,1000,$((comm + 1000)),$idle,$((14000 + comm + idle)).5,$3,$comm,100"
			done
		} >"$work/totals/rank${rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv"
	done
	run "$npuprof" cluster -q -f json -d "$work/totals" -o "$work/out"
	cp "$work/stdout" "$work/json"
	run "$npuprof" cluster -q -d "$work/totals" -o "$work/out"
}

behaviour 'of totals alone there is no verdict, but whom the others wait for'
totals 5000 1500 0
expect_equal 'withheld' "$(ask "SELECT @j ->> '\$.verdict.kind'")"
expect_equal 'longest by totals|[3]' "$(ask "SELECT f.value ->> 'what', f.value ->> 'ranks' FROM json_each(@j, '\$.job_findings') f")"
expect_stdout_says 'by totals alone others wait for rank 3, in 2 of 2 steps: it has computing +0, idle +4.00 ms and communication -3.50 ms'

behaviour 'nobody is named who is not waited for, nor in a pipeline, whose stages do other work'
totals 5000 5000 0
expect_equal 0 "$(ask "SELECT json_array_length(@j, '\$.job_findings')")"
totals 1300 4700 0
expect_equal 0 "$(ask "SELECT json_array_length(@j, '\$.job_findings')")"
totals 5000 1500 400
expect_equal 0 "$(ask "SELECT json_array_length(@j, '\$.job_findings')")"

behaviour 'a slow rank of which only the step files are left is the one that is named'
"$synth" -q -o "$work/slow" --format text --ranks 8 --steps 4 --layers 4 --seed 3 --slow-rank 5:1.4 || exit 1
find "$work/slow" -type f ! -name 'step_trace_time.csv' ! -name 'profiler_info*' -delete
run "$npuprof" cluster -q -f json -d "$work/slow" -o "$work/out"
cp "$work/stdout" "$work/json"
expect_equal 'withheld|[5]' "$(ask "SELECT @j ->> '\$.verdict.kind', f.value ->> 'ranks' FROM json_each(@j, '\$.job_findings') f")"
