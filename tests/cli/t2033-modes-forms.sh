#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Modes say the same about every form of input, or what it lacks; of chosen ranks and steps they say what is theirs.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# make <name> <form> <option>...
make() {
	local name=$1 form=$2

	shift 2
	run "$synth" -o "$work/$name" --pp 2 --dp 2 --ep 2 --steps 2 --layers 4 --kernels-per-layer 2 --format "$form" -q "$@"
	expect_exit 0
}

modes=cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,cann_api_sum,ep_load_balance,p2p_pairing
modes=$modes,communication_time,communication_matrix

# analyse <name> <option>...: run the modes; what they put into the database, without what names communicators,
# goes to $work/<name>.dump
analyse() {
	local name=$1

	shift
	run "$npuprof" cluster -d "$work/$name" -o "$work/out" -f json "$@"
	sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" "SELECT * FROM ClusterTimeSummary;
		SELECT OpName,Count,SumNs,MedianNs FROM HcclTopOpStats; SELECT * FROM HcclPerRankStats;
		SELECT * FROM ComputeOpPerRankStatsByOpName; SELECT * FROM CannApiSum; SELECT * FROM CannApiSumRank;
		SELECT rankId,opName,startNs,endNs,opConnectionId FROM P2PPairing; SELECT * FROM SlowRank;
		SELECT rank,inputShapesSummary FROM EPTokensSummary;
		SELECT src_rank,dst_rank,op_name,round(transit_size,6),round(transit_time,6) FROM ClusterCommunicationMatrix
			WHERE hccl_op_name LIKE '%-total' ORDER BY 1,2,3,4,5" >"$work/$name.dump"
}

behaviour 'tables from text and from databases are the same, also where some ranks have one and some the other'
make db db
make text text
make mixed db --format-of 1:text --format-of 2:both
analyse db -m "$modes"
expect_exit 0
expect_no_stderr
expect "the tables must have rows" test "$(wc -l <"$work/db.dump")" -gt 300
for name in text mixed; do
	analyse $name -m "$modes"
	expect_exit 0
	expect "$name must be as db" cmp "$work/$name.dump" "$work/db.dump"
done

behaviour 'copies that text without a trace does not show are unknown, and it is said'
cp -r "$work/text" "$work/traceless"
find "$work/traceless" -name 'trace_view.json*' -delete
run "$npuprof" cluster -d "$work/traceless" -o "$work/out" -f json -m cluster_time_summary
expect_exit 3
expect_stderr_has 'cluster_time_summary: ranks 0-3: copies and free time are not known: no tasks of the device'
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	'SELECT count(*), count(free), count(memory) FROM ClusterTimeSummary')" '8|0|0'

behaviour 'forms without marks of steps say what a database without them says'
make nosteps db --no-steps
analyse nosteps -m "$modes"
for form in msprof-db msprof-text mindspore-db msmonitor; do
	make $form $form
	analyse $form -m "$modes"
	expect_exit 0
	expect "$form must be as db without steps" cmp "$work/$form.dump" "$work/nosteps.dump"
done

behaviour 'msprof does not know who shares experts, and it is said'
run "$npuprof" cluster -d "$work/msprof-db" -o "$work/out" -m ep_load_balance
expect_exit 0
expect_stderr_has 'ep_load_balance: ranks 0-3: nothing tells with whom they share experts'
expect_stdout_has 'nothing found: nothing tells which ranks share experts'

behaviour 'what Level0 lacks is said'
make level0 db --level 0
run "$npuprof" cluster -d "$work/level0" -o "$work/out" -m communication_matrix,communication_time,ep_load_balance
expect_exit 0
expect_stderr <<END
npuprof: $work/level0: communication_time: bandwidth and links: no sizes and no links (profiler_level=Level1)
npuprof: $work/level0: communication_matrix: bandwidth and links: no sizes and no links (profiler_level=Level1)
npuprof: $work/level0: ep_load_balance: no rank has GroupedMatmul kernels with recorded shapes
END
make msprof0 msprof-db --level 0
run "$npuprof" cluster -d "$work/msprof0" -o "$work/out" -m p2p_pairing -f json
expect_exit 3
expect_stderr_has 'p2p_pairing: ranks 0-3: messages of which nothing tells both ends are not listed'
make text0 text --level 0
run "$npuprof" cluster -d "$work/text0" -o "$work/out0" -m export_summary -f json
expect_exit 3
expect_stderr_has 'export_summary: ranks 0-3: no api_statistic.csv, for there are no calls of CANN'
expect_file "$work/out0/cluster_analysis_output/export_summary/rank_0/kernel_details.csv"

behaviour 'chosen ranks are analysed as if there were no others'
mkdir "$work/two"
for rank in 1 3; do
	cp -r "$(dirname "$(find "$work/db" -name "profiler_info_$rank.json")")" "$work/two"
done
analyse two -m "$modes"
analyse db -m "$modes" --ranks 1,3
expect_exit 0
expect 'chosen ranks must be as they are alone' cmp "$work/db.dump" "$work/two.dump"

behaviour 'of chosen steps every figure is theirs alone'
analyse db -m "$modes,free_analysis,computational_op_masking"
cp "$work/out/cluster_analysis_output/cluster_analysis.db" "$work/all.db"
for name in db text; do
	analyse $name -m "$modes,free_analysis,computational_op_masking" --steps 11
	expect_exit 0
	for query in 'SELECT * FROM ClusterTimeSummary WHERE step=11' \
		'SELECT * FROM ComputationalOperatorMaskingLinearity WHERE stepId=11' \
		"SELECT * FROM ClusterCommunicationTime WHERE step='step11'" \
		"SELECT * FROM ClusterCommunicationMatrix WHERE step='step11'"; do
		expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" "${query% WHERE*}")" \
			"$(sqlite3 "$work/all.db" "$query")"
	done
done
window=$(sqlite3 "$(find "$work/db" -name ascend_pytorch_profiler_2.db)" "SELECT count(*)
	FROM TASK JOIN COMPUTE_TASK_INFO USING(globalTaskId) JOIN CANN_API ON TASK.connectionId=CANN_API.connectionId
	JOIN STEP_TIME ON CANN_API.startNs>=STEP_TIME.startNs AND CANN_API.startNs<STEP_TIME.endNs WHERE STEP_TIME.id=11")
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	'SELECT sum(Count) FROM ComputeOpPerRankStatsByOpType WHERE Rank=2')" "$window"
