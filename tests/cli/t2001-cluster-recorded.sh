#!/usr/bin/env bash
# The recorded profiles against the figures that the vendor's tool gives for them.
# Where that tool is known to be wrong, the right value stands here with the reason.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_shared data/resnet-2of8
need_program sqlite3

data=$NPUPROF_SHARED/data
golden=$NPUPROF_SHARED/golden/cluster
before=$(snapshot "$data")

# merge <name> <directory>: run npuprof, then put the golden tables (g) beside ours (o)
merge() {
	run "$npuprof" cluster -d "$data/$2" -o "$work/$1"
	expect_exit 0
	ours=$work/$1/cluster_analysis_output/cluster_analysis.db
	expect_file "$ours"
	theirs=$work/$1.golden.db
	sqlite3 "$theirs" <"$golden/$3/cluster_analysis_output/cluster_analysis.db.sql"
}

# query <sql>: the answer over both databases
query() {
	sqlite3 "$ours" "ATTACH '$theirs' AS g" "$1"
}

# differing <table> <key columns> <value columns> <tolerance>: rows of theirs that ours lack or differ from
differing() {
	local on='' values='' column

	for column in $2; do on="$on AND o.$column IS t.$column"; done
	for column in $3; do
		values="$values OR abs(coalesce(o.$column, 1e99) - t.$column) > $4"
	done
	query "SELECT count(*) FROM g.$1 t LEFT JOIN main.$1 o ON 1 $on
		WHERE o.rowid IS NULL ${values}"
}

times='computing communication_not_overlapped overlapped communication free stage bubble
	communication_not_overlapped_and_exclude_receive preparing'
op_times='elapsed_time transit_time wait_time synchronization_time idle_time'
# A figure of theirs is a sum of doubles of fractions of a nanosecond, ours of whole ones.
rounding_ms=1e-5

for level in level0 level1; do
	merge "$level" "resnet-2of8/db/$level" "db_${level}_all"

	behaviour "step times of $level are equal to the nanosecond"
	expect_equal "$(differing ClusterStepTraceTime 'step type "index"' "$times" 0.0005)" 0
	expect_equal "$(query 'SELECT count(*) FROM main.ClusterStepTraceTime')" 2

	behaviour 'unknown places in the parallel dimensions are NULL, where theirs are 0 like real ones'
	expect_equal "$(query 'SELECT count(*) FROM main.ClusterStepTraceTime
		WHERE coalesce(dp_index, pp_index, tp_index) IS NOT NULL')" 0

	behaviour "hosts and devices of $level are equal"
	expect_equal "$(query 'SELECT count(*) FROM (SELECT * FROM g.HostInfo EXCEPT SELECT * FROM main.HostInfo)')" 0
	expect_equal "$(query 'SELECT count(*) FROM (SELECT rankId, deviceId, hostUid FROM g.RankDeviceMap
		EXCEPT SELECT rankId, deviceId, hostUid FROM main.RankDeviceMap)')" 0
	expect_stdout_lacks 'disagree'
done

behaviour 'times of operators and their totals are equal at Level1'
keys='step rank_id hccl_op_name group_name'
expect_equal "$(differing ClusterCommunicationTime "$keys" "$op_times" $rounding_ms)" 0
expect_equal "$(query 'SELECT count(*) FROM main.ClusterCommunicationTime')" 10

behaviour 'ratios of totals are equal, and those of single operators are not 0 as theirs'
expect_equal "$(query "SELECT count(*) FROM g.ClusterCommunicationTime t JOIN main.ClusterCommunicationTime o
	USING (step, rank_id, hccl_op_name, group_name) WHERE hccl_op_name = 'Total Op Info'
	AND (t.wait_time_ratio <> o.wait_time_ratio
	OR t.synchronization_time_ratio <> o.synchronization_time_ratio)")" 0
expect_equal "$(query "SELECT wait_time_ratio FROM main.ClusterCommunicationTime
	WHERE hccl_op_name = 'hcom_allReduce__210_0_1' AND rank_id = 0")" 0.9398

behaviour 'starts are those of the operator table: theirs are off by a constant of each rank'
expect_equal "$(query "SELECT max(abs(t.start_timestamp - o.start_timestamp)) < 22
	FROM g.ClusterCommunicationTime t JOIN main.ClusterCommunicationTime o
	USING (step, rank_id, hccl_op_name, group_name)")" 1

behaviour 'bandwidth is equal by operator, transport and packet size'
expect_equal "$(query "SELECT count(*), sum(abs(t.transit_size - o.transit_size) < 1e-9),
	sum(abs(t.transit_time - o.transit_time) < $rounding_ms), sum(abs(t.bandwidth - o.bandwidth) < 2e-4),
	sum(t.count = o.count), sum(abs(t.total_duration - o.total_duration) < $rounding_ms)
	FROM g.ClusterCommunicationBandwidth t JOIN main.ClusterCommunicationBandwidth o
	USING (step, rank_id, hccl_op_name, group_name, band_type)
	WHERE abs(t.package_size - o.package_size) < 1e-9")" '42|42|42|42|42|42'

behaviour 'links between profiled ranks are equal'
expect_equal "$(differing ClusterCommunicationMatrix 'step hccl_op_name group_name src_rank dst_rank' \
	'transit_size transit_time' $rounding_ms)" 0

