#!/usr/bin/env bash
# How long a step is: the iteration where it is known, in every form of input; and the vendor's own tables.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# of_json <name> <columns of r>: of each rank in each step, with s.value ->> 'step' and the rank before them
of_json() {
	sqlite3 :memory: "SELECT s.value ->> 'step', r.value ->> 'rank', $2
		FROM json_each(readfile('$work/$1.json'), '\$.steps') s, json_each(s.value, '\$.ranks') r ORDER BY 1, 2"
}

# analyse <name> <directory> <options>...: its JSON in $work/<name>.json, its database in $work/out-<name>
analyse() {
	local name=$1 directory=$2

	shift 2
	run "$npuprof" cluster -d "$directory" -o "$work/out-$name" -f json -q "$@"
	expect_exit 0
	cp "$work/stdout" "$work/$name.json"
}

# make <name> <synth options>...: a run in $work/<name>
make() {
	local name=$1

	shift
	run "$synth" -q -o "$work/$name" --kernels-per-layer 4 --layers 2 "$@"
	expect_exit 0
}

# vendor_table <name> <columns>: of the merged database
vendor_table() {
	sqlite3 "$work/out-$1/cluster_analysis_output/cluster_analysis.db" \
		"SELECT $2 FROM ClusterStepTraceTime WHERE type = 'rank' ORDER BY \"index\" + 0, step"
}

lengths="r.value ->> 'span_ns', r.value ->> 'iteration_ns', r.value ->> 'between_ns'"

behaviour 'what is idle between steps is in the iteration, in the same way for text and databases'
for form in db text; do
	make "$form" --format "$form" --ranks 4 --steps 4 --seed 3 --between 700 --dataloader 2:900
	analyse "$form" "$work/$form"
	of_json "$form" "$lengths" >"$work/$form.lengths"
done
expect 'lengths agree' diff "$work/db.lengths" "$work/text.lengths"
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/text.json'), '\$.step_basis')")" iteration
expect_equal "$(awk -F '|' '$4 == "" { print $1 }' "$work/db.lengths" | sort -u)" 13
expect_equal "$(awk -F '|' '$4 != "" && $3 + $5 != $4' "$work/db.lengths" | wc -l)" 0
expect 'all ranks idle between steps' test "$(awk -F '|' '$5 != "" && $5 < 600000' "$work/db.lengths" | wc -l)" -eq 0
for name in db text; do
	sqlite3 "$work/out-$name/cluster_analysis_output/cluster_analysis.db" "SELECT rank, step, leaf, ns FROM np_partition
		WHERE leaf LIKE 'between/%' ORDER BY 1, 2, 3" >"$work/$name.between"
	sqlite3 "$work/out-$name/cluster_analysis_output/cluster_analysis.db" \
		'SELECT rank, step, span_ns, iteration_ns, between_ns, source FROM np_step ORDER BY 1, 2' >"$work/$name.np_step"
done
expect 'what is between agrees' diff "$work/db.between" "$work/text.between"
expect 'there is some' test -s "$work/db.between"
expect_equal "$(awk -F '|' '$3 == "between/dataloader" && $4 > 900000 { print $1 }' "$work/db.between" | tr '\n' ' ')" '2 2 2 '
expect 'and np_step' diff "$work/db.np_step" "$work/text.np_step"
expect_equal "$(cut -d '|' -f 1-5 "$work/db.np_step")" \
	"$(awk -F '|' -v OFS='|' '{ print $2, $1, $3, $4, $5 }' "$work/db.lengths" | sort -t '|' -k 1n -k 2n)"

behaviour 'the screen says which it is, and what is between'
run "$npuprof" cluster "$work/db" -o "$work/out" -v
expect_stdout_has 'Where the iteration goes' 'between steps:' 'the data loader' 'step 13 has none'
expect_stdout_lacks 'step span'
run "$npuprof" cluster "$work/db" -o "$work/out" --steps 13 -v
expect_stdout_has 'step span' 'Where the step goes'

behaviour 'steps that are left out change no iteration'
analyse one "$work/db" --steps 11
expect_equal "$(of_json one "$lengths")" "$(grep '^11' "$work/db.lengths")"
analyse skipped "$work/db" --skip-steps 2
expect_equal "$(of_json skipped "$lengths")" "$(grep '^1[23]' "$work/db.lengths")"
for command in whatif advisor info; do
	run "$npuprof" "$command" "$work/db" --skip-steps 1 -q -f json
	expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '\$.input.steps')")" '["11","12","13"]'
done
run "$npuprof" compare "$work/db" "$work/db" --skip-steps 1 -q -f json
expect_equal "$(sqlite3 :memory: "SELECT instr(json_extract(readfile('$work/stdout'), '\$.base.steps'), '\"10\"')")" 0
run "$npuprof" cluster "$work/db" -o "$work/out" --skip-steps 4
expect_exit 2
expect_stderr_has 'no step is left without the first 4: there are 4'
run "$npuprof" cluster "$work/db" -o "$work/out" --skip-steps 1 --steps 10
expect_exit 2
expect_stderr_has 'no step 10 in this run; there are steps 11-13'
# What was merged of some steps is not what the advisor is asked about.
run "$npuprof" cluster "$work/db" -q --skip-steps 2
run "$npuprof" advisor "$work/db" -q -f json
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '\$.input.steps')")" '["10","11","12","13"]'
rm -r "$work/db/cluster_analysis_output"

