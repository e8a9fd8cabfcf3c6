#!/usr/bin/env bash
# Traces of GPUs: a file, a compressed one, a directory of ranks, and against an NPU.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

leaf() {
	sqlite3 :memory: "SELECT value ->> '$2' FROM json_each(readfile('$work/stdout'), '\$.waterfall') WHERE value ->> 'leaf' = '$1'"
}

# Two steps of one rank. In µs from the first kernel of a step: a matrix product 0-100, another kernel 100-150, an
# all-reduce 140-250, a copy 260-280, the product again 300-400. $1 is its duration.
trace() {
	local step from

	echo '{"schemaVersion": 1, "traceEvents": ['
	for step in 1 2; do
		from=$((step * 1000))
		cat <<-END
			{"ph":"X","cat":"user_annotation","name":"ProfilerStep#$step","pid":1,"tid":1,"ts":$from.0,"dur":900.0},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":$((from + 10)),"dur":5,"args":{"correlation":${step}1}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":$((from + 20)),"dur":5,"args":{"correlation":${step}2}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":$((from + 30)),"dur":5,"args":{"correlation":${step}3}},
			{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":$((from + 100)),"dur":$1,"args":{"device":0,"stream":7,"correlation":${step}1}},
			{"ph":"X","cat":"kernel","name":"void at::native::add<4, float>(int)","pid":0,"tid":7,"ts":$((from + 200)),"dur":50,"args":{"device":0,"stream":7,"correlation":${step}2}},
			{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":20,"ts":$((from + 240)),"dur":110,"args":{"device":0,"stream":20,"correlation":${step}2,"Process Group Name":"0","Process Group Description":"default_pg"}},
			{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":$((from + 360)),"dur":20,"args":{"device":0,"stream":7,"correlation":${step}3}},
			{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":$((from + 400)),"dur":100,"args":{"device":0,"stream":7,"correlation":${step}1}}$([[ $step == 2 ]] || echo ,)
		END
	done
	echo ']}'
}

trace 100 >"$work/rank0.json"
trace 80 >"$work/rank1.json"
mkdir "$work/base" "$work/new"
cp "$work/rank0.json" "$work/base/rank0.json"
cp "$work/rank0.json" "$work/base/rank1.json"
cp "$work/rank0.json" "$work/new/rank0.json"
gzip -c "$work/rank1.json" >"$work/new/rank1.json.gz"

behaviour 'two traces: kernels by their short names, NCCL as communication, copies, exact'
run "$npuprof" compare -f json "$work/rank0.json" "$work/rank1.json"
expect_exit 0
expect_equal "$(value '$.step.base_ns') $(value '$.step.new_ns') $(value '$.step.steps_base')" '400000 400000 2'
expect_equal "$(leaf compute/cube/ampere_sgemm_128x64_nn base_ns)" 200000
expect_equal "$(leaf compute/cube/ampere_sgemm_128x64_nn delta_ns)" -20000
expect_equal "$(leaf compute/vector/at::native::add base_ns)" 50000
expect_equal "$(leaf memcpy base_ns)" 20000
expect_equal "$(value '$.communicators[0].name')" default_pg
expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'delta_ns') FROM json_each(readfile('$work/stdout'), '\$.waterfall')")" 0

behaviour 'directories with a trace for each rank, compressed or not'
run "$npuprof" compare -f json "$work/base" "$work/new"
expect_exit 0
expect_equal "$(value '$.base.ranks_used') $(value '$.ranks[1].base_rank')" '2 1'
# Half of the ranks spend 20 µs less in each step.
expect_equal "$(leaf compute/cube/ampere_sgemm_128x64_nn delta_ns)" -10000

behaviour 'steps of GPU traces can be chosen'
run "$npuprof" compare -f json --base-steps 2 --new-steps 1 "$work/rank0.json" "$work/rank1.json"
expect_exit 0
expect_equal "$(value '$.base.steps[0]') $(value '$.step.steps_base')" '2 1'

behaviour 'a GPU against an NPU is compared by the unit that kernels use, and that is said'
"$synth" -q -o "$work/npu" --ranks 1 --dp 1 --steps 2 --layers 1 --no-instances || exit 1
run "$npuprof" compare "$work/rank0.json" "$work/npu"
expect_exit 0
expect_stdout_says 'one run is of a GPU' 'compute/cube/' 'compute/vector/'

behaviour 'a trace without kernels says what to switch on'
echo '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"x","ts":1,"dur":1,"pid":1,"tid":1}]}' >"$work/empty.json"
run "$npuprof" compare "$work/rank0.json" "$work/empty.json"
expect_exit 1
