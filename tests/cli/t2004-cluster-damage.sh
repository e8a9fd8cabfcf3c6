#!/usr/bin/env bash
# Damaged, missing and odd ranks: one bad rank costs one rank, and says so.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/good" --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 || exit 1

# fresh: a copy to damage; rank <n>: its directory; db <n>: its database
fresh() {
	rm -rf "$work/c"
	cp -a "$work/good" "$work/c"
}
rank() {
	dirname "$(ls "$work"/c/*/profiler_info_"$1".json)"
}
db() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$1.db"
}

# partial <rank>: three ranks are used, the fourth is named, the inputs are untouched
partial() {
	local before

	before=$(snapshot "$work/c")
	run "$npuprof" cluster -d "$work/c" -o "$work/out"
	expect_exit 3
	expect_stdout_has "3 ranks of 4" "rank $1"
	expect_equal "$(snapshot "$work/c")" "$before"
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 3
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used',
		readfile('$work/stdout') ->> '\$.input.skipped[0].rank'")" "3|$1"
	expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
		"SELECT count(*) FROM np_skipped WHERE rank = $1; SELECT count(DISTINCT \"index\") FROM ClusterStepTraceTime")" '1
3'
}

behaviour 'a truncated rank'
fresh
rm "$(rank 2)/ASCEND_PROFILER_OUTPUT/analysis.db"
truncate -s 20000 "$(db 2)"
partial 2

behaviour 'a rank whose database is something else'
fresh
rm "$(rank 1)/ASCEND_PROFILER_OUTPUT/analysis.db"
head -c 9000 /dev/urandom >"$(db 1)"
partial 1

behaviour 'a rank with an empty file'
fresh
rm "$(rank 3)/ASCEND_PROFILER_OUTPUT/analysis.db"
: >"$(db 3)"
partial 3

behaviour 'where the screen has no room for it, what is damaged is said in one line that names the file once'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -m hccl_sum
expect_exit 3
expect_equal "$(grep -o "$(db 3)" "$work/stderr" | wc -l)" "$(grep -c "$(db 3)" "$work/stderr")"
expect_stderr_has "npuprof: rank: '$(db 3)' is empty"

behaviour 'a rank whose tables were all dropped'
fresh
rm "$(rank 0)/ASCEND_PROFILER_OUTPUT/analysis.db"
sqlite3 "$(db 0)" "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table'
	AND name NOT LIKE 'sqlite_%'" | sqlite3 "$(db 0)"
partial 0

behaviour 'a rank directory without any database'
fresh
rm "$(rank 3)"/ASCEND_PROFILER_OUTPUT/*.db
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says '3 ranks of 4' 'rank 3' 'no profile in ASCEND_PROFILER_OUTPUT'

behaviour 'a damaged rank database beside a sound analysis.db: the latter is used, and it is said'
fresh
truncate -s 20000 "$(db 2)"
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says '4 ranks of 4' 'rank 2' 'used instead: analysis.db'

behaviour 'a damaged analysis.db: its figures are derived, and it is said'
fresh
truncate -s 5000 "$(rank 2)/ASCEND_PROFILER_OUTPUT/analysis.db"
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says '4 ranks of 4' 'used instead: rank database'

behaviour 'an analysis.db whose numbers were changed: the disagreement is reported'
fresh
sqlite3 "$(rank 1)/ASCEND_PROFILER_OUTPUT/analysis.db" 'UPDATE StepTraceTime SET computing = computing * 1.5;
	UPDATE CommAnalyzerTime SET transit_time = transit_time + 1;
	UPDATE CommAnalyzerBandwidth SET transit_size = transit_size * 2;
	UPDATE CommAnalyzerMatrix SET transit_size = transit_size * 2'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says 'covers 150 % of' 'rank 1 StepTraceTime' 'rank 1 CommAnalyzerTime' 'rank 1 CommAnalyzerBandwidth' \
	'rank 1 CommAnalyzerMatrix' 'values disagree'

behaviour 'damaged metadata costs names, not the rank'
fresh
echo '{"distributed_args": {' >"$(rank 0)/profiler_metadata.json"
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says '4 ranks of 4' 'profiler_metadata'

behaviour 'rows that only a -wal file holds are read, and nothing is left beside the input'
fresh
cp "$(db 1)" "$work/wal.db"
sqlite3 "$work/wal.db" 'PRAGMA journal_mode=WAL' >/dev/null
(
	# A writer that does not get to close leaves its rows in the -wal file.
	printf '%s\n' "DELETE FROM STEP_TIME WHERE id = (SELECT min(id) FROM STEP_TIME);" \
		".shell cp '$work/wal.db' '$(db 1)'; cp '$work/wal.db-wal' '$(db 1)-wal'"
) | sqlite3 "$work/wal.db"
rm "$(rank 1)/ASCEND_PROFILER_OUTPUT/analysis.db"
before=$(snapshot "$work/c")
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
expect_equal "$(snapshot "$work/c")" "$before"
expect_equal "$(sqlite3 :memory: "SELECT json_array_length(readfile('$work/stdout'), '\$.steps[0].ranks'),
	json_array_length(readfile('$work/stdout'), '\$.steps[1].ranks')")" '3|4'

behaviour 'an empty directory fails and says what was looked for'
mkdir "$work/empty"
run "$npuprof" cluster -d "$work/empty"
expect_exit 1
expect_no_stdout
expect_stderr_has "no profiles below '$work/empty'" 'ASCEND_PROFILER_OUTPUT'
expect 'nothing was written' test -z "$(ls "$work/empty")"

behaviour 'no rank usable: failure, and the old result stays'
fresh
run "$npuprof" cluster -d "$work/c"
expect_exit 0
old=$(snapshot "$work/c/cluster_analysis_output")
for file in "$work"/c/*_ascend_pt/ASCEND_PROFILER_OUTPUT/*.db; do truncate -s 50 "$file"; done
run "$npuprof" cluster -d "$work/c"
expect_exit 1
expect_stderr_has 'none of the 4 ranks could be read'
expect_equal "$(snapshot "$work/c/cluster_analysis_output")" "$old"

behaviour 'a path that is no directory is wrong usage'
run "$npuprof" cluster -d "$work/nowhere"
expect_exit 2
expect_stderr_has "'$work/nowhere' is not a directory"
