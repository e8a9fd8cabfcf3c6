#!/usr/bin/env bash
# npuprof info: what is there, from where, and what is missing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/c" --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --level 0 --schema 1.2 || exit 1
cd "$work" || exit 1

behaviour 'the screen lists ranks that are alike on one line, and what is missing with its switch'
run "$npuprof" info c
expect_exit 0
expect_no_stderr
expect_stdout_says 'c: 4 ranks of 4' '0-3 torch_npu db Level0 host0 10-11' 'dp' 'collective' \
	'ready: step times' 'no: bandwidth and links: no sizes and no links; collect with profiler_level=Level1' \
	'no: memory: no memory records; collect with profile_memory=True'
expect 'it fits 100 columns' test "$(wc -L <"$work/stdout")" -le 100

behaviour 'JSON has the fields of the contract'
run "$npuprof" info -f json c
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/stdout'))")" \
	'schema input steps_from ranks groups analyses counters unknown'
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.schema', json_array_length(readfile('$work/stdout'), '\$.ranks')")" \
	'npuprof.info/1|4'
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/stdout'), '\$.ranks[0]')")" \
	'rank host device device_kind kind format level versions steps bytes sources path rank_from layers'
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'ready', value ->> 'switch' FROM json_each(readfile('$work/stdout'), '\$.analyses')
	WHERE value ->> 'name' = 'bandwidth and links'")" '0|profiler_level=Level1'

behaviour 'waits are known from small tasks, or from the arrivals of all ranks'
"$synth" -q -o "$work/t" --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --format text || exit 1
rm "$work"/t/*/ASCEND_PROFILER_OUTPUT/trace_view.json
run "$npuprof" info -f csv --table analyses t
expect_stdout_has 'wait and transfer,1,,'
run "$npuprof" info -f csv --table analyses t --ranks 0-2
expect_stdout_has 'wait and transfer,0,the small tasks of operators are not there,'
run "$npuprof" cluster -d t
expect_exit 0
expect_stdout_lacks 'wait and transfer'

behaviour 'without a directory it looks here'
cd "$work/c" || exit 1
run "$npuprof" info
expect_exit 0
expect_stdout_has '.: 4 ranks of 4'

behaviour 'CSV prints a table, or writes them all'
run "$npuprof" info -f csv
expect_exit 0
expect_equal "$(cut -d, -f1-3,6,10 <"$work/stdout")" 'rank,host,device,level,steps
0,host0,0,Level0,10-11
1,host0,1,Level0,10-11
2,host0,2,Level0,10-11
3,host0,3,Level0,10-11'
run "$npuprof" info -f csv --table analyses
expect_stdout_has 'name,ready,missing,switch' 'step times,1,,' 'bandwidth and links,0,no sizes and no links,profiler_level=Level1'
run "$npuprof" info -f csv -o "$work/csv/info"
expect_exit 0
expect_no_stdout
expect_equal "$(ls "$work/csv/info")" 'analyses.csv
groups.csv
ranks.csv'
expect_equal "$(cut -d, -f3- "$work/csv/info/groups.csv")" 'pg_name,type,ranks,observed
default_group,collective,0-3,0-3
dp,collective,0-3,0-3'
run "$npuprof" info -f csv --table np_ranks
expect_exit 2
expect_stderr_has "unknown value 'np_ranks' for '--table'; did you mean 'ranks'?"

behaviour 'Markdown has the tables of the screen, and lists of its lines'
run "$npuprof" info -f md
expect_exit 0
expect_stdout_has '# .: 4 ranks of 4' '| 0-3 | torch_npu db | Level0 | host0 | 10-11 |' '- ready: step times' \
	'- no: bandwidth and links: no sizes and no links; collect with profiler_level=Level1'

behaviour 'a damaged rank is listed and the status says so'
cd "$work" || exit 1
db=$(ls c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_2.db)
cp "$db" saved.db
rm -f "$(dirname "$db")/analysis.db.bak"
mv "$(dirname "$db")/analysis.db" saved-analysis.db
truncate -s 100 "$db"
run "$npuprof" info c
expect_exit 3
expect_stdout_says 'not used: rank 2:' '3 ranks of 4'
expect_equal "$(grep -c 'ascend_pytorch_profiler_2.db' "$work/stdout")" 1
for format in csv json; do
	run "$npuprof" info c -f $format
	expect_exit 3
	expect_stderr_has 'ascend_pytorch_profiler_2.db'
	expect_equal "$(wc -l <"$work/stderr")" 1
done
cp -p saved.db "$db"
mv saved-analysis.db "$(dirname "$db")/analysis.db"

behaviour 'nothing is written'
run "$npuprof" info c
expect_equal "$(find c -name cluster_analysis_output)" ''
touch -d '@0' c/*/ASCEND_PROFILER_OUTPUT c/*/ASCEND_PROFILER_OUTPUT/* c/*/* c/* c
before=$(snapshot "$work/c")
run "$npuprof" info c
expect_equal "$(snapshot "$work/c")" "$before"