behaviour 'summaries have it'
run "$npuprof" cluster "$work/db" -o "$work/out-cached" -f json -q --cache="$work/cache"
expect 'the first time' diff "$work/stdout" "$work/db.json"
run "$npuprof" cluster "$work/db" -o "$work/out-cached" -f json -q --cache="$work/cache"
expect 'from summaries' diff "$work/stdout" "$work/db.json"

behaviour "the vendor's table follows his definition for text, where idle time that starts in a step is its own"
of_files() {
	for file in "$work"/text/*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv; do
		awk -F , 'NR > 1 { printf "%s|%.3f|%.3f\n", $1, $2, $6 }' "$file"
	done | sort
}
expect_equal "$(vendor_table text "step || '|' || printf('%.3f', computing) || '|' || printf('%.3f', free)" | sort)" "$(of_files)"
expect 'it is another than that of databases' test "$(vendor_table db 'sum(free)')" != "$(vendor_table text 'sum(free)')"
expect_equal "$(sqlite3 "$work/out-db/cluster_analysis_output/cluster_analysis.db" "SELECT count(*) FROM ClusterStepTraceTime t
	JOIN np_step s ON t.\"index\" = s.rank AND t.step = s.step WHERE type = 'rank' AND abs(free * 1000 - free_ns) < 0.5")" 16
expect_equal "$(sqlite3 "$work/out-text/cluster_analysis_output/cluster_analysis.db" "SELECT count(*) FROM ClusterStepTraceTime t
	JOIN np_step s ON t.\"index\" = s.rank AND t.step = s.step WHERE type = 'rank' AND abs(free * 1000 - free_ns) < 0.5")" 4

behaviour 'a run of both forms has the form of databases for all ranks, and says so'
make mixed --format db --format-of 1:text --ranks 4 --steps 4 --seed 3 --between 700 --dataloader 2:900
analyse mixed "$work/mixed"
expect 'JSON is the same' diff <(of_json mixed "$lengths") "$work/db.lengths"
expect_equal "$(vendor_table mixed 'step, free, stage')" "$(vendor_table db 'step, free, stage')"
run "$npuprof" cluster "$work/mixed" -o "$work/out"
expect_exit 0
expect_stdout_says '1 ranks are text and 3 databases'

behaviour "a rank with step files alone has the vendor's Stage + Bubble as its span, and no iteration"
cp -r "$work/text" "$work/files"
find "$work/files" \( -name trace_view.json -o -name kernel_details.csv \) -delete
analyse files "$work/files"
expect_equal "$(of_json files "r.value ->> 'source', r.value ->> 'iteration_ns', r.value ->> 'between_ns'" | cut -d '|' -f 3- | sort -u)" \
	'vendor||'
expect_equal "$(of_json files "r.value ->> 'span_ns'" | cut -d '|' -f 1,3 | sort)" \
	"$(for file in "$work"/text/*/ASCEND_PROFILER_OUTPUT/step_trace_time.csv; do
		awk -F , 'NR > 1 { printf "%s|%.0f\n", $1, 1000 * ($7 + $8) }' "$file"
	done | sort)"
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/files.json'), '\$.step_basis')")" span

behaviour 'a capture of one step, or without marks, is measured by its span'
make single --ranks 2 --steps 1
analyse single "$work/single"
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/single.json'), '\$.step_basis')")" span
make unmarked --ranks 2 --steps 3 --no-steps
analyse unmarked "$work/unmarked" --steps-from none
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/unmarked.json'), '\$.step_basis')")" span
run "$npuprof" cluster "$work/unmarked" -o "$work/out" --steps-from none --skip-steps 1
expect_exit 2
expect_stderr_has 'no numbered ones'

behaviour "recorded: the iteration is from kernel to kernel, and Free is that of the vendor's file"
if [[ -z ${NPUPROF_SHARED:-} || ! -d $NPUPROF_SHARED/data/helix/standalone ]]; then
	echo 'left out: no recorded profiles (NPUPROF_SHARED)'
else
	helix=$NPUPROF_SHARED/data/helix/standalone
	analyse helix "$helix"
	starts=$(sqlite3 :memory: "SELECT group_concat(ts) FROM (SELECT value ->> 'ts' AS ts
		FROM json_each(readfile('$helix/ASCEND_PROFILER_OUTPUT/trace_view.json'))
		WHERE value ->> 'ph' = 'X' AND value ->> 'name' = 'Computing' ORDER BY CAST(value ->> 'ts' AS REAL) LIMIT 2)")
	expect_equal "$(of_json helix "r.value ->> 'iteration_ns'" | awk -F '|' '$1 == 1 { print $3 }')" \
		"$(awk -F , '{ split($1, a, "."); split($2, b, "."); print (b[1] - a[1]) * 1000 + b[2] - a[2] }' <<<"$starts")"
	expect_equal "$(vendor_table helix "step || ',' || printf('%.3f', free)" | sort)" \
		"$(awk -F , 'NR > 1 { printf "%s,%.3f\n", $2, $7 }' "$helix/ASCEND_PROFILER_OUTPUT/step_trace_time.csv" | sort)"
	expect_equal "$(vendor_table helix 'count(*)')" 10
fi
