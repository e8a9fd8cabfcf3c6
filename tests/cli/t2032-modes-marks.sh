#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Modes that live on marks of mstx: a DualPipeV schedule, pass by pass.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

run "$synth" -o "$work/run" --ranks 2 --pp 2 --dp 1 --steps 2 --layers 2 --kernels-per-layer 2 -q

# What each stage of two runs with four micro-batches, in order, and the phase that it belongs to. The numbers are
# those of the schedule: 0-3 go down the stages, 4-7 are the same batches on their way back.
stage0='0:0 1:0 2:1 4:1 logits:2 4b:2 4w:2 5:2 logits:3 3F+5B:3 6F+0B:3 logits:4 6B:4 7F+1B:4 logits:5 7B:5 2B:6 3B:6'
stage1='0:1 4:1 1:1 5:1 2F:3 4B:3 6F+0B:3 3F+5B:3 7F+1B:3 6B:5 2B:5 7B:6 3B:6'

# message_of <label>: what the marks around the framework's functions say
message_of() {
	case $1 in
	*F+*) echo '{"name": "forward_backward_overlaping"}' ;;
	*w) echo '{"name": "WeightGradStore.pop"}' ;;
	logits | *[bB]) echo '{"name": "Backward_step", "current_microbatch": 1}' ;;
	*) echo '{"name": "forward_step_with_model_graph", "current_microbatch": 1}' ;;
	esac
}

database_of() {
	find "$work/run" -name "ascend_pytorch_profiler_$1.db"
}

# add_range <message> <host offset> <device offset> <length>: a range in every step, with its task
add_range() {
	id=$((id + 1))
	echo "INSERT INTO STRING_IDS VALUES(900000+$id,'$1');
		INSERT INTO MSTX_EVENTS SELECT startNs+$2,startNs+$2+$4,2,$id,0,900000+$id,9,9,65535,4000000000+1000*id+$id
			FROM STEP_TIME;
		INSERT INTO TASK(startNs,endNs,deviceId,connectionId,globalTaskId,taskType,streamId)
			SELECT startNs+$3,startNs+$3+$4,(SELECT deviceId FROM RANK_DEVICE_MAP),4000000000+1000*id+$id,900000+1000*id+$id,0,77 FROM STEP_TIME;"
}

# add_passes <rank> <labels>: a range for each, with another inside of every third, and what the table must say
add_passes() {
	local at=0 label step start

	id=0
	{
		echo 'CREATE TABLE MSTX_EVENTS (startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,
			category INTEGER,message INTEGER,globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,
			connectionId INTEGER); BEGIN;'
		for label in $2; do
			at=$((at + 10000))
			add_range "$(message_of "${label%:*}")" $((at - 5000)) "$at" 8000
			((at % 30000)) || add_range '{"name": "forward_step_no_model_graph"}' $((at - 4000)) $((at + 1000)) 2000
		done
		echo 'COMMIT;'
	} | sqlite3 "$(database_of "$1")"
	for step in 10 11; do
		start=$(sqlite3 "$(database_of "$1")" "SELECT startNs FROM STEP_TIME WHERE id=$step")
		at=0
		for label in $2; do
			at=$((at + 10000))
			echo "$1,${label%:*},$((start + at)),$((start + at + 8000)),${label#*:}"
		done
	done >>"$work/expected"
}

echo rankId,name,startNs,endNs,type >"$work/expected"
add_passes 0 "$stage0"
add_passes 1 "$stage1"

behaviour 'without a schedule that is known, passes are forward or backward'
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_no_stderr
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	'SELECT rankId,name,type,count(*) FROM StepTaskInfo GROUP BY 1,2,3 ORDER BY 1,2')" '0|BP|1|20
0|FP|0|28
1|BP|1|10
1|FP|0|24'

# The framework writes what it is given as text as text, of which the database then has the JSON.
for rank in 0 1; do
	sqlite3 "$(database_of $rank)" "INSERT INTO META_DATA VALUES('pp_info',
		'\"{\\\"pp_type\\\": \\\"DualPipeV\\\", \\\"microbatch_num\\\": 4}\"')"
done

behaviour 'every pass of a DualPipeV schedule has the number of its micro-batch and its phase'
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_no_stderr
cp "$work/out/cluster_analysis_output/cluster_analysis.db" "$work/merged.db"
run sqlite3 -csv -header "$work/merged.db" 'SELECT * FROM StepTaskInfo'
tr -d '\r' <"$work/stdout" >"$work/plain" && mv "$work/plain" "$work/stdout"
expect_stdout <"$work/expected"

behaviour 'a step with another number of passes keeps plain names, and it is said'
sqlite3 "$(database_of 1)" 'DELETE FROM MSTX_EVENTS WHERE startNs=(SELECT max(startNs) FROM MSTX_EVENTS)'
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_stderr_has 'pp_chart: rank 1: steps with more or fewer passes than DualPipeV has: these are not numbered'
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	"SELECT count(*) FROM StepTaskInfo WHERE rankId=1 AND name IN ('FP','BP')")" 12

behaviour 'without the parallel sizes the stage is not known, and it is said'
for rank in 0 1; do
	sqlite3 "$(database_of $rank)" "DELETE FROM META_DATA WHERE name IN ('distributed_args','parallel_group_info')"
done
find "$work/run" -name profiler_metadata.json -delete
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_stderr_has 'pp_chart: ranks 0-1: DualPipeV, but their stage is not known'
