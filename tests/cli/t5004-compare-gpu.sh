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

# A step lasts 400 µs and the next begins 1000 µs after it: that is the iteration; the second step has none.
behaviour 'two traces: kernels by their short names, NCCL as communication, copies, exact'
run "$npuprof" compare -f json "$work/rank0.json" "$work/rank1.json"
expect_exit 0
expect_equal "$(value '$.step.base_ns') $(value '$.step.new_ns') $(value '$.step.steps_base')" '1000000 1000000 1'
expect_equal "$(leaf compute/cube/ampere_sgemm_128x64_nn base_ns)" 200000
expect_equal "$(leaf compute/cube/ampere_sgemm_128x64_nn delta_ns)" -20000
expect_equal "$(leaf compute/vector/at::native::add base_ns)" 50000
expect_equal "$(leaf memcpy base_ns)" 20000
expect_equal "$(value '$.communicators[0].name')" default_pg
expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'delta_ns') FROM json_each(readfile('$work/stdout'), '\$.waterfall')")" 0

behaviour 'a collective that does not tell the name of its group leaves it that name'
sed '/ncclDev/{/"ts":2/s/,"Process Group Description":"default_pg"//}' "$work/rank0.json" >"$work/unnamed.json"
expect_equal "$(grep -c default_pg "$work/unnamed.json")" 1
run "$npuprof" compare -f json "$work/unnamed.json" "$work/unnamed.json"
expect_exit 0
expect_equal "$(value '$.communicators[0].name')" default_pg

behaviour 'collectives of NCCL have the names of those of HCCL (deviation 7.1-7)'
run "$npuprof" compare -f json --view communication "$work/rank0.json" "$work/rank1.json"
expect_exit 0
expect_equal "$(sqlite3 -separator ' ' :memory: "SELECT value ->> 'Communication OP Name', value ->> 'Base Calls', value ->> 'Base Total Duration(us)'
	FROM json_each(readfile('$work/stdout'), '\$.views.communication')")" 'allreduce 1.0 110.0'

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

