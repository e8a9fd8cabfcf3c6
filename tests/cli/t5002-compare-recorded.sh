#!/usr/bin/env bash
# compare on recorded profiles against the figures of the tool that users know, where those are right.
# Every deviation is named after what is wrong with them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3
need_shared data/resnet-2of8
need_shared golden/compare
data=$NPUPROF_SHARED/data/resnet-2of8
golden=$NPUPROF_SHARED/golden/compare

# compare <form> <level>: rank 0 against rank 1
compare() {
	run "$npuprof" compare -f json --view kernel,communication,api,operator,memory \
		"$data/$1/$2/rank0_ascend_pt" "$data/$1/$2/rank1_ascend_pt"
	# No modules were recorded, but those are not asked for.
	expect_exit 0
}

value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# class <name> <core>...: "base_us base_count new_us new_count" of a class, over cores
class() {
	sqlite3 -separator ' ' :memory: "SELECT printf('%.3f', sum(value ->> 'base_ns') / 1e3), sum(value ->> 'base_count'),
		printf('%.3f', sum(value ->> 'new_ns') / 1e3), sum(value ->> 'new_count')
		FROM json_each(readfile('$work/stdout'), '\$.classes') WHERE value ->> 'class' = '$1' AND ('$2' = '' OR value ->> 'core' = '$2')"
}

# known <case> <row>: the same of OverallMetrics, by the name of the row
known() {
	awk -F, -v name="$2" '{ sub(/^\t+/, "", $1) } $1 == name { printf "%.3f %.1f %.3f %.1f\n", $2 * 1e3, $4, $5 * 1e3, $7; exit }' \
		"$golden/$1/OverallMetrics.csv"
}

# total <case> <row> <field>: a total of OverallMetrics in µs
total() {
	awk -F, -v name="$2" -v field="$3" '$1 == name { printf "%.0f\n", $field * 1e3; exit }' "$golden/$1/OverallMetrics.csv"
}

# leaves <pattern> <side>: the leaves in whole µs
leaves() {
	sqlite3 :memory: "SELECT printf('%.0f', sum(value ->> '$2') / 1e3) FROM json_each(readfile('$work/stdout'), '\$.waterfall')
		WHERE value ->> 'leaf' LIKE '$1'"
}

