#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The answer is printed while the merged database is written; how long the stages took; --no-db, --db-rows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
"$synth" -q -o c --no-instances --ranks 4 --layers 2 --kernels-per-layer 4 --steps 3 --slow-rank 2:1.5 || exit 1
db=cluster_analysis_output/cluster_analysis.db

behaviour 'the screen comes before the database, JSON and Markdown behind it'
mkdir -p busy/$db/held
run bash -c "'$npuprof' cluster -d c -o busy -j 2 >both 2>&1"
expect_exit 3
expect 'the screen is whole' grep -q '^Trust' both
expect 'then it is said that the database has no name' \
	test "$(grep -n '^Trust' both | cut -d: -f1)" -lt "$(grep -n 'npuprof: cannot rename' both | cut -d: -f1)"
for form in json md; do
	run bash -c "'$npuprof' cluster -d c -o busy -f $form >both 2>&1"
	expect_exit 3
	expect "it is said before $form" test "$(grep -n 'npuprof: cannot rename' both | cut -d: -f1)" = 1
done
expect_equal "$(ls busy/cluster_analysis_output)" cluster_analysis.db

behaviour 'what cannot be written at all is known before anything is printed'
: >file
run bash -c "'$npuprof' cluster -d c -o file >both 2>&1"
expect_exit 3
expect 'first of all' test "$(grep -n "npuprof: .*'file" both | cut -d: -f1)" = 1
expect 'no database is promised' test "$(grep -c 'MindStudio Insight' both)" = 0

behaviour 'who leaves in the middle of the screen still has the database'
run bash -c "'$npuprof' cluster -d c -o left | head -1"
expect_exit 0
expect_file left/$db

behaviour 'the database has the same bytes for any number of threads'
for j in 1 2 8; do
	run "$npuprof" cluster -q -d c -o j$j -j $j
	expect_exit 0
	expect "-j $j" cmp j1/$db j$j/$db
done

behaviour '--no-db writes nothing'
run "$npuprof" cluster -d c -o nowhere --no-db
expect_exit 0
expect_stdout_has Verdict 'rank 2'
expect_stdout_lacks 'MindStudio Insight'
expect 'no directory either' test ! -e nowhere

behaviour 'rows of operators above --db-rows are left out and said; what Insight reads is whole'
rows() { sqlite3 "$1/$db" "SELECT count(*) FROM $2"; }
run "$npuprof" cluster -d c -o few --db-rows 3
expect_exit 0
expect_stdout_has 'note: np_wait' 'more than --db-rows 3'
for table in np_instance np_wait; do
	expect_equal "$(rows few $table)" 0
	expect "$table is there otherwise" test "$(rows j1 $table)" -gt 3
done
for table in ClusterStepTraceTime ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix \
	CommunicationGroupMapping np_blame np_comm_step; do
	expect_equal "$(rows few $table)" "$(rows j1 $table)"
done
run "$npuprof" cluster -q -d c -o few --db-rows "$(rows j1 np_wait)"
expect_equal "$(rows few np_wait)" "$(rows j1 np_wait)"
run "$npuprof" cluster -d c --db-rows many
expect_exit 2

behaviour 'such a database is not taken for a fresh one'
run "$npuprof" cluster -q -d c
run "$npuprof" advisor -v -d c
expect_stderr_has 'are fresh'
run "$npuprof" cluster -q -d c --db-rows 3
run "$npuprof" advisor -v -d c
expect_stderr_lacks 'are fresh'

behaviour 'stages and their times are in -v, and in JSON with it; otherwise JSON does not vary'
run "$npuprof" cluster -v -d c -o out
expect_stderr_has 'time by the clock (and of all processors): discover ' ', read (' ', decode ' ', match ' ', clock ' \
	', waits ' ', root causes ' ', parts ' ', replay ' ', verdict ' ', tables ' ', print ' ', write '
of_json() { sqlite3 :memory: "SELECT $1 FROM json_each(readfile('stdout'), '\$.timings')"; }
run "$npuprof" cluster -q -d c -o out -f json
expect_equal "$(sqlite3 :memory: "SELECT json_type(readfile('stdout'), '\$.timings')")" null
run "$npuprof" cluster -q -v -d c -o out -f json
expect_equal "$(of_json "group_concat(json_extract(value, '\$.stage'))")" \
	'discover,read,decode,match,clock,waits,root causes,parts,replay,verdict,tables,write'
expect_equal "$(of_json "group_concat(CASE WHEN json_extract(value, '\$.elapsed_ns') IS NULL THEN json_extract(value, '\$.stage') END)")" read
expect_equal "$(of_json "min(json_extract(value, '\$.processor_ns')) >= 0 AND sum(json_extract(value, '\$.processor_ns')) > 0")" 1
