#!/usr/bin/env bash
# Traces of PyTorch's own profiler (Kineto), of NPUs and of GPUs: figures, names, damage.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
job=(--ranks 4 --schedule 3d --tp 2 --pp 2 --dp 1 --steps 4 --layers 4 --kernels-per-layer 4 --slow-rank 1:1.8)
"$synth" -q -o db "${job[@]}" || exit 1
"$synth" -q -o text "${job[@]}" --format text || exit 1
"$synth" -q -o npu "${job[@]}" --format kineto || exit 1
"$synth" -q -o gpu "${job[@]}" --format kineto-gpu --gzip --schema 1.2 || exit 1
"$synth" -q -o old "${job[@]}" --format kineto-gpu || exit 1

# value <path>: of the JSON on stdout
value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# figures <run>: the step times of every rank
figures() {
	rm -rf out
	"$npuprof" cluster -q -o out -d "$1" >/dev/null 2>&1
	sqlite3 out/cluster_analysis_output/cluster_analysis.db \
		"SELECT step, \"index\", computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, preparing
		FROM ClusterStepTraceTime WHERE type = 'rank' ORDER BY step, \"index\""
}

# read_json <run>: $work/stdout is what cluster says of it
read_json() {
	run "$npuprof" cluster -q -o out -f json -d "$1"
	expect_exit 0
}

# verdict: of the JSON on stdout
verdict() {
	echo "$(value '$.verdict.kind') $(value '$.verdict.what') $(value '$.stragglers[0].rank') $(value '$.trust.ops_matched')"
}

# waits: of the communicators, by step, in ns
waits() {
	sqlite3 :memory: "SELECT g.value ->> 'name', s.value ->> 'step', s.value ->> 'wait_ns' FROM json_each(readfile('$work/stdout'), '\$.communicators') AS g,
		json_each(g.value, '\$.steps') AS s ORDER BY g.value ->> 'steps' -> 0 ->> 'elapsed_ns', 2"
}

# bytes: that all operators of the JSON on stdout moved
bytes() {
	sqlite3 :memory: "SELECT sum(s.value ->> 'bytes') FROM json_each(readfile('$work/stdout'), '\$.communicators') AS g, json_each(g.value, '\$.steps') AS s"
}

figures db >db.csv
read_json db
verdict >db.verdict
waits | cut -d'|' -f2- | sort -n >db.waits
iteration=$(value '$.steps[0].ranks[0].iteration_ns')
expect 'there are figures' test -s db.csv -a -s db.waits

for form in text npu gpu old; do
	behaviour "the form $form of a run has the steps, the iteration, the waits and the verdict of its databases"
	expect 'step times are equal' diff db.csv <(figures "$form")
	read_json "$form"
	expect 'the verdict is equal' diff db.verdict <(verdict)
	expect_equal "$(value '$.steps[0].ranks[0].iteration_ns')" "$iteration"
	# By arrivals, and not by the small tasks of operators: within a hundredth.
	waits | cut -d'|' -f2- | sort -n | paste -d'|' db.waits - >both.waits
	expect_equal "$(awk -F'|' '$1 != $3 || ($2 - $4) ^ 2 > (0.01 * $2 + 5000) ^ 2' both.waits)" ''
done

behaviour 'info says what it is and what it lacks'
run "$npuprof" info -d npu
expect_exit 0
expect_stdout_says '4 ranks of 4' 'Kineto trace' 'torch_npu.profiler at Level1'
run "$npuprof" info -d gpu
expect_exit 0
expect_stdout_says 'Kineto trace of a GPU' "another tool: PyTorch's profiler records no links"
run "$npuprof" info -f json -d gpu
expect_equal "$(value '$.input.device_kind') $(value '$.ranks[0].device_kind') $(value '$.ranks[0].kind') $(value '$.input.world_size')" 'GPU GPU Kineto 4'
run "$npuprof" info -f json -d npu
expect_equal "$(value '$.input.device_kind') $(value '$.ranks[3].device') $(value '$.ranks[3].rank_from')" 'NPU 3 file'

read_json db
recorded=$(bytes)
expect 'sizes are known' test "$recorded" -gt 0
behaviour 'groups of NCCL are known with their members, sizes and ends of messages, whoever has the arguments'
for form in gpu old; do
	read_json "$form"
	expect_equal "$(sqlite3 -separator ' ' :memory: "SELECT value ->> 'pg_name', value ->> 'ranks' FROM json_each(readfile('$work/stdout'), '\$.communicators') ORDER BY 1, 2")" \
		"$(printf '%s\n' 'default_group [0,1,2,3]' 'pp [0,2]' 'pp [1,3]' 'tp [0,1]' 'tp [2,3]')"
	expect_equal "$(bytes)" "$recorded"
done

behaviour 'nothing of an NPU is advised to who has GPUs'
run "$npuprof" advisor -q -f json -d gpu
expect_exit 0
expect_equal "$(grep -cE 'HCCL|CANN|aclnn|PYTORCH_NPU|torch_npu|AI ?CPU' "$work/stdout")" 0

behaviour 'whatif repairs a rank of GPUs as one of NPUs'
run "$npuprof" whatif -q -f json --fix rank:1 -d db
saved=$(value '$.whatif[0].saved_ns')
run "$npuprof" whatif -q -f json --fix rank:1 -d gpu
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT abs($(value '$.whatif[0].saved_ns') - $saved) * 100 < $saved")" 1

