#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One card, and one process with several devices: where the time of a device goes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

small=(-q --no-instances --ranks 1 --layers 2 --kernels-per-layer 4 --steps 3 --pmu)
cd "$work" || exit 1
"$synth" -o db "${small[@]}" || exit 1
"$synth" -o text "${small[@]}" --format text || exit 1

# device_time <run>: its kernels by type, shape and unit, from JSON
device_time() {
	run "$npuprof" cluster -q "$1" -o out -f json
	expect_exit 0
	sqlite3 :memory: "SELECT value ->> 'type', value ->> 'shapes', value ->> 'core', value ->> 'count', value ->> 'total_ns',
		value ->> 'bound', round(value ->> '\$.busy.mte2', 3) FROM json_each(readfile('$work/stdout'), '\$.device_time.sorts')"
}

behaviour 'kernels by type and shape, the same from a database and from text'
device_time db >db.kernels
device_time text >text.kernels
expect 'there are some' test -s db.kernels
expect 'they are the same' diff db.kernels text.kernels
expect 'a unit bounds them' grep -q '|cube|' db.kernels

behaviour 'they sum to the kernels of the file that lie in steps'
total=$(awk -F '|' '{ sum += $5 } END { print sum }' db.kernels)
expect_equal "$total" "$(sqlite3 db/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db \
	'SELECT sum(endNs - startNs) FROM TASK t JOIN COMPUTE_TASK_INFO c USING (globalTaskId)')"

behaviour 'the screen has them, and says why the device is idle'
run "$npuprof" cluster -q db -o out
expect_exit 0
expect_stdout_has '1 rank of 1' 'Where the iteration goes' 'Where the device time goes: kernels by type and shape' 'bound by' 'cube 78 %'
expect_stdout_lacks 'communication operators' 'ranks and'

behaviour 'two devices of one process: a step is the mean of them, and never their sum'
run "$npuprof" cluster -q db -o out -f json
one=$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.breakdown.step_ns', readfile('$work/stdout') ->> '\$.device_time.per_step_ns'")
cp -r db two
sqlite3 two/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db "
	INSERT INTO TASK SELECT startNs, endNs, 1, connectionId, globalTaskId + 100000, globalPid, taskType, contextId, streamId, taskId, modelId
		FROM TASK;
	INSERT INTO COMPUTE_TASK_INFO SELECT name, globalTaskId + 100000, blockDim, mixBlockDim, taskType, opType, inputFormats,
		inputDataTypes, inputShapes, outputFormats, outputDataTypes, outputShapes, attrInfo FROM COMPUTE_TASK_INFO;"
rm two/*/ASCEND_PROFILER_OUTPUT/analysis.db
run "$npuprof" cluster -q two -o out -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.breakdown.step_ns', readfile('$work/stdout') ->> '\$.device_time.per_step_ns'")" "$one"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.breakdown.devices'")" 2
run "$npuprof" cluster -q two -o out
expect_stdout_has '1 rank of 1, 2 devices' 'the mean of 2 devices and 2 steps'
expect_stdout_lacks 'computed longest'

behaviour 'without counters the unit is not known, and it is said how to get them'
"$synth" -o bare -q --no-instances --ranks 1 --layers 2 --kernels-per-layer 4 --steps 2 || exit 1
run "$npuprof" cluster -q bare -o out
expect_stdout_says 'which unit bounds them is not known: collect with aic_metrics=PipeUtilization'

behaviour 'ranks that talk to each other are compared, and not looked at one by one'
"$synth" -o four -q --no-instances --ranks 4 --layers 2 --kernels-per-layer 4 --steps 2 || exit 1
run "$npuprof" cluster -q four -o out -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') -> '\$.device_time'")" null

[[ -e ${NPUPROF_SHARED:-/nowhere}/data/helix ]] || exit 0
# the files' own totals: type, count and µs of op_statistic
behaviour 'recorded single cards: the sums are those of op_statistic'
for form in standalone msprof; do
	run "$npuprof" cluster -q "$NPUPROF_SHARED/data/helix/$form" -o out -f json
	expect_exit 0
	expect_equal "$(sqlite3 :memory: "SELECT value ->> 'type', sum(value ->> 'count'), sum(value ->> 'total_ns')
		FROM json_each(readfile('$work/stdout'), '\$.device_time.sorts') GROUP BY 1 ORDER BY 1")" \
		"$(awk -F , -v OFS='|' 'NR > 1 { print $2, $4, $5 * 1000 }' "$NPUPROF_SHARED/data/helix/$form"/*/op_statistic*.csv | sort)"
done

behaviour 'a recorded card that waits for its host: 888.42 us of kernels in ten steps, idle the rest'
run "$npuprof" cluster -q "$NPUPROF_SHARED/data/helix/standalone" -o out
expect_stdout_says 'one rank: there is nobody to compare it with; the device computes 23 % of the time and is idle 77 %' \
	'most of that because the host had not launched' 'mte2 91 %: reads memory'
