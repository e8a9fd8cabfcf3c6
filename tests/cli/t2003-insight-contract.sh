#!/usr/bin/env bash
# What MindStudio Insight needs of cluster_analysis.db, checked on the file.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

run "$synth" -o "$work/c" --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --micro-batches 2 --steps 2 \
	--layers 4 --kernels-per-layer 4
expect_exit 0
run "$npuprof" cluster -d "$work/c"
expect_exit 0
db=$work/c/cluster_analysis_output/cluster_analysis.db

# declared <table>: its columns with their types
declared() {
	sqlite3 "$db" "SELECT group_concat(name || ' ' || type, ',') FROM pragma_table_info('$1')"
}

behaviour 'every table is there with its columns and types'
expect_equal "$(declared ClusterStepTraceTime)" \
	'step TEXT,type TEXT,index TEXT,computing NUMERIC,communication_not_overlapped NUMERIC,overlapped NUMERIC,communication NUMERIC,free NUMERIC,stage NUMERIC,bubble NUMERIC,communication_not_overlapped_and_exclude_receive NUMERIC,preparing NUMERIC,dp_index INTEGER,pp_index INTEGER,tp_index INTEGER'
expect_equal "$(declared ClusterCommunicationTime)" \
	'step TEXT,rank_id INTEGER,hccl_op_name TEXT,group_name TEXT,start_timestamp REAL,elapsed_time REAL,transit_time REAL,wait_time REAL,synchronization_time REAL,idle_time REAL,synchronization_time_ratio REAL,wait_time_ratio REAL'
expect_equal "$(declared ClusterCommunicationBandwidth)" \
	'step TEXT,rank_id INTEGER,hccl_op_name TEXT,group_name TEXT,band_type TEXT,transit_size REAL,transit_time REAL,bandwidth REAL,large_packet_ratio REAL,package_size REAL,count INTEGER,total_duration REAL'
expect_equal "$(declared ClusterCommunicationMatrix)" \
	'step TEXT,hccl_op_name TEXT,group_name TEXT,src_rank REAL,dst_rank REAL,transit_size REAL,transit_time REAL,bandwidth REAL,transport_type TEXT,op_name TEXT'
expect_equal "$(declared CommunicationGroupMapping)" \
	'type TEXT,rank_set TEXT,group_name TEXT,group_id TEXT,pg_name TEXT'
expect_equal "$(declared ClusterBaseInfo)" 'key TEXT,value TEXT'
expect_equal "$(declared HostInfo)" 'hostUid TEXT,hostName TEXT'
expect_equal "$(declared RankDeviceMap)" 'rankId INTEGER,deviceId INTEGER,hostUid TEXT,profilePath TEXT'

# none <sql condition> <table>: no row of the table meets it, and there are rows
none() {
	expect_equal "$(sqlite3 "$db" "SELECT count(*) > 0, coalesce(sum($1), 0) FROM $2")" '1|0'
}

behaviour 'step times: rows of ranks and stages, steps without prefix, ranks as text'
none "type NOT IN ('rank', 'stage')" ClusterStepTraceTime
none "step LIKE 'step%' OR typeof(step) <> 'text' OR typeof(\"index\") <> 'text'" ClusterStepTraceTime
none 'preparing IS NULL' ClusterStepTraceTime
expect_equal "$(sqlite3 "$db" "SELECT group_concat(DISTINCT \"index\") FROM ClusterStepTraceTime WHERE type = 'stage'")" \
	'(0,1,2,3),(4,5,6,7)'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM ClusterStepTraceTime WHERE type = 'rank'
	AND (tp_index <> \"index\" % 2 OR pp_index <> \"index\" / 4 OR dp_index <> \"index\" / 2 % 2)")" 0

for table in ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix; do
	behaviour "$table: steps with prefix, hashes as text, reals as reals"
	none "step NOT LIKE 'step1_' OR typeof(step) <> 'text' OR typeof(group_name) <> 'text'" $table
	none "typeof(transit_time) <> 'real'" $table
done
none "typeof(elapsed_time) <> 'real' OR typeof(wait_time) <> 'real'" ClusterCommunicationTime
none "typeof(src_rank) <> 'real' OR typeof(dst_rank) <> 'real'" ClusterCommunicationMatrix

behaviour 'communication time has one total of start 0 for each step, rank and communicator'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM (SELECT step, rank_id, group_name FROM ClusterCommunicationTime
	WHERE hccl_op_name <> 'Total Op Info' EXCEPT SELECT step, rank_id, group_name FROM ClusterCommunicationTime
	WHERE hccl_op_name = 'Total Op Info' AND start_timestamp = 0)")" 0
