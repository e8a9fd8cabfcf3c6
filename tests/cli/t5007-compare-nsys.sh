#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A database of Nsight Systems is what a trace of the same GPU is; damaged ones cost one line.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# database <file>: two steps; in each a product inside a module, an all-reduce, and a copy. Times are ns.
database() {
	sqlite3 "$1" <<'SQL'
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING'), (3, 'cudaLaunchKernel'),
	(4, 'aten::mm, op_id = 5'), (5, 'Linear');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
	demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
SQL
	for step in 0 1; do
		t=$((1000000 * (step + 1)))
		sqlite3 "$1" "INSERT INTO NVTX_EVENTS VALUES ($t, $t + 900000, 59, 'ProfilerStep#$step', NULL, 7),
			($t + 1000, $t + 40000, 59, NULL, 5, 7), ($t + 2000, $t + 30000, 59, NULL, 4, 7),
			($t + 500, $t + 500, 34, 'a mark', NULL, 7);
			INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ($t + 3000, $t + 4000, 7, $step * 10 + 1, 3),
			($t + 50000, $t + 51000, 7, $step * 10 + 2, 3), ($t + 60000, $t + 61000, 7, $step * 10 + 3, 3);
			INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ($t + 100000, $t + 400000, 0, 7, $step * 10 + 1, 1, 1),
			($t + 400000, $t + 600000, 0, 9, $step * 10 + 2, 2, 2);
			INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ($t + 600000, $t + 620000, 0, 7, $step * 10 + 3)"
	done
}

# trace <file>: the same as Kineto writes it, in µs
trace() {
	local step t

	{
		echo '{"traceEvents": ['
		for step in 0 1; do
			t=$((1000 * (step + 1)))
			cat <<EVENTS
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#$step", "pid": 1, "tid": 7, "ts": $t, "dur": 900},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 7, "ts": $((t + 2)), "dur": 28},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 7, "ts": $((t + 3)), "dur": 1, "args": {"correlation": $((step * 10 + 1))}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 7, "ts": $((t + 50)), "dur": 1, "args": {"correlation": $((step * 10 + 2))}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 7, "ts": $((t + 60)), "dur": 1, "args": {"correlation": $((step * 10 + 3))}},
{"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64", "pid": 0, "tid": 7, "ts": $((t + 100)), "dur": 300, "args": {"device": 0, "stream": 7, "correlation": $((step * 10 + 1))}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING", "pid": 0, "tid": 9, "ts": $((t + 400)), "dur": 200, "args": {"device": 0, "stream": 9, "correlation": $((step * 10 + 2))}},
{"ph": "X", "cat": "gpu_memcpy", "name": "copy", "pid": 0, "tid": 7, "ts": $((t + 600)), "dur": 20, "args": {"device": 0, "stream": 7, "correlation": $((step * 10 + 3))}},
EVENTS
		done
		echo '{"ph": "M", "name": "end"}]}'
	} >"$1"
}

mkdir "$work/in"
database "$work/in/gpu.sqlite"
trace "$work/in/gpu.json"
before=$(snapshot "$work/in")

value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

behaviour 'the database and the trace of one capture are the same'
run "$npuprof" compare -q -f json "$work/in/gpu.json" "$work/in/gpu.sqlite" --view operator,kernel
expect_exit 0
expect_equal "$(value '$.step.delta_ns') $(value '$.step.base_ns')" '0 1000000'
expect_equal "$(sqlite3 :memory: "SELECT count(*), sum(value ->> 'delta_ns' != 0) FROM
	json_each(readfile('$work/stdout'), '\$.waterfall')")" "$(sqlite3 :memory: "SELECT count(*) || '|0' FROM
	json_each(readfile('$work/stdout'), '\$.waterfall')")"
expect 'the product is known by its operator' grep -q '"compute/matmul/ampere_sgemm_128x64"' "$work/stdout"

behaviour 'ranges of NVTX that are no operators are modules'
run "$npuprof" compare -q -f csv --table module "$work/in/gpu.sqlite" "$work/in/gpu.sqlite"
expect_stdout_has 'Linear,[ TOTAL ],0.3,' 'Linear,aten::mm,0.3,'

behaviour 'it is the base of a comparison with an NPU'
"$synth" -o "$work/npu" --ranks 1 --steps 2 --layers 2 --kernels-per-layer 2 --format db -q || exit 1
run "$npuprof" compare -q -f json "$work/in/gpu.sqlite" "$work/npu"
expect 'it is compared' test "$status" = 0 -o "$status" = 3
expect_equal "$(value '$.step.base_ns')" 1000000
run "$npuprof" cluster -m calibrate_npu_gpu -d "$work/npu" --baseline_profiling_path "$work/in/gpu.sqlite" -o "$work/out"
expect 'the mode is that comparison' test "$status" = 0 -o "$status" = 3
if [[ -e $NPUPROF_BUILD/libnpuprof_xlsx.so ]]; then
	expect_equal "$(find "$work/out" -name 'performance_comparison_result_*.xlsx' | wc -l)" 1
fi

behaviour 'a job that ran on GPUs is read rank by rank, and is what it is on NPUs'
size=(--dp 2 --steps 3 --layers 2 --kernels-per-layer 2 -q)
"$synth" -o "$work/gpus" --format nsys "${size[@]}" && "$synth" -o "$work/npus" --format db "${size[@]}" || exit 1
run "$npuprof" compare -q -f json "$work/gpus" "$work/npus"
expect 'it is compared' test "$status" = 0 -o "$status" = 3
expect_equal "$(value '$.step.delta_ns') $(value '$.base.ranks_used') $(value '$.step.steps_base')" '0 2 2'
expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'base_ns') = sum(value ->> 'new_ns') FROM
	json_each(readfile('$work/stdout'), '\$.waterfall') WHERE value ->> 'leaf' LIKE 'compute/%'")" 1

# damaged <name> <what it says>: compared with a good one
damaged() {
	run timeout 20 "$npuprof" compare -q "$work/$1" "$work/in/gpu.sqlite"
	expect "$1 is refused in one line" test "$status" = 1 -o "$status" = 2
	expect_stderr_has "$2"
}

behaviour 'what is damaged or another database is refused'
: >"$work/empty.sqlite"
damaged empty.sqlite 'is no profile'
head -c 3000 "$work/in/gpu.sqlite" >"$work/cut.sqlite"
damaged cut.sqlite cut.sqlite
sqlite3 "$work/other.sqlite" 'CREATE TABLE x(y)'
damaged other.sqlite 'no database of Nsight Systems'
cp "$work/in/gpu.sqlite" "$work/nokernel.sqlite"
sqlite3 "$work/nokernel.sqlite" 'DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY'
damaged nokernel.sqlite 'has no kernels'
cp "$work/in/gpu.sqlite" "$work/nocolumn.sqlite"
sqlite3 "$work/nocolumn.sqlite" 'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN start TO begin'
damaged nocolumn.sqlite start

behaviour 'rows that cannot be are left out, and tables that are not there are no failure'
cp "$work/in/gpu.sqlite" "$work/odd.sqlite"
sqlite3 "$work/odd.sqlite" "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', 5, 0, 0, 0, 1, 1), (9, 5, 0, 0, 0, 1, 1), (NULL, NULL, NULL, NULL, NULL, NULL,
	NULL), (5, 9223372036854775807, 0, 0, 0, 99, 99)"
run timeout 20 "$npuprof" compare -q "$work/odd.sqlite" "$work/odd.sqlite"
expect 'the rest is used' test "$status" = 0 -o "$status" = 3

behaviour 'inputs are untouched'
expect_equal "$(snapshot "$work/in")" "$before"
