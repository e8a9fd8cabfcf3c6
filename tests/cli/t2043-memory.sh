#!/usr/bin/env bash
# Memory that grows from step to step, found where it was planted and nowhere else.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -q -o "$work/c" --ranks 4 --kernels-per-layer 4 --layers 4 --no-instances --memory "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	cp "$work/stdout" "$work/json"
	db=$work/out/cluster_analysis_output/cluster_analysis.db
}

for form in db text; do
	behaviour "a leak is found to the byte in $form, and only on its rank"
	analyse --steps 5 --seed 31 --format $form --leak 2:3000000
	expect_equal "$(sqlite3 "$db" "SELECT rank, growth_bytes_per_step FROM np_memory WHERE component = 'PTA'")" '0|0
1|0
2|3000000
3|0'
	expect_equal "$(sqlite3 :memory: "SELECT value ->> 'growth_bytes_per_step' FROM json_each(readfile('$work/json'), '\$.memory')
		WHERE value ->> 'rank' = 2 AND value ->> 'component' = 'PTA'")" 3000000
done

behaviour 'the screen says which rank grows'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'memory of rank 2 (PTA) grows by 3.00 MB'

behaviour 'records that lack what is allocated tell nothing of growth beside others that have it'
analyse --steps 5 --seed 31 --leak 2:3000000
sqlite3 "$(find "$work/c" -name ascend_pytorch_profiler_2.db)" 'UPDATE MEMORY_RECORD SET totalAllocated = NULL WHERE rowid % 7 = 1'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 "$db" "SELECT growth_bytes_per_step BETWEEN 2850000 AND 3150000 FROM np_memory WHERE component = 'PTA' AND rank = 2")" 1

behaviour 'two steps tell nothing'
analyse --steps 2 --seed 31 --leak 2:3000000
expect_equal "$(sqlite3 "$db" 'SELECT count(growth_bytes_per_step), count(*) > 0 FROM np_memory')" '0|1'

behaviour 'peaks stand whether or not there are steps'
analyse --steps 3 --seed 31 --no-steps
expect_equal "$(sqlite3 "$db" "SELECT count(growth_bytes_per_step), min(peak_bytes) > 0 FROM np_memory WHERE component = 'PTA'")" '0|1'

behaviour 'without records of components the operators tell the same'
for form in db text; do
	analyse --steps 5 --seed 31 --format $form --leak 2:3000000
	sqlite3 "$db" "SELECT * FROM np_memory WHERE component = 'PTA'" >"$work/records"
	find "$work/c" -name memory_record.csv -delete
	for file in "$work"/c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
		[ -e "$file" ] && sqlite3 "$file" 'DROP TABLE MEMORY_RECORD'
	done
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	expect_equal "$(sqlite3 "$db" "SELECT * FROM np_memory WHERE component = 'PTA'")" "$(cat "$work/records")"
done

behaviour 'what modules of CANN reserve is listed with its growth'
# HCCL takes 2 MB more in each step.
rank=$(dirname "$(find "$work/c" -name profiler_info_1.json)")
sqlite3 :memory: "SELECT 'Component,Timestamp(us),Total Reserved(MB),Device'" >"$rank/ASCEND_PROFILER_OUTPUT/npu_module_mem.csv"
sqlite3 :memory: "SELECT 'HCCL,' || (CAST(value ->> 'ts' AS INTEGER) + 1) || ',' || (100 + 2 * row_number() OVER ()) || ',NPU:1'
	FROM json_each(readfile('$rank/ASCEND_PROFILER_OUTPUT/trace_view.json')) WHERE value ->> 'name' LIKE 'ProfilerStep#%'" \
	>>"$rank/ASCEND_PROFILER_OUTPUT/npu_module_mem.csv"
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_equal "$(sqlite3 "$db" "SELECT component, peak_bytes, reserved_bytes, growth_bytes_per_step FROM np_memory
	WHERE rank = 1 AND component LIKE 'module/%'")" "module/HCCL||$((110 * 1048576))|$((2 * 1048576))"