traces=(npu/*.pt.trace.json)

# --- names ---------------------------------------------------------------------------------------------------------------------------

# renamed <directory> <pattern with R>: the traces of npu without their rank inside, under names of this form
renamed() {
	mkdir "$1"
	for rank in 0 1 2 3; do
		sed '/"distributedInfo"/d' "${traces[rank]}" | gzip >"$1/${2//R/$rank}"
	done
}

behaviour 'SGLang: rank and coordinates are in the names, and that is said'
renamed sglang 'run-1736410576.25-TP-R-DP-0.trace.json.gz'
echo notes >sglang/README.txt
echo '{"model": "x"}' >sglang/server_args.json
expect 'step times are equal' diff db.csv <(figures sglang)
run "$npuprof" info -f json -d sglang
expect_exit 0
expect_equal "$(value '$.ranks[2].rank') $(value '$.ranks[2].rank_from')" '2 from the name'

behaviour 'replicas of attention alone are no dimension of their own'
mkdir attention
for rank in 0 1 2 3; do
	cp "sglang/run-1736410576.25-TP-$rank-DP-0.trace.json.gz" "attention/1736410576.25-TP-$rank-DP-$((rank / 2))-EP-$rank.trace.json.gz"
done
expect 'step times are equal' diff db.csv <(figures attention)

behaviour 'traces that their names count from 0 on'
renamed counted 'trace_R.json.gz'
expect 'step times are equal' diff db.csv <(figures counted)

behaviour 'two traces that nothing tells apart get provisional numbers'
mkdir alike
cp sglang/*TP-0* alike/left.json.gz
cp sglang/*TP-1* alike/right.json.gz
run "$npuprof" info -d alike
expect_exit 3
expect_stdout_says 'provisional'

behaviour 'one trace that nothing names is rank 0'
run "$npuprof" cluster -o out alike/left.json.gz
expect_exit 0
expect_stdout_says '0 is assumed'

behaviour 'prefill and decode of SGLang are phases'
mkdir stages
for rank in 0 1; do
	cp "sglang/run-1736410576.25-TP-$rank-DP-0.trace.json.gz" "stages/7.5-TP-$rank-EXTEND.trace.json.gz"
	cp "sglang/run-1736410576.25-TP-$rank-DP-0.trace.json.gz" "stages/7.5-TP-$rank-DECODE.trace.json.gz"
done
run "$npuprof" cluster -q -o out -f json -d stages --phase DECODE
expect_exit 0
expect_equal "$(value '$.input.ranks_used')" 2

behaviour 'without step marks iterations are found'
"$synth" -q -o unmarked --ranks 2 --steps 8 --layers 2 --format kineto-gpu --no-steps || exit 1
run "$npuprof" cluster -q -o out -f json -d unmarked
expect_exit 0
expect_equal "$(value '$.steps_from.how')" period

# --- damage --------------------------------------------------------------------------------------------------------------------------

# damaged <name>: a copy of npu whose rank 1 stands in $victim
damaged() {
	cp -r npu "$1"
	victim=$1/${traces[1]#*/}
}

behaviour 'an empty trace is said, and the others are used'
damaged empty
: >"$victim"
run "$npuprof" cluster -o out -d empty
expect_exit 3
expect_stdout_says 'is empty'

behaviour 'a trace that is none is said'
damaged garbage
printf 'no trace\n%.0s' {1..99} >"$victim"
run "$npuprof" cluster -o out -d garbage
expect_exit 3
expect_stdout_says 'expected an array of events or an object'

behaviour 'compressed data that was cut'
damaged cut
gzip -c "$victim" | head -c 20000 >"$victim.gz"
rm "$victim"
run "$npuprof" cluster -o out -d cut
expect_exit 3
expect_stdout_says 'is cut short'

behaviour 'a trace that was cut says nothing against its rank'
damaged short
head -c $(($(stat -c %s "$victim") * 9 / 10)) "$victim" >short.part && mv short.part "$victim"
run "$npuprof" cluster -q -o out -f json -d short
expect_exit 3
expect_equal "$(value '$.trust.coverage[0].rank')" 1
expect_stdout_says 'verdict on rank 1'
expect_stdout_says '"share": null'
expect_stdout_says 'is cut short, and nothing tells how much is missing'

behaviour 'what looks like transfer where a rank is missing may be waiting for it'
"$synth" -q -o whole --ranks 4 --steps 4 --layers 2 --format kineto-gpu --slow-rank 2:1.8 || exit 1
run "$npuprof" cluster -q -o out -f json -d whole
expect_exit 0
expect_equal "$(value '$.verdict.kind') $(value '$.verdict.what')" 'rank 2'
expect_equal "$(value '$.verdict.text' | grep -c 'is not known')" 0
rm whole/*000002.pt.trace.json
run "$npuprof" cluster -q -o out -f json -d whole
expect_exit 0
expect_equal "$(value '$.input.ranks_used')" 3
expect_stdout_says 'how much of that is waiting for ranks that were not profiled is not known'

behaviour 'a trace of the host alone says what to switch on'
echo '{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}]}' >host.pt.trace.json
run "$npuprof" cluster host.pt.trace.json
expect_exit 1
expect_stderr_has 'activities=[CPU, CUDA]'

behaviour 'inputs are not touched and figures do not depend on threads'
before=$(cat npu/* | cksum)
"$npuprof" cluster -q -j1 -o one -f json -d npu >one.json
"$npuprof" cluster -q -j4 -o four -f json -d npu >four.json
expect 'figures are equal' diff one.json four.json
expect_equal "$(cat npu/* | cksum)" "$before"