for form in text db; do
	behaviour "$form level1: classes have the known durations and numbers"
	case=npu_${form}_level1_r0_r1
	compare $form level1
	expect_equal "$(class conv_forward cube)" "$(known $case 'Conv (Forward) (Cube)')"
	expect_equal "$(class conv_forward vector)" "$(known $case 'Conv (Forward) (Vector)')"
	expect_equal "$(class conv_backward cube)" "$(known $case 'Conv (Backward) (Cube)')"
	expect_equal "$(class conv_backward vector)" "$(known $case 'Conv (Backward) (Vector)')"
	expect_equal "$(class matmul cube)" "$(known $case 'Matmul (Cube)')"
	expect_equal "$(class matmul vector)" "$(known $case 'Matmul (Vector)')"
	expect_equal "$(class vector_trans '')" "$(known $case 'Vector (Trans)')"
	expect_equal "$(class tensor_move '')" "$(known $case 'SDMA (Tensor Move)')"

	behaviour "$form level1: computing, exposed communication and what is free have the known totals"
	for side in base_ns:2 new_ns:5; do
		expect_equal "$(leaves 'compute/%' "${side%:*}")" "$(total $case 'Computing Time' "${side#*:}")"
		expect_equal "$(leaves 'comm/%' "${side%:*}")" "$(total $case 'Uncovered Communication Time' "${side#*:}")"
	done
	expect_equal "$(value '$.step.delta_ns')" \
		"$(sqlite3 :memory: "SELECT sum(value ->> 'delta_ns') FROM json_each(readfile('$work/stdout'), '\$.waterfall')")"

	behaviour "$form level1: deviation 7.1-1: waiting is most of an operator, not next to nothing"
	expect 'wait is over nine tenths' test "$(($(leaves '%/wait' base_ns) * 10))" -gt "$(($(leaves 'comm/%' base_ns) * 9))"
done

behaviour 'text level1: vector kernels have the known duration and number'
compare text level1
expect_equal "$(class vector '')" "$(known npu_text_level1_r0_r1 'Vector (No Trans)')"

behaviour 'db level1: deviation 7.1-10: two kernels outside the AI cores are other, as in text, not vector'
compare db level1
expect_equal "$(class vector '' | cut -d ' ' -f 2)" 69.0
expect_equal "$(class other '' | cut -d ' ' -f 2)" 2.0
expect_equal "$(known npu_db_level1_r0_r1 'Vector (No Trans)' | cut -d ' ' -f 2)" 71.0

behaviour 'text level0: totals are known; classes come from the operators that launched the kernels, not all Other'
compare text level0
for side in base_ns:2 new_ns:5; do
	expect_equal "$(leaves 'compute/%' "${side%:*}")" "$(total npu_text_level0_r0_r1 'Computing Time' "${side#*:}")"
	expect_equal "$(leaves 'comm/%' "${side%:*}")" "$(total npu_text_level0_r0_r1 'Uncovered Communication Time' "${side#*:}")"
done
expect 'there are convolutions' test "$(leaves 'compute/conv%' base_ns)" -gt 1000

for form in text db; do
	behaviour "$form level1: kernels by type and shape have the known totals"
	compare $form level1
	sed 1,3d "$golden/npu_${form}_level1_r0_r1/KernelCompare.csv" >"$work/kernels.csv"
	# Collectives are listed with communication, not among kernels; theirs are rounded to 0.01.
	expect_equal "$(sqlite3 -separator ' ' :memory: \
		'CREATE TABLE k(id, kernel, shape, t0 REAL, a0, m0, n0, c0 REAL, t1 REAL, a1, m1 REAL, n1, c1, r0, r1)' ".import --csv '$work/kernels.csv' k" "
		WITH ours AS (SELECT value ->> 'Kernel' AS kernel, trim(value ->> 'Input Shape', '\"') AS shape, value ->> 'Base Total Duration(us)' AS t0,
			value ->> 'Base Calls' AS c0, value ->> 'Comparison Total Duration(us)' AS t1, value ->> 'Comparison Max Duration(us)' AS m1
			FROM json_each(readfile('$work/stdout'), '\$.views.kernel'))
		SELECT (SELECT count(*) FROM ours), count(*) FROM k JOIN ours o ON o.kernel = k.kernel AND o.shape = trim(k.shape, '\"')
		AND abs(o.t0 - k.t0) < 0.006 AND o.c0 = k.c0 AND abs(o.t1 - k.t1) < 0.006 AND abs(o.m1 - k.m1) < 0.006")" \
		"$(grep -vc hcom_ "$work/kernels.csv") $(grep -vc hcom_ "$work/kernels.csv")"
done

# Counted by hand in the trace: rows of the class, and of its small tasks by name.
behaviour 'communication has the known calls and durations, and tasks are paired by name (7.1-13)'
compare text level1
expect_equal "$(sqlite3 -separator ' ' :memory: "SELECT value ->> 'Base Calls', printf('%.1f', value ->> 'Base Total Duration(us)')
	FROM json_each(readfile('$work/stdout'), '\$.views.communication') WHERE value ->> 'Communication OP Name' = 'allreduce' AND value ->> 'Task Name' IS NULL")" \
	'4.0 105991.9'
expect_equal "$(sqlite3 -separator ' ' :memory: "SELECT value ->> 'Base Calls', printf('%.1f', value ->> 'Base Total Duration(us)'), value ->> 'Comparison Calls'
	FROM json_each(readfile('$work/stdout'), '\$.views.communication') WHERE value ->> 'Task Name' = 'Memcpy'")" '36.0 11827.2 36.0'

behaviour 'deviation 7.1-4: an operator of the framework is counted once, however many kernels it launches'
compare db level1
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'Base Calls' FROM json_each(readfile('$work/stdout'), '\$.views.api')
	WHERE value ->> 'api name' = 'aten::conv2d'")" 5.0

behaviour 'deviation 7.1-2: communicators of two database runs match, although their names hold the time of creation'
run "$npuprof" compare -f json "$data/db/level0" "$data/db/level1"
expect_exit 0
expect_equal "$(value '$.communicators[0].matched_by') $(value '$.communicators[1].name')" 'fingerprint '

behaviour 'deviation 7.1-6: memory belongs to the operator of its thread, not to whatever is open'
compare db level1
expect 'allocations are known' test "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.views.memory')")" -gt 20
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.views.memory')
	WHERE value ->> 'Operator Name' = 'aten::as_strided'")" 0

behaviour 'deviation 7.1-8: computing is the sum of its parts, to the nanosecond'
expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'base_ns') FROM json_each(readfile('$work/stdout'), '\$.waterfall')
	WHERE value ->> 'leaf' LIKE 'compute/%'")" "$(value '$.base.computing_ns')"

behaviour 'deviation 7.1-9: copies of a database are found under their present names'
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'base_ns' FROM json_each(readfile('$work/stdout'), '\$.waterfall')
	WHERE value ->> 'leaf' = 'memcpy'")" 11001

behaviour 'deviation 7.1-14: ratios are those of the values, not of what rounding leaves of them'
expect_equal "$(sqlite3 :memory: "SELECT count(*) > 100, max(abs((value ->> 'Diff Total Ratio')
	- (value ->> 'Comparison Total Duration(ms)') / (value ->> 'Base Total Duration(ms)'))) < 1e-9
	FROM json_each(readfile('$work/stdout'), '\$.views.api') WHERE value ->> 'Base Calls' > 0")" '1|1'

behaviour 'deviation 7.1-11: shapes are shapes and types are types, though the exporter swapped them'
run "$npuprof" compare -f csv --table operator_detail "$data/db/level1/rank0_ascend_pt" "$data/db/level1/rank1_ascend_pt"
expect_exit 0
expect_stdout_has 'aten::to,"32,3,224,224;;;;;;;",float;Scalar;'

behaviour 'deviation 7.1-12: memory is compared by component'
compare text level1
expect 'APP and PTA have rows of their own' test "$(sqlite3 :memory: "SELECT count(*) FROM
	json_each(readfile('$work/stdout'), '\$.memory') WHERE value ->> 'component' IN ('APP', 'PTA')")" -eq 2

behaviour 'recorded runs against themselves are equal, and pass a gate of nothing'
for each in "$data/text/level0" "$data/text/level1" "$data/db/level0" "$data/db/level1" "$NPUPROF_SHARED/data/llm-pp2dp2"; do
	[[ -e $each ]] || continue
	run "$npuprof" compare -f json -q --no-stats --fail-on 'step>0%,comm>0%,compute>0%,free>0%' "$each" "$each"
	expect 'the gate is quiet' test "$status" -eq 0 -o "$status" -eq 3
	expect_equal "$(value '$.gate.result')" pass
	expect_equal "$(sqlite3 :memory: "SELECT sum(abs(value ->> 'delta_ns')) FROM json_each(readfile('$work/stdout'), '\$.waterfall')")" 0
done
