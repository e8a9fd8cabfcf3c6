#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Modes that live on marks of mstx: a DualPipeV schedule, pass by pass; marks in text profiles.
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

behaviour 'a rank that does not say which schedule it followed keeps plain names, and it is said'
cp "$(database_of 0)" "$work/with.db"
sqlite3 "$(database_of 0)" "DELETE FROM META_DATA WHERE name='pp_info'"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_stderr_has 'pp_chart: rank 0: DualPipeV is not in their metadata as in that of others (pp_info)'
cp "$work/with.db" "$(database_of 0)"

behaviour 'without the parallel sizes the stage is not known, and it is said'
for rank in 0 1; do
	sqlite3 "$(database_of $rank)" "DELETE FROM META_DATA WHERE name IN ('distributed_args','parallel_group_info')"
done
find "$work/run" -name profiler_metadata.json -delete
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_stderr_has 'pp_chart: ranks 0-1: DualPipeV, but their stage is not known'

# --- text: marks are in the trace, in a lane named like the process, with arrows to the device -----------------------
run "$synth" -o "$work/text" --ranks 1 --steps 1 --layers 1 --kernels-per-layer 2 --format text -q
trace=$(find "$work/text" -name trace_view.json)
ts=$(sed -n 's/.*"name": *"ProfilerStep#10"[^}]*"ts": *"\([0-9.]*\)".*/\1/p' "$trace" | head -1)
step=${ts/./}
device=$(sed -n 's/.*"process_name", *"pid": *\([0-9]*\),.*"Ascend Hardware".*/\1/p' "$trace" | head -1)
host=$((device - 7 * 32))

# us <ns after the begin of the step>
us() {
	local time=$((step + $1))

	echo "${time:0:-3}.${time: -3}"
}

# mark <type> <message> <host offset> <length>: without a task
mark() {
	printf ',{"name":"%s","pid":%s,"tid":7,"ts":"%s","dur":%s.%03d,"ph":"X","args":{"event_type":"%s"}}\n' \
		"$2" "$host" "$(us "$3")" $(($4 / 1000)) $(($4 % 1000)) "$1"
}

# arrow <phase> <process> <thread> <offset> <id>
arrow() {
	printf ',{"name":"MsTx_%s","pid":%s,"tid":%s,"ph":"%s","cat":"MsTx","id":"%s","ts":"%s"}\n' \
		"$5" "$2" "$3" "$1" "$5" "$(us "$4")"
}

# mark_with_task <type> <message> <host offset> <length> <device offset> <device length>
mark_with_task() {
	id=$((id + 1))
	mark "$1" "$2" "$3" "$4"
	arrow s "$host" 7 "$3" $((4000000000 + id))
	printf ',{"name":"%s","pid":%s,"tid":77,"ts":"%s","dur":%s.%03d,"ph":"X","args":{"Physic Stream Id":77,"Task Id":%s}}\n' \
		"$2" "$device" "$(us "$5")" $(($6 / 1000)) $(($6 % 1000)) "$id"
	arrow f "$device" 77 "$5" $((4000000000 + id))
}

# frame <category> <name> <thread> <offset> <length>: a call of the framework
frame() {
	printf ',{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":%s,"ts":"%s","dur":%s.%03d,"args":{}}\n' \
		"$1" "$2" "$3" "$(us "$4")" $(($5 / 1000)) $(($5 % 1000))
}

# queue <offset> <offset of the mark>: the framework's call for a mark, which another thread takes out of the queue
queue() {
	frame cpu_op mstx_mark_op 5 "$1" 300
	frame enqueue Enqueue 5 $(($1 + 100)) 100
	frame dequeue Dequeue@mstx_mark_op 7 $(($2 - 20)) 50
	printf ',{"ph":"s","cat":"async_task_queue","id":%s,"pid":1,"tid":5,"ts":"%s"}\n' "99$1" "$(us $(($1 + 100)))"
	printf ',{"ph":"f","cat":"async_task_queue","id":%s,"pid":1,"tid":7,"ts":"%s"}\n' "99$1" "$(us $(($2 - 20)))"
}

id=0
{
	sed '$ s/][[:space:]]*$//' "$trace"
	queue 200 1000
	queue 1900 3000
	mark_with_task marker_ex load_start 1000 0 1500 0
	mark_with_task marker_ex load_stop 3000 0 4750 0
	mark_with_task start/end outer 5000 9000 6000 9500
	mark_with_task push/pop inner 6000 2000 7000 1234
	mark start/end 'host alone' 6500 400
	mark marker 'a point' 6100 0
	at=20000
	for message in forward_step forward_step backward_step forward_step backward_step forward_backward_overlaping \
		backward_step backward_step backward_step; do
		mark_with_task start/end "{'name': '$message'}" $at 100 $((at + 1000)) 800
		at=$((at + 1000))
	done
	printf ',{"name":"process_name","pid":%s,"tid":0,"ph":"M","args":{"name":"python3"}}]\n' "$host"
} >"$work/trace" && mv "$work/trace" "$trace"

behaviour 'marks of a text profile are measured in the framework, on the host and on the device'
run "$npuprof" cluster -d "$work/text" -o "$work/out" -m mstx_sum -f json
expect_exit 0
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	"SELECT Name,FrameworkDurationNs,CannDurationNs,DeviceDurationNs,StepId FROM MSTXMarkStats
	WHERE Name NOT LIKE '{%'")" 'outer||9000|9500|10
load|1700|2000|3250|10
outer::inner||2000|1234|10'

behaviour 'it does not matter where in the trace the arrows are'
cp "$trace" "$work/trace"
{
	echo '['
	grep '"cat":"MsTx"' "$work/trace" | sed 's/^,//; s/$/,/'
	grep -v '"cat":"MsTx"' "$work/trace" | sed '1 s/^[[:space:]]*\[//'
} >"$trace"
cp "$work/out/cluster_analysis_output/cluster_analysis.db" "$work/merged.db"
run "$npuprof" cluster -d "$work/text" -o "$work/out" -m mstx_sum -f json
expect_exit 0
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" 'SELECT * FROM MSTXMarkStats')" \
	"$(sqlite3 "$work/merged.db" 'SELECT * FROM MSTXMarkStats')"
cp "$work/trace" "$trace"

behaviour 'the passes of a text profile are numbered by a schedule that the metadata has as text'
metadata=$(find "$work/text" -name profiler_metadata.json)
printf '{"distributed_args":{"tensor_model_parallel_size":1,"pipeline_model_parallel_size":1,"data_parallel_size":1,
"context_parallel_size":1,"expert_model_parallel_size":1,"rank":0,"world_size":1},
"pp_info":"{\\"pp_type\\": \\"dualpipev\\", \\"microbatch_num\\": 2}"}' >"$metadata"
run "$npuprof" cluster -d "$work/text" -o "$work/out" -m pp_chart -f json
expect_exit 0
expect_no_stderr
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
	"SELECT group_concat(name||':'||type||':'||((startNs-$step-21000)/1000)||':'||(endNs-startNs),' ') FROM StepTaskInfo")" \
	'0:1:0:800 2:1:1:800 logits:3:2:800 1F:3:3:800 2B:3:4:800 3F+0B:3:5:800 logits:5:6:800 3B:5:7:800 1B:6:8:800'

behaviour 'text without a trace has no marks, and it is said where they are'
rm "$trace"
run "$npuprof" cluster -d "$work/text" -o "$work/out" -m mstx_sum -f json
expect_exit 3
expect_stderr_has 'mstx_sum: not for rank 0: no mstx marks (switch on mstx; of text the trace has them)'
