#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The sheets of msprof-analyze's comparison: equal to its own on recorded ranks, but for what differs on purpose.
. "$(dirname "$0")/lib.sh"
need_program sqlite3
need_shared golden/compare

data=$NPUPROF_SHARED/data/resnet-2of8
golden=$NPUPROF_SHARED/golden/compare

# Without the library for workbooks beside it the program writes a csv file for each sheet.
mkdir "$work/bin"
cp "$npuprof" "$work/bin/npuprof"

# ask <columns> <golden csv> <our csv> <query>: both as tables g and o with columns c1, c2 …
ask() {
	local columns

	columns=$(seq -s, -f 'c%g' 1 "$1")
	# Rows are left out here: --skip of older shells stumbles over an empty first field.
	tail -n +4 "$2" >"$work/golden.csv"
	tail -n +2 "$3" >"$work/ours.csv"
	sqlite3 :memory: "CREATE TABLE g($columns)" "CREATE TABLE o($columns)" ".import --csv '$work/golden.csv' g" \
		".import --csv '$work/ours.csv' o" "$4"
}

# near <tolerance> <column>...: both say the same there
near() {
	local tolerance=$1 column text=1

	shift
	for column; do
		text+=" AND abs(CAST(g.c$column AS REAL) - CAST(o.c$column AS REAL)) < $tolerance"
	done
	echo "$text"
}

for pair in db/level1 text/level1; do
	case=$golden/npu_${pair/\//_}_r0_r1
	rm -rf "$work/out"
	behaviour "$pair: without libxlsxwriter there is a csv file for each sheet, status 3"
	run "$work/bin/npuprof" compare -d "$data/$pair/rank1_ascend_pt" -bp "$data/$pair/rank0_ascend_pt" -o "$work/out"
	expect_exit 3
	expect_stderr_has 'the sheets are csv files in'
	ours=$(echo "$work"/out/performance_comparison_result_*)
	expect_file "$ours/OverallMetrics.csv"

	# Traces have fractions of a nanosecond, which are dropped here.
	behaviour "$pair: every operator and sub-task is the same"
	expect_equal "$(ask 17 "$case/CommunicationCompare.csv" "$ours/CommunicationCompare.csv" "SELECT
		(SELECT count(*) FROM g), (SELECT count(*) FROM o), (SELECT count(*) FROM g JOIN o USING(c2, c3)
		WHERE $(near 0.01 4 5 6 7 8 11 12 13 14 15))")" \
		"$(awk 'END { n = NR - 3; print n "|" n "|" n }' "$case/CommunicationCompare.csv")"

	# There they are rounded to two digits.
	behaviour "$pair: every kernel is the same, whatever quotes its shapes have"
	expect_equal "$(ask 15 "$case/KernelCompare.csv" "$ours/KernelCompare.csv" "SELECT count(*) FROM g
		LEFT JOIN o ON g.c2 = o.c2 AND replace(g.c3, '\"', '') = o.c3 AND $(near 0.0051 4 7 8 9 12 13)
		WHERE o.c2 IS NULL AND g.c2 NOT LIKE 'hcom%'")" 0

	behaviour "$pair: classes of kernels have the same durations and numbers"
	expect_equal "$(ask 9 "$case/OverallMetrics.csv" "$ours/OverallMetrics.csv" "SELECT count(*) FROM g JOIN o ON ltrim(g.c1, char(9)) = ltrim(o.c1)
		WHERE (o.c1 LIKE '%Conv%' OR o.c1 LIKE '%Matmul%' OR o.c1 LIKE '%(Trans)' OR o.c1 LIKE '%Tensor Move%')
			AND $(near 1e-6 2 4 5 7)")" 11
	expect_equal "$(ask 9 "$case/OverallMetrics.csv" "$ours/OverallMetrics.csv" "SELECT count(*) FROM g JOIN o ON ltrim(g.c1, char(9)) = ltrim(o.c1)
		WHERE o.c1 IN ('Computing Time', 'Uncovered Communication Time') AND $(near 1e-6 2 5)")" 2

	behaviour "$pair: what is below a line of the sheet sums to it"
	expect_equal "$(ask 9 "$case/OverallMetrics.csv" "$ours/OverallMetrics.csv" "SELECT abs(sum(c2 * (c1 != 'E2E Time'))
		- sum(c2 * (c1 = 'E2E Time'))) < 1e-6 FROM o WHERE c1 NOT LIKE ' %'")" 1
done
