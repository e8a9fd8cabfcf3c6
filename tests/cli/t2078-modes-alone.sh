#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A mode alone reads and computes what it needs, and adds its tables to a fresh database.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
"$synth" -q -o run --no-instances --ranks 4 --layers 2 --kernels-per-layer 4 --steps 2 --slow-rank 1:1.4 || exit 1
db=out/cluster_analysis_output/cluster_analysis.db
before=$(snapshot run)
modes='hccl_sum slow_rank cann_api_sum compute_op_sum cluster_time_summary free_analysis'

behaviour 'a mode alone shows the same as with everything else'
for mode in $modes; do
	rm -rf out
	run "$npuprof" cluster -q run -o out -m "$mode" # no database is there: all of it
	cp stdout "$mode.all"
	cp stderr "$mode.err"
	run "$npuprof" cluster -q run -m "$mode" --no-db
	expect_exit 0
	expect_stdout <"$mode.all"
	expect_stderr <"$mode.err"
done

behaviour 'only what it needs is done'
run "$npuprof" cluster -v run -m hccl_sum --no-db
expect_stderr_has 'match ' 'tables '
expect_stderr_lacks ' waits ' ' root causes ' ' replay '
run "$npuprof" cluster -v run -m cluster_time_summary --no-db
expect_stderr_has 'match ' 'tables '
expect_stderr_lacks ' waits ' ' root causes ' ' replay '
run "$npuprof" cluster -v run -m free_analysis --no-db
expect_stderr_has 'match ' ' waits ' 'tables '
expect_stderr_lacks ' root causes ' ' replay '

behaviour 'copies are known from the one pass over the tasks as from their details'
"$synth" -q -o copies --no-instances --ranks 4 --steps 4 --micro-batches 2 --schedule pp --pp 2 --between 300 --host-gap 1:200 \
	--dataloader all:400 || exit 1
for which in run copies; do
	rm -rf out out2
	run "$npuprof" cluster -q $which -o out -m cluster_time_summary
	run "$npuprof" cluster -q $which -o out2
	run "$npuprof" cluster -v $which -o out2 -m cluster_time_summary
	expect_stderr_lacks ' waits '
	for each in out out2; do sqlite3 $each/cluster_analysis_output/cluster_analysis.db 'SELECT * FROM ClusterTimeSummary' >$each.rows; done
	expect 'some rows' test -s out.rows
	expect 'the same' cmp out.rows out2.rows
done

behaviour 'a mode alone reads little'
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	bytes() { strace -f -e trace=pread64 -o trace "$npuprof" cluster -q run -j 1 "$@" >/dev/null 2>&1; awk '{ sum += $NF } END { print sum }' trace; }
	expect 'hccl_sum reads less than half of the bytes' test $((2 * $(bytes -m hccl_sum --no-db))) -lt "$(bytes --no-db)"
	expect 'cluster_time_summary reads no more than all' test "$(bytes -m cluster_time_summary --no-db)" -le "$(bytes --no-db)"
fi

behaviour 'without a fresh database it writes the tables of all beside its own'
rm -rf out
run "$npuprof" cluster -q run -o out -m hccl_sum
rows() { sqlite3 $db "SELECT count(*) FROM $1"; }
expect 'its own' test "$(rows HcclPerRankStats)" -gt 0
expect 'those of all' test "$(rows ClusterStepTraceTime)" -gt 0

behaviour 'in a fresh one only its own tables change'
rm -rf out
run "$npuprof" cluster -q run -o out
sqlite3 $db .dump >before.sql
run "$npuprof" cluster -v run -o out -m hccl_sum,slow_rank --top-num 1
expect_exit 0
expect_stderr_lacks ' replay '
expect_equal "$(rows HcclTopOpStats)" 1
run "$npuprof" cluster -q run -o out -m hccl_sum
expect 'a table is written again' test "$(rows HcclTopOpStats)" -gt 1
sqlite3 $db .dump | grep -v 'Hccl\|Slow' >after.sql
expect 'all else is as it was' cmp before.sql after.sql
expect_equal "$(sqlite3 $db 'PRAGMA integrity_check')" ok
expect_equal "$(ls out/cluster_analysis_output)" cluster_analysis.db

behaviour 'a database of other files, ranks, steps or another program is not fresh'
for change in "UPDATE np_run_info SET value='x' WHERE key='input_fingerprint'" \
	"UPDATE np_run_info SET value='0.0.1' WHERE key='npuprof_version'" \
	"UPDATE np_run_info SET value='1' WHERE key='steps_chosen'" \
	"UPDATE np_run_info SET value='3' WHERE key='ranks_used'" \
	'DELETE FROM np_run_info' 'DROP TABLE np_run_info'; do
	run "$npuprof" cluster -q run -o out
	sqlite3 $db "$change"
	run "$npuprof" cluster -v run -o out -m hccl_sum
	expect_exit 0
	expect_stderr_has ' replay '
done
echo 'no database' >$db
run "$npuprof" cluster -v run -o out -m hccl_sum
expect_exit 0
expect_stderr_has ' replay '

behaviour 'what asks for more gets it'
run "$npuprof" cluster -q run -o out
for more in '-f json' '-f csv -o out' '--table np_step' '-m hccl_sum,communication_time'; do
	# shellcheck disable=SC2086
	run "$npuprof" cluster -v run -o out -m hccl_sum $more
	expect_exit 0
	expect_stderr_has ' replay '
done
run "$npuprof" cluster -v run -o out -m hccl_sum --steps 10
expect_exit 0
expect_stderr_has ' replay '
run "$npuprof" cluster -v run --no-db -m hccl_sum --steps 10
expect_stderr_has ' waits '
expect_stderr_lacks ' replay '

behaviour 'the same bytes for any number of threads'
for mode in hccl_sum slow_rank cann_api_sum; do
	for j in 1 8; do
		run "$npuprof" cluster -q run --no-db -m $mode -j $j
		expect_stdout <$mode.all
	done
done

behaviour 'a rank that cannot be read for its operators alone is read as a whole, and says what is wrong'
cp -r run bad
sqlite3 "$(find bad -name 'ascend_pytorch_profiler_2.db')" 'DROP TABLE COMMUNICATION_OP'
run "$npuprof" cluster -q bad -o out2 -m hccl_sum
cp stdout all
cp stderr all.err
run "$npuprof" cluster -q bad --no-db -m hccl_sum
expect_stdout <all
expect_stderr <all.err
expect_equal "$(snapshot run)" "$before"
