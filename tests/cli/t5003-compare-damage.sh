#!/usr/bin/env bash
# compare on inputs that are damaged: what can be used is used, the rest is told, the status is 3.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/good" --ranks 2 --steps 3 --layers 2 --format text --no-instances || exit 1
"$synth" -q -o "$work/db" --ranks 2 --steps 3 --layers 2 --no-instances || exit 1

# copy <name> <from>: a run to be damaged
copy() {
	rm -rf "${work:?}/$1"
	cp -r "$work/$2" "$work/$1"
}

# in_rank <run> <file>: the file of its first rank
in_rank() {
	find "$work/$1" -name "$2" | sort | head -n 1
}

value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# exact: the differences sum to that of the step
exact() {
	expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'delta_ns') FROM json_each(readfile('$work/stdout'), '\$.waterfall')")" \
		"$(value '$.step.delta_ns')"
}

behaviour 'a truncated trace gives what there is of it'
copy bad good
file=$(in_rank bad trace_view.json)
truncate -s "$(($(stat -c %s "$file") * 6 / 10))" "$file"
run "$npuprof" compare "$work/good" "$work/bad"
expect_exit 3
expect_stdout_says 'rank 0 trace_view.json' 'covers'
run "$npuprof" compare -f json "$work/good" "$work/bad"
exact

# unchanged: nothing differs, and classes are there
unchanged() {
	exact
	expect_equal "$(value '$.waterfall[0].delta_ns')" 0
	expect 'there are classes' test "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.waterfall')
		WHERE value ->> 'leaf' LIKE 'compute/matmul/%'")" -gt 0
}

behaviour 'a short line of a table costs that line, and is told'
copy bad good
echo 'short,line' >>"$(in_rank bad kernel_details.csv)"
run "$npuprof" compare -f json "$work/good" "$work/bad"
expect_exit 3
unchanged
run "$npuprof" compare "$work/good" "$work/bad"
expect_stdout_says 'rank 0 kernels' '1 of' 'rows have no usable time and were left out'

behaviour 'a table of kernels that is none costs the types of that rank; nothing is said to be new or gone'
copy bad good
echo garbage >"$(in_rank bad kernel_details.csv)"
run "$npuprof" compare "$work/good" "$work/bad"
expect_exit 3
expect_stdout_says 'operator types' 'not recorded of rank 0' 'kernel_details.csv:1: there is no column'
run "$npuprof" compare -f json "$work/good" "$work/bad"
expect_exit 3
exact
expect_equal "$(value '$.structure')" '[]'
expect_equal "$(value '$.step.delta_ns')" 0

behaviour 'without a table of kernels the types of that rank are unknown, which is told'
rm "$(in_rank bad kernel_details.csv)"
run "$npuprof" compare "$work/good" "$work/bad"
expect_exit 0
expect_stdout_says 'operator types' 'not recorded of rank 0'

behaviour 'communication.json without bandwidth takes nothing else away'
copy bad good
printf '{"step10":{"collective":{},"p2p":{}}}' >"$(in_rank bad communication.json)"
run "$npuprof" compare -f json "$work/good" "$work/bad"
expect_exit 0
unchanged

behaviour 'of a database without tables of kernels and communication analysis.db tells the step times'
copy bad db
file=$(in_rank bad 'ascend_pytorch_profiler_0.db')
sqlite3 "$file" 'DROP TABLE COMPUTE_TASK_INFO; DROP TABLE COMMUNICATION_OP'
run "$npuprof" compare -f json "$work/db" "$work/bad"
expect_exit 3
exact
expect_equal "$(value '$.step.delta_ns') $(value '$.new.skipped[0].rank')" '0 0'
expect 'it is said' test "$(value '$.new.skipped[0].reason' | grep -c 'tells of no kernel.*used instead: analysis.db')" = 1

behaviour 'a database that tells no kernels, and no step times beside it, cost one rank'
copy bad db
file=$(in_rank bad 'ascend_pytorch_profiler_0.db')
sqlite3 "$file" 'DROP TABLE COMPUTE_TASK_INFO'
rm "$(dirname "$file")/analysis.db"
run "$npuprof" compare -f json "$work/db" "$work/bad"
expect_exit 3
exact
expect_equal "$(value '$.ranks[#-1].base_rank') $(value '$.new.skipped[#-1].reason')" '1 it has no step times: not compared'
run "$npuprof" compare "$work/db" "$work/bad"
expect_exit 3
expect_stdout_says 'the other run has no usable counterpart of rank 0' 'it has no step times: not compared'

behaviour 'a rank that cannot be read is left out of both sides and listed'
copy bad db
rm "$(dirname "$(in_rank bad 'ascend_pytorch_profiler_0.db')")"/analysis.db
echo garbage >"$(in_rank bad 'ascend_pytorch_profiler_0.db')"
run "$npuprof" compare -f json "$work/db" "$work/bad"
expect_exit 3
exact
expect_equal "$(value '$.ranks[#-1].base_rank')" 1
expect 'it is listed' test "$(value '$.new.skipped[0].rank')" = 0

behaviour 'when no rank is left the status is 1'
copy bad db
find "$work/bad" -name '*.db' -exec sh -c 'echo garbage >"$1"' - {} \;
run "$npuprof" compare "$work/db" "$work/bad"
expect_exit 1
expect_no_stdout