# A step of a trace with the operators of PyTorch. In µs: a product 100-200 launched by aten::mm inside aten::linear, a convolution
# 200-300 and, on the thread of gradients, its backward 300-450, a cast 450-460 without an operator; 1 MiB allocated by aten::mm and
# given back, of 8 MiB reserved. $1 is added to the product.
with_operators() {
	cat <<-END
		{"schemaVersion": 1, "traceEvents": [
		{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":900},
		{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":1,"ts":5,"dur":40},
		{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":10,"dur":30,"args":{"Input Dims":[[32, 64],[64, 16],[]],"Input type":["float","float",""],"Sequence number":1}},
		{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":12,"dur":20,"args":{"Input Dims":[[32, 64],[64, 16]],"Input type":["float","float"]}},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":14,"dur":2,"args":{"correlation":1}},
		{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":15,"args":{"Total Reserved":8388608,"Total Allocated":1048576,"Bytes":1048576,"Addr":4096,"Device Id":0,"Device Type":1}},
		{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":16,"args":{"Total Reserved":9999999,"Total Allocated":1,"Bytes":64,"Addr":4096,"Device Id":-1,"Device Type":0}},
		{"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":1,"tid":1,"ts":50,"dur":20,"args":{"Sequence number":2}},
		{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":7,"pid":1,"tid":1,"ts":50},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":55,"dur":2,"args":{"correlation":2}},
		{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":65,"args":{"Total Reserved":8388608,"Total Allocated":0,"Bytes":-1048576,"Addr":4096,"Device Id":0,"Device Type":1}},
		{"ph":"X","cat":"cpu_op","name":"aten::convolution_backward","pid":1,"tid":2,"ts":80,"dur":20,"args":{"Sequence number":2,"Fwd thread id":1}},
		{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":7,"pid":1,"tid":2,"ts":80},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":85,"dur":2,"args":{"correlation":3}},
		{"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":1,"tid":1,"ts":110,"dur":2,"args":{"correlation":4}},
		{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":100,"dur":$((100 + $1)),"args":{"device":0,"stream":7,"correlation":1}},
		{"ph":"X","cat":"kernel","name":"void implicit_convolve<float, 4>(int)","pid":0,"tid":7,"ts":$((200 + $1)),"dur":100,"args":{"device":0,"stream":7,"correlation":2}},
		{"ph":"X","cat":"kernel","name":"cudnn_wgrad_kernel(x)","pid":0,"tid":7,"ts":$((300 + $1)),"dur":150,"args":{"device":0,"stream":7,"correlation":3}},
		{"ph":"X","cat":"kernel","name":"cast_kernel","pid":0,"tid":7,"ts":$((450 + $1)),"dur":10,"args":{"device":0,"stream":7,"correlation":4}}
		]}
	END
}
with_operators 0 >"$work/ops0.json"
with_operators 20 >"$work/ops1.json"

# view <name> <column>... <condition>: of the view's rows
view() {
	sqlite3 -separator ' ' :memory: "SELECT $2 FROM json_each(readfile('$work/stdout'), '\$.views.$1') WHERE $3"
}

behaviour 'kernels of a GPU are of the class of the operator that launched them, and effects are told'
run "$npuprof" compare -f json --view kernel,api,operator,module,memory "$work/ops0.json" "$work/ops1.json"
expect_exit 0
expect_equal "$(leaf compute/matmul/ampere_sgemm_128x64_nn base_ns) $(leaf compute/matmul/ampere_sgemm_128x64_nn delta_ns)" '100000 20000'
expect_equal "$(leaf compute/conv_forward/implicit_convolve base_ns)" 100000
expect_equal "$(leaf compute/conv_backward/cudnn_wgrad_kernel base_ns)" 150000
expect_equal "$(leaf compute/vector/cast_kernel base_ns)" 10000
expect_equal "$(value '$.causes[0].what')" ampere_sgemm_128x64_nn
expect_equal "$(value '$.memory[0].component') $(value '$.memory[0].base_bytes')" 'PTA 8388608'

behaviour 'views of a GPU trace: operators with their kernels, host times, modules, allocations'
expect_equal "$(view kernel "value ->> 'Base Total Duration(us)', value ->> 'Comparison Total Duration(us)', value ->> 'Base Calls'" \
	"value ->> 'Kernel' = 'ampere_sgemm_128x64_nn'")" '100.0 120.0 1.0'
expect_equal "$(view operator "value ->> 'Base Device Duration(ms)', value ->> 'Comparison Device Duration(ms)'" \
	"value ->> 'Operator Name' = 'aten::linear'")" '0.1 0.12'
expect_equal "$(view api "value ->> 'Base Total Duration(ms)', value ->> 'Base Self Time(ms)'" "value ->> 'api name' = 'aten::linear'")" '0.03 0.01'
expect_equal "$(view module "value ->> 'Module Name'" "value ->> 'Operator Name' = 'aten::linear'")" Linear_0
expect_equal "$(view memory "value ->> 'Base Allocated Memory(MB)', value ->> 'Base Operator Number'" "value ->> 'Operator Name' = 'aten::mm'")" '1.0 1.0'
run "$npuprof" compare -f csv --table operator_detail "$work/ops0.json" "$work/ops1.json"
expect_exit 0
expect_stdout_has 'aten::linear,"32,64;64,16;",float;float;'

behaviour 'a GPU against an NPU: classes that operators tell are compared with each other'
run "$npuprof" compare "$work/ops0.json" "$work/npu"
expect_exit 0
expect_stdout_says 'one run is of a GPU' 'by the operators that launched them' 'compute/matmul/' 'compute/vector/'

behaviour 'a truncated trace of a GPU gives what there is of it'
head -c "$(($(stat -c %s "$work/rank0.json") * 7 / 10))" "$work/rank0.json" >"$work/cut.json"
run "$npuprof" compare "$work/rank0.json" "$work/cut.json"
expect_exit 3
expect_stdout_says 'it ends before its array does'

behaviour 'a trace without kernels says what to switch on'
echo '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"x","ts":1,"dur":1,"pid":1,"tid":1}]}' >"$work/empty.json"
run "$npuprof" compare "$work/rank0.json" "$work/empty.json"
expect_exit 1