expect_equal "$(sqlite3 "$db" "SELECT max(n) FROM (SELECT count(*) n FROM ClusterCommunicationTime
	WHERE hccl_op_name = 'Total Op Info' GROUP BY step, rank_id, group_name)")" 1
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM
	(SELECT step, rank_id, group_name, sum(elapsed_time) e FROM ClusterCommunicationTime
	WHERE hccl_op_name <> 'Total Op Info' GROUP BY 1, 2, 3) JOIN ClusterCommunicationTime t
	USING (step, rank_id, group_name) WHERE t.hccl_op_name = 'Total Op Info' AND abs(e - t.elapsed_time) > 1e-9")" 0

behaviour 'bandwidth has totals, and no NULL where the chart breaks'
none 'package_size IS NULL OR count IS NULL OR total_duration IS NULL' ClusterCommunicationBandwidth
none "typeof(count) <> 'integer'" ClusterCommunicationBandwidth
expect_equal "$(sqlite3 "$db" "SELECT count(*) > 0 FROM ClusterCommunicationBandwidth WHERE hccl_op_name = 'Total Op Info'")" 1

behaviour 'the matrix has global ranks and the names of picks'
none "hccl_op_name NOT GLOB '*-top1' AND hccl_op_name NOT GLOB '*-middle' AND hccl_op_name NOT GLOB '*-bottom[123]'
	AND hccl_op_name NOT GLOB '*-total' AND hccl_op_name <> 'Total Op Info'" ClusterCommunicationMatrix
none 'src_rank NOT BETWEEN 0 AND 7 OR dst_rank NOT BETWEEN 0 AND 7' ClusterCommunicationMatrix

behaviour 'picks of equal operators are those of the profiler: in their order, the tenth behind the ninth'
run "$synth" -o "$work/even" --ranks 2 --steps 4 --noise 0 --layers 4 --kernels-per-layer 2
expect_exit 0
run "$npuprof" cluster -d "$work/even"
expect_exit 0
for analysis in "$work"/even/*/*/analysis.db; do
	expect_equal "$(sqlite3 "$work/even/cluster_analysis_output/cluster_analysis.db" "ATTACH '$analysis' AS a" \
		"SELECT count(*), sum(m.op_name IS p.op_name) = count(*), sum(p.op_name GLOB '*_9_1') > 0 FROM
		a.CommAnalyzerMatrix p JOIN ClusterCommunicationMatrix m USING (step, hccl_op_name, group_name)
		WHERE m.src_rank = p.src_rank AND m.dst_rank = p.dst_rank AND p.op_name <> ''")" '64|1|1'
done

behaviour 'communicators are listed once, with ascending members, and never without a pg_name column'
expect_equal "$(sqlite3 "$db" 'SELECT count(*) = count(DISTINCT group_name) FROM CommunicationGroupMapping')" 1
none "rank_set NOT LIKE '(%)' OR rank_set LIKE '% %' OR pg_name IS NULL" CommunicationGroupMapping
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM CommunicationGroupMapping WHERE pg_name = 'pp' AND type = 'p2p'")" 4

behaviour 'the sizes of the parallel dimensions are complete'
expect_equal "$(sqlite3 "$db" "SELECT json_type(value, '\$.sequence_parallel') IN ('true', 'false'),
	value ->> 'tensor_model_parallel_size', value ->> 'pipeline_model_parallel_size', value ->> 'data_parallel_size',
	value ->> 'context_parallel_size', value ->> 'expert_model_parallel_size', value ->> 'world_size'
	FROM ClusterBaseInfo WHERE key = 'distributed_args'")" '1|2|2|2|1|1|8'

behaviour 'the file is a plain database that a viewer may write to'
expect_equal "$(sqlite3 "$db" 'PRAGMA user_version; PRAGMA journal_mode; PRAGMA integrity_check')" '0
delete
ok'
expect 'it is writable' test -w "$db"

behaviour 'without the sizes, ClusterBaseInfo is left out: an empty one would mean a cluster of size 0'
for metadata in "$work"/c/*/profiler_metadata.json; do echo '{}' >"$metadata"; done
for rank in "$work"/c/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
	sqlite3 "$rank" "DELETE FROM META_DATA WHERE name = 'distributed_args'"
done
run "$npuprof" cluster -d "$work/c"
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM sqlite_master WHERE name = 'ClusterBaseInfo'")" 0

behaviour 'a mode fills its own tables; the others are there and empty'
run "$npuprof" cluster -d "$work/c" -m communication_time
expect_exit 0
expect_equal "$(sqlite3 "$db" 'SELECT (SELECT count(*) > 0 FROM ClusterCommunicationTime),
	(SELECT count(*) > 0 FROM ClusterCommunicationBandwidth), (SELECT count(*) FROM ClusterCommunicationMatrix)')" '1|1|0'
run "$npuprof" cluster -d "$work/c" -m communication_matrix
expect_equal "$(sqlite3 "$db" 'SELECT (SELECT count(*) FROM ClusterCommunicationTime),
	(SELECT count(*) FROM ClusterCommunicationBandwidth), (SELECT count(*) > 0 FROM ClusterCommunicationMatrix)')" '0|0|1'
