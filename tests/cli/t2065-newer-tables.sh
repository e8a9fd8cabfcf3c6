#!/usr/bin/env bash
# Tables and columns of newer versions: what is known feeds analyses, what is not is named.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/c" --ranks 2 --steps 2 --layers 2 --kernels-per-layer 4 || exit 1
cd "$work" || exit 1
db=$(echo c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db)
both=$(echo c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_?.db)

behaviour 'tables and columns that nobody knows are counted, named with -v, and change no status'
run "$npuprof" info -v c
expect_exit 0
expect_stdout_lacks 'Not known'
for each in $both; do
	sqlite3 "$each" 'ALTER TABLE TASK ADD COLUMN flux INTEGER'
done
sqlite3 "$db" 'CREATE TABLE WARP_DRIVE (a INTEGER, b INTEGER)'
run "$npuprof" info c
expect_exit 0
expect_stdout_says '2 tables or columns of a newer version are not read; -v names them'
run "$npuprof" info -v c
expect_exit 0
expect_no_stderr
expect_stdout_says 'column TASK.flux: rank 0-1' 'table WARP_DRIVE: rank 1'
run "$npuprof" info -f json c
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'table' || ' ' || coalesce(value ->> 'column', '') || ' ' || (value ->> 'ranks'), '; ')
	FROM json_each(readfile('$work/stdout'), '\$.unknown')")" 'TASK flux 0-1; WARP_DRIVE  1'

behaviour 'counters of ports are in info, and advise'
sqlite3 "$db" "CREATE TABLE NETDEV_STATS (deviceId INTEGER, timestampNs INTEGER, roceNewPktRty INTEGER, roceTxPkt INTEGER);
	INSERT INTO NETDEV_STATS VALUES (1, 1, 40, 1000), (1, 2, 2, 1000);
	CREATE TABLE CPU_USAGE (timestampNs INTEGER, cpuId INTEGER, usage REAL);
	INSERT INTO CPU_USAGE VALUES (1, 0, 100), (2, 0, 50)"
run "$npuprof" info c
expect_exit 0
expect_stdout_says 'NETDEV_STATS roceNewPktRty sum 42 42 1' 'CPU_USAGE usage mean 75 75 1'
run "$npuprof" info -f json c
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'rank', value ->> 'device', value ->> 'sum' FROM json_each(readfile('$work/stdout'), '\$.counters')
	WHERE value ->> 'name' = 'roceNewPktRty'")" '1|1|42.0'
run "$npuprof" advisor -d c --rule comm.port-errors
expect_stdout_says '42 packets again' 'most on rank 1'

behaviour 'a cache keeps both'
run "$npuprof" info -v --cache "$work/cache" c
cp "$work/stdout" "$work/first"
run "$npuprof" info -v --cache "$work/cache" c
expect 'the same is said of what was kept' cmp -s "$work/stdout" "$work/first"

behaviour 'sizes that were not recorded are no bandwidth of 0'
for each in $both; do
	sqlite3 "$each" 'UPDATE COMMUNICATION_TASK_INFO SET size = 0'
done
rm c/*/ASCEND_PROFILER_OUTPUT/analysis.db
run "$npuprof" cluster -d c -o out
expect_exit 0
expect_equal "$(sqlite3 out/cluster_analysis_output/cluster_analysis.db \
	'SELECT count(*) FROM ClusterCommunicationBandwidth WHERE bandwidth = 0 AND transit_time > 0;
	SELECT count(*) FROM ClusterCommunicationMatrix WHERE bandwidth = 0')" "$(printf '0\n0')"
run "$npuprof" info c
expect_stdout_says 'no: bandwidth and links'
