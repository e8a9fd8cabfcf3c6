#!/usr/bin/env bash
# Recorded captures of a single card without metadata: figures are the totals of the files themselves.
. "$(dirname "$0")/lib.sh"
need_shared data/helix
need_program sqlite3

helix=$NPUPROF_SHARED/data/helix
cd "$work" || exit 1

# query <name> <sql>
query() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" "$2"
}

# totals <file>: operator type, count and ns of an op_statistic table
totals() {
	awk -F, 'NR > 1 { printf "%s|%d|%.0f\n", $2, $4, $5 * 1000 }' "$1" | tr -d '\r' | sort
}

behaviour 'ten steps of text: computing and free time are those of step_trace_time.csv'
run "$npuprof" cluster -o standalone "$helix/standalone"
expect_exit 0
expect_stdout_says '1 rank' '0 is assumed'
expect_equal "$(grep -c 'rank -1' stdout)" 0
expect 'rows are equal' diff <(awk -F, 'NR > 1 { print $2 "|" $3 "|" $7 }' "$helix/standalone/ASCEND_PROFILER_OUTPUT/step_trace_time.csv") \
	<(query standalone "SELECT step, computing, free FROM ClusterStepTraceTime WHERE type = 'rank' ORDER BY CAST(step AS INTEGER)")
expect 'kernels are equal' diff <(totals "$helix/standalone/ASCEND_PROFILER_OUTPUT/op_statistic.csv") \
	<(query standalone 'SELECT op_type, count, total_ns FROM np_kernel_type ORDER BY 1')

behaviour 'without the marks the iterations that are found are the ten steps'
cp -r "$helix/standalone" bare
chmod -R u+w bare
rm bare/ASCEND_PROFILER_OUTPUT/step_trace_time.csv
sqlite3 :memory: "SELECT json_group_array(json(value)) FROM json_each(readfile('$helix/standalone/ASCEND_PROFILER_OUTPUT/trace_view.json'))
	WHERE value ->> 'name' NOT LIKE 'ProfilerStep%'" >bare/ASCEND_PROFILER_OUTPUT/trace_view.json
cut -d , -f 2- "$helix/standalone/ASCEND_PROFILER_OUTPUT/kernel_details.csv" >bare/ASCEND_PROFILER_OUTPUT/kernel_details.csv
own="SELECT step, computing_ns, span_ns, iteration_ns FROM np_step ORDER BY CAST(step AS INTEGER)"
run "$npuprof" cluster -o out-bare bare
expect_exit 0
expect_stdout_says 'iterations (found) 1-10'
expect_equal "$(query out-bare 'SELECT count(*) FROM np_step')" 10
expect 'the same times' diff <(query standalone "$own") <(query out-bare "$own")
expect_equal "$(query out-bare "SELECT count(*), step IS NULL FROM ClusterStepTraceTime WHERE type = 'rank'")" '1|1'
rm bare/ASCEND_PROFILER_OUTPUT/trace_view.json
run "$npuprof" cluster -o out-table bare
expect 'by the table of kernels alone too' diff <(query standalone "$own") <(query out-table "$own")

behaviour 'exports of msprof without their parent: kernels by type are those of op_statistic'
for name in msprof msprof-tables; do
	run "$npuprof" cluster -o $name "$helix/$name"
	expect "$name is read" test "$status" = 0 -o "$status" = 3
	expect "$name: kernels are equal" diff <(totals "$helix/$name"/mindstudio_profiler_output/op_statistic_*.csv) \
		<(query $name 'SELECT op_type, count, total_ns FROM np_kernel_type ORDER BY 1')
done
expect_equal "$(query msprof "SELECT computing FROM ClusterStepTraceTime WHERE type = 'rank'")" 40.604

behaviour 'all three together are no run: their numbers are provisional'
run "$npuprof" info "$helix"
expect_exit 3
expect_stdout_says '(provisional)'

behaviour 'results of msprof-analyze as text stand in: step times and operators are those of the files'
need_shared golden/cluster
for name in st4text_all text_level1_all text_level0_all; do
	result=$NPUPROF_SHARED/golden/cluster/$name/cluster_analysis_output
	run "$npuprof" cluster -o $name "$result"
	expect_exit 0
	expect "$name: step times" diff <(awk -F, '$2 == "rank" { printf "%s|%s|%.3f|%.3f|%.3f\n", $1, $3, $4, $8, $9 }' "$result/cluster_step_trace_time.csv" | sort) \
		<(query $name "SELECT step, \"index\", printf('%.3f', computing), printf('%.3f', free), printf('%.3f', stage) FROM ClusterStepTraceTime WHERE type = 'rank'" | sort)
	[ -e "$result/cluster_communication.json" ] || continue
	expect "$name: operators" diff <(sqlite3 :memory: "SELECT step.key, op.key, rank.key, printf('%.6f', rank.value -> 'Communication Time Info' ->> 'Elapse Time(ms)')
		FROM json_each(readfile('$result/cluster_communication.json')) AS ranks, json_each(ranks.value) AS step, json_each(step.value) AS op,
			json_each(op.value) AS rank WHERE op.key NOT LIKE 'Total%'" | sort) \
		<(query $name "SELECT step, hccl_op_name || '@' || group_name, rank_id, printf('%.6f', elapsed_time) FROM ClusterCommunicationTime
			WHERE hccl_op_name NOT LIKE 'Total%'" | sort)
done
