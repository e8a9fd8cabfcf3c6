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
run "$npuprof" info -q -v c
expect_exit 0
expect_stdout_lacks 'Not known'
for each in $both; do
	sqlite3 "$each" 'ALTER TABLE TASK ADD COLUMN flux INTEGER'
done
sqlite3 "$db" 'CREATE TABLE WARP_DRIVE (a INTEGER, b INTEGER)'
run "$npuprof" info c
expect_exit 0
expect_stdout_says '2 tables or columns of a newer version are not read; -v names them'
run "$npuprof" info -q -v c
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

behaviour 'copies are counted by direction, with their sizes'
run "$npuprof" info -f json c
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'rank', value ->> 'name', value ->> 'samples', value ->> 'sum' FROM json_each(readfile('$work/stdout'), '\$.counters')
	WHERE value ->> 'table' = 'MEMCPY_INFO' ORDER BY 1")" "$(for each in $both; do
	sqlite3 "$each" "SELECT (SELECT rankId FROM RANK_DEVICE_MAP), 'size ' || name, count(*), sum(size) * 1.0 FROM MEMCPY_INFO
		JOIN ENUM_MEMCPY_OPERATION ON id = memcpyOperation GROUP BY name"
done)"

# table <run> <table>
table() {
	sqlite3 "$1.out/cluster_analysis_output/cluster_analysis.db" "SELECT * FROM $2"
}

behaviour 'work of a data processing unit is what tasks of the NPU would be'
for engine in stars dpu ccu; do
	"$synth" -q -o $engine --engine $engine --ranks 4 --steps 2 --layers 2 --kernels-per-layer 3 --schedule 3d --no-analysis || exit 1
	run "$npuprof" cluster -o $engine.out $engine
	expect_exit 0
done
expect_equal "$(sqlite3 "$(echo dpu/*/*/ascend_pytorch_profiler_0.db)" 'SELECT count(*) > 0, (SELECT count(*) FROM COMMUNICATION_TASK_INFO) FROM DPU_TASK')" '1|0'
for each in ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix np_wait np_link np_comm_step; do
	expect "$each is the same" diff <(table stars $each) <(table dpu $each)
done

behaviour 'so is that of a communication engine, but for its peers; rows of operators that run at once are of none'
expect 'waits are the same' diff <(table stars np_wait) <(table ccu np_wait)
expect_equal "$(table ccu np_link | wc -l)" 0
for run in stars ccu; do
	sqlite3 $run.out/cluster_analysis_output/cluster_analysis.db "SELECT c.rank_id, c.hccl_op_name, c.transit_size, c.transit_time FROM ClusterCommunicationBandwidth c
		WHERE c.band_type = 'SDMA' AND c.hccl_op_name LIKE 'hcom_all%' ORDER BY 1, c.step, 2" >$run.bands
done
expect 'there are bandwidths' test -s ccu.bands
expect 'those of collectives that ran alone are the same' test -z "$(comm -13 <(sort stars.bands) <(sort ccu.bands))"

behaviour 'arguments may be an object, and damaged ones cost themselves'
for each in dpu/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" "UPDATE STRING_IDS SET value = (SELECT json_group_object(k.value, v.value) FROM json_each(STRING_IDS.value) AS k
		JOIN json_each(STRING_IDS.value) AS v ON v.key = k.key + 1 WHERE k.key % 2 = 0) WHERE value LIKE '[\"Thread Id%'"
done
run "$npuprof" cluster -o dpu.out dpu
expect_exit 0
expect 'operators are the same' diff <(table stars ClusterCommunicationTime) <(table dpu ClusterCommunicationTime)
for each in dpu/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" "UPDATE STRING_IDS SET value = '[\"Thread' WHERE id = (SELECT args FROM DPU_TASK ORDER BY startNs LIMIT 1)"
done
run "$npuprof" cluster -o dpu.out dpu
expect_exit 0
expect_stdout_says 'the arguments of 1 rows cannot be read'

behaviour 'without operators the engine still communicates'
for each in ccu/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" 'DELETE FROM COMMUNICATION_OP'
done
run "$npuprof" cluster -o ccu.out ccu
expect_exit 0
expect_equal "$(table ccu ClusterStepTraceTime | awk -F'|' '$2 == "rank" && $7 <= 0' | wc -l)" 0

behaviour 'OVERLAP_ANALYSIS alone gives step times'
"$synth" -q -o alone --schema 1.2 --ranks 2 --steps 3 --layers 2 --kernels-per-layer 4 --no-analysis || exit 1
run "$npuprof" cluster -o whole.out alone
for each in alone/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" 'DROP TABLE TASK; DROP TABLE COMPUTE_TASK_INFO; DROP TABLE COMMUNICATION_OP; DROP TABLE COMMUNICATION_TASK_INFO'
done
run "$npuprof" cluster -o alone.out alone
expect_exit 0
expect_stdout_says 'step times are from here'
for run in whole alone; do
	sqlite3 $run.out/cluster_analysis_output/cluster_analysis.db "SELECT \"index\", sum(communication), sum(overlapped)
		FROM ClusterStepTraceTime WHERE type = 'rank' GROUP BY 1" >$run.sums
done
expect 'communication is that of the operators' diff whole.sums alone.sums

behaviour 'a host that is busy is why its rank was idle, where calls do not tell'
"$synth" -q -o busy --ranks 4 --hosts 4 --steps 4 --layers 2 --kernels-per-layer 4 --host-gap 2:400 --no-analysis || exit 1
for each in busy/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" 'DELETE FROM CANN_API'
done
cause="SELECT value ->> 'rank', value ->> 'cause' FROM json_each(readfile('$work/stdout'), '\$.stragglers') LIMIT 1"
run "$npuprof" cluster -o busy.out -f json busy
expect_equal "$(sqlite3 :memory: "$cause")" '2|unknown'
for each in busy/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" "CREATE TABLE CPU_USAGE (timestampNs INTEGER, cpuId INTEGER, usage REAL);
		INSERT INTO CPU_USAGE SELECT 1, 0, CASE WHEN rankId = 2 THEN 97 ELSE 30 END FROM RANK_DEVICE_MAP"
done
run "$npuprof" cluster -o busy.out -f json busy
expect_equal "$(sqlite3 :memory: "$cause")" '2|host'
for each in busy/*/*/ascend_pytorch_profiler_?.db; do
	sqlite3 "$each" 'UPDATE CPU_USAGE SET usage = 95'
done
run "$npuprof" cluster -o busy.out -f json busy
expect_equal "$(sqlite3 :memory: "$cause")" '2|unknown'