behaviour 'links to ranks that were not profiled are named, for the communicator is of all; theirs are lost'
expect_equal "$(query "SELECT count(*), min(src_rank >= 0), count(DISTINCT dst_rank), min(dst_rank), max(dst_rank)
	FROM main.ClusterCommunicationMatrix
	WHERE hccl_op_name = 'Total Op Info' AND dst_rank > 1")" '12|1|6|2.0|7.0'

behaviour 'the communicator has its name, which theirs lacks'
expect_equal "$(query 'SELECT type, rank_set, group_name, group_id FROM main.CommunicationGroupMapping')" \
	'collective|(0,1)|17148521525495523210|90.91.105.46%enp189s0f0_60000_0_1736410538306028'

behaviour 'wait and transit from the small tasks add up to the elapsed time'
expect_equal "$(query 'SELECT elapsed_ns, wait_ns, transit_ns, ops, estimator FROM np_comm_step')" \
	'200698290|192083057|8615233|8|tasks'

behaviour 'kernels by type, calls by function and peaks of memory are those of the database'
expect_equal "$(query "SELECT op_type, core_type, sum(count), sum(total_ns) FROM np_kernel_type
	GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 3")" 'ForeachAddList|AI_VECTOR_CORE|6|3899856
TransData|AI_VECTOR_CORE|114|2816071
MatMulV2|AI_CORE|16|1934539'
expect_equal "$(query 'SELECT name, sum(total_ns), sum(count) FROM np_call GROUP BY 1 ORDER BY 2 DESC LIMIT 2')" \
	'aclrtSynchronizeStreamWithTimeout|176370460|14
aclopCompileAndExecute|41754010|38'
expect_equal "$(query "SELECT peak_bytes, reserved_bytes FROM np_memory WHERE rank = 0 AND component = 'PTA'")" \
	'1245688832|1522532352'

merge llm llm-pp2dp2 st4db_all
behaviour 'analysis.db alone gives steps, stages (which theirs lack) and places'
expect_equal "$(differing ClusterStepTraceTime 'step type "index"' "$times dp_index pp_index tp_index" 0.0005)" 0
expect_equal "$(query "SELECT \"index\", computing, communication_not_overlapped, free FROM main.ClusterStepTraceTime
	WHERE type = 'stage'")" '(0,1)|231290.1|441708.38|158558
(2,3)|401131.7|277649.66|147520.2'

behaviour 'operators, bandwidth and links of analysis.db are equal'
expect_equal "$(differing ClusterCommunicationTime "$keys" "$op_times" $rounding_ms)" 0
expect_equal "$(query 'SELECT count(*) FROM main.ClusterCommunicationBandwidth')" \
	"$(query 'SELECT count(*) FROM g.ClusterCommunicationBandwidth')"
expect_equal "$(query "SELECT count(*), sum(abs(t.transit_size - o.transit_size) < 1e-6),
	sum(abs(t.transit_time - o.transit_time) < $rounding_ms)
	FROM g.ClusterCommunicationMatrix t JOIN main.ClusterCommunicationMatrix o
	USING (step, group_name, src_rank, dst_rank, hccl_op_name)
	WHERE hccl_op_name = 'Total Op Info'")" '51|51|51'

behaviour 'reduceScatter is a class of its own; theirs files it under reduce'
expect_equal "$(query "SELECT count(*) FROM g.ClusterCommunicationMatrix WHERE hccl_op_name LIKE 'reduce-%'")" \
	"$(query "SELECT count(*) FROM main.ClusterCommunicationMatrix WHERE hccl_op_name LIKE 'reducescatter-%'")"
expect_equal "$(query "SELECT count(*) FROM main.ClusterCommunicationMatrix WHERE hccl_op_name LIKE 'reduce-%'")" 0

behaviour 'names of communicators come from profiler_metadata.json, which theirs ignores'
expect_equal "$(query "SELECT group_id, pg_name, rank_set FROM main.CommunicationGroupMapping
	WHERE group_name = '3985310405473756128'")" 'group_name_19|pp|(0,2)'
expect_equal "$(query 'SELECT value FROM main.ClusterBaseInfo')" "$(query 'SELECT value FROM g.ClusterBaseInfo')"

# waited <group> <rank>: ms that the rank waited in a communicator, in tenths
waited() {
	query "SELECT round(sum(wait_ns) / 1e6, 1) FROM np_wait w JOIN np_instance i ON i.id = w.instance
		WHERE group_name = '$1' AND rank = $2"
}

behaviour 'waits come from the matched instances, where theirs say 158.5 and 0.8, 164.1 and 0.8 ms'
expect_equal "$(waited 3985310405473756128 0) $(waited 3985310405473756128 2)" '312.1 71.0'
expect_equal "$(waited 3985310499963036764 1) $(waited 3985310499963036764 3)" '321.3 73.3'
expect_equal "$(query "SELECT count(*), sum(wait_ns + transit_ns = elapsed_ns), group_concat(DISTINCT estimator)
	FROM np_comm_step")" '12|12|aligned'
expect_stdout_says '76 of 76 communication operators matched over ranks'

behaviour 'the recorded profiles are as they were'
expect_equal "$(snapshot "$data")" "$before"
