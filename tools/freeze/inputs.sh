#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the inputs of tools/freeze.sh: runs of every form and level, with every kind of fault planted,
# damaged and odd ones, raw data, traces of a GPU, rules. Nothing in them depends on when and where.
#
#	inputs.sh BUILD DIR
set -eu

build=$1
tests=$(cd "$(dirname "$0")/../../tests/cli" && pwd)
cd "$2"
export LC_ALL=C.UTF-8 TZ=UTC
# shellcheck source=../../tests/cli/raw.sh
. "$tests/raw.sh"

# synth <name> <option>...: a small run in <name>; options may be given again
synth() {
	local name=$1

	shift
	"$build/npuprof-synth" -q -o "$name" --steps 2 --layers 2 --kernels-per-layer 4 --no-instances "$@"
}

# The modes that there are, for the cases.
"$build/npuprof" cluster . -m nothing 2>&1 | sed -n 's/.*it is one of //p' | sed 's/ or /,/; s/ //g; s/^all,//' | tr ',' '\n' >modes
[[ -s modes ]]

# --- forms ------------------------------------------------------------------------------------------

synth db --ranks 4 --slow-rank 2:1.4
synth text --ranks 4 --slow-rank 2:1.4 --format text --memory
synth both --schedule 3d --ranks 4 --slow-rank 2:1.4 --format both
for form in msprof-db msprof-text mindspore-db mindspore-text msmonitor; do
	synth "$form" --pp 2 --dp 2 --ranks 4 --slow-rank 2:1.4 --format "$form"
done
synth msprof-slices --ranks 2 --format msprof-text --slices 3 --no-rank-id
synth mixed --ranks 5 --format db --format-of 1:text --format-of 2:msprof-db --format-of 3:mindspore-text --format-of 4:msprof-text
synth gzip --ranks 2 --format text --gzip
synth unclosed --ranks 2 --format text --unclosed-trace
for level in 0 2; do
	synth "level$level" --ranks 4 --level $level
	synth "level$level-text" --ranks 4 --level $level --format text
	synth "level$level-msprof" --ranks 2 --level $level --format msprof-db
done
synth schema --ranks 4 --schema 1.2 --pmu --memory --hosts 2
synth schema-text --ranks 4 --schema 1.2 --memory --format text
synth schema-level0 --ranks 2 --schema 1.2 --level 0
synth no-analysis --ranks 4 --no-analysis
synth no-steps --ranks 2 --no-steps
synth no-steps-text --ranks 2 --no-steps --format text
synth missing --ranks 8 --omit-ranks 3,5-6
synth missing-text --ranks 8 --omit-ranks 3,5-6 --format text
synth single --ranks 1 --steps 1

# --- planted faults, one kind each ------------------------------------------------------------------

synth sound --ranks 8 --hosts 2 --steps 4 --seed 3
synth slow --ranks 8 --hosts 2 --steps 4 --seed 4 --slow-rank 5:1.5 --clock-skew host1:5ms --manifest
synth skew --ranks 8 --hosts 2 --clock-skew host1:120s --clock-skew 1:-250us:20
synth skew-text --ranks 4 --hosts 2 --clock-skew host1:120s --format text
synth stage --schedule pp --ranks 4 --pp 4 --layers 4 --slow-stage 1:1.5 --steps 3
synth pipeline --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --layers 4 --micro-batches 2
synth pipeline-batch --schedule pp --ranks 4 --pp 4 --layers 4 --p2p batch --no-steps
synth pipeline-text --schedule pp --ranks 4 --pp 4 --layers 4 --format text
synth experts --schedule ep --ranks 8 --expert-skew 0.8
synth experts-text --schedule ep --ranks 4 --expert-skew 0.8 --format text
synth context --ranks 8 --cp 2 --tp 2 --grads scatter
synth sequences --ranks 4 --steps 4 --seq-imbalance 0.5
synth link --ranks 8 --slow-link 2-3:4
synth link-text --ranks 8 --slow-link 2-3:4 --format text
synth sender --ranks 8 --hosts 2 --slow-sender 3:4
synth receiver --ranks 8 --slow-receiver 3:4
synth gaps --ranks 4 --steps 3 --host-gap 2:800
synth dropped --ranks 4 --drop-ops 1:3 --shift-ordinals 2:2
synth cut --ranks 4 --truncate 2:0.6
synth kernels --ranks 4 --slow-type MatMulV2:2 --extra-casts 2 --reshape 2 --shapes 4
synth casts --ranks 4 --extra-casts 2 --memory
synth memory --ranks 4 --steps 4 --memory --leak 1:50000000
synth memory-text --ranks 2 --steps 4 --memory --leak 1:50000000 --format text
synth wide --ranks 16 --tp 4 --pp 2 --hosts 2 --layers 4 --slow-rank 11:1.5
synth plain --ranks 4 --noise 0

# --- damaged: each is a copy of a sound run, and one rank of it is hurt -----------------------------

# fresh <name> [run]: a copy to damage, $run; rank, file, db, analysis: places in it
fresh() {
	run=$1
	cp -a "${2:-db}" "$run"
}
rank() {
	dirname "$(ls "$run"/*/profiler_info_"$1".json)"
}
file() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/$2"
}
db() {
	file "$1" "ascend_pytorch_profiler_$1.db"
}
analysis() {
	file "$1" analysis.db
}

# part <file> <percent>: so much of it stays
part() {
	truncate -s $(($(stat -c %s "$1") * $2 / 100)) "$1"
}

# garbage <file>: the same bytes each time
garbage() {
	seq 1 3000 | sha512sum | tr -d ' -' | sed 's/../&\n/g' | awk 'BEGIN { for (i = 0; i < 9000; i++) printf "%c", (i * i * 31 + i * 7) % 251 + 1 }' >"$1"
}

fresh bad-cut-alone && part "$(db 2)" 40 && rm "$(analysis 2)"
fresh bad-cut && part "$(db 2)" 40
fresh bad-cut-half && part "$(db 1)" 90 && rm "$(analysis 1)"
fresh bad-analysis && part "$(analysis 2)" 50
fresh bad-garbage && garbage "$(db 1)" && rm "$(analysis 1)"
fresh bad-empty && : >"$(db 3)" && rm "$(analysis 3)"
fresh bad-no-db && rm "$(db 3)" "$(analysis 3)"
fresh bad-no-rank-db && rm "$(db 3)"
fresh bad-dropped && rm "$(analysis 0)"
sqlite3 "$(db 0)" "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'" | sqlite3 "$(db 0)"
fresh bad-some-dropped
for r in 0 1; do
	sqlite3 "$(db $r)" 'DROP TABLE COMMUNICATION_TASK_INFO; DROP TABLE CANN_API'
done
fresh bad-changed
sqlite3 "$(analysis 1)" 'UPDATE StepTraceTime SET computing = computing * 1.5; UPDATE CommAnalyzerTime SET transit_time = transit_time + 1;
	UPDATE CommAnalyzerBandwidth SET transit_size = transit_size * 2; UPDATE CommAnalyzerMatrix SET transit_size = transit_size * 2'
fresh bad-types
sqlite3 "$(db 1)" "UPDATE TASK SET startNs = 'soon' WHERE rowid % 7 = 0; UPDATE COMMUNICATION_OP SET endNs = NULL WHERE rowid % 3 = 0"
fresh bad-backwards
sqlite3 "$(db 1)" 'UPDATE TASK SET endNs = startNs - 5 WHERE rowid % 5 = 0; UPDATE COMMUNICATION_OP SET endNs = startNs - 1 WHERE rowid = 2'
fresh bad-metadata && echo '{"distributed_args": {' >"$(rank 0)/profiler_metadata.json"
fresh bad-info && echo '{"config":' >"$(rank 0)/profiler_info_0.json"
fresh bad-all && for r in 0 1 2 3; do part "$(db $r)" 1 && rm "$(analysis $r)"; done
fresh bad-manifest slow && echo '{' >bad-manifest/npuprof_manifest.json
fresh bad-names
sqlite3 "$(db 1)" "UPDATE STRING_IDS SET value = char(27) || '[31m' || value || char(10) || ',\"|' WHERE value LIKE 'MatMul%'"
fresh bad-twice && cp -a "$(rank 1)" "$run/copy_of_1_ascend_pt"
fresh odd-places && mkdir -p "$run/deep/er still" && mv "$(rank 1)" "$run/deep/er still/anything" && mv "$(rank 2)" elsewhere_ascend_pt &&
	ln -s ../elsewhere_ascend_pt "$run/linked"
fresh bad-wal no-analysis
sqlite3 "$(db 1)" 'PRAGMA journal_mode=WAL' >/dev/null
cp "$(db 1)" wal.db
printf '%s\n' 'DELETE FROM STEP_TIME WHERE id = (SELECT min(id) FROM STEP_TIME);' \
	".shell cp wal.db '$(db 1)'; cp wal.db-wal '$(db 1)-wal'" | sqlite3 wal.db
rm -f wal.db*

fresh bad-text-trace text && part "$(file 2 trace_view.json)" 60
fresh bad-text-trace-start text && part "$(file 2 trace_view.json)" 1
fresh bad-text-garbage text && garbage "$(file 1 trace_view.json)"
fresh bad-text-empty text && for name in trace_view.json kernel_details.csv step_trace_time.csv; do : >"$(file 3 $name)"; done
fresh bad-text-kernels text && part "$(file 1 kernel_details.csv)" 55
fresh bad-text-steps text && part "$(file 1 step_trace_time.csv)" 70
fresh bad-text-comm text && part "$(file 1 communication.json)" 50 && part "$(file 2 communication_matrix.json)" 50
fresh bad-text-no-trace text && rm "$(file 0 trace_view.json)" "$(file 1 trace_view.json)"
fresh bad-text-no-kernels text && rm "$(file 0 kernel_details.csv)"
fresh bad-text-steps-only text && rm "$run"/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv}
fresh bad-text-header text && sed -i '1s/Duration/Lasting/' "$(file 1 kernel_details.csv)" && sed -i '1s/Computing/Counting/' "$(file 2 step_trace_time.csv)"
fresh bad-text-values text && sed -i '3s/,[0-9.]*\t,/,never,/' "$(file 1 kernel_details.csv)" && sed -i '2s/\.[0-9]*/.x/' "$(file 2 step_trace_time.csv)"
fresh bad-gzip gzip && part "$(file 1 trace_view.json.gz)" 60
cp -a msprof-db bad-msprof && part "$(find bad-msprof -path '*device_1*' -prune -o -name 'msprof_*.db' -print | sort | head -n 1)" 40
cp -a msprof-slices bad-slices && rm "$(find bad-slices -name 'msprof_slice_1_*' | sort | head -n 1)"
cp -a msmonitor bad-msmonitor && part "$(find bad-msmonitor -name 'msmonitor_*.db' | sort | head -n 1)" 40
mkdir nothing not-a-run
echo 'not a profile' >not-a-run/readme.txt

# --- raw data ---------------------------------------------------------------------------------------

write_job job 4
write_job job-level0 2 2049
write_job job-cut 2
rm job-cut/*_1001_*/PROF_*/host/end_info
part "$(echo job-cut/*_1001_*/PROF_*/device_1/data/npusim.data.1.slice_0)" 75
write_job job-bad 3
sed -i '6s/^[A-Z]*\t[0-9]*/TASK\tabc/' job-bad/*_1000_*/PROF_*/device_0/data/npusim.data.0.slice_0
rm -r job-bad/*_1001_*/PROF_*
write_job job-record 1
echo '{"rank": 0, "steps": [' >"$(echo job-record/*_1000_*)/npuprof_rank.json"
write_job job-manifest 1
echo '{' >job-manifest/npuprof_manifest.json

# --- traces of a GPU --------------------------------------------------------------------------------

# gpu_trace <duration of a product>: two steps of one rank, with an operator of PyTorch
gpu_trace() {
	local step from comma=

	echo '{"schemaVersion": 1, "traceEvents": ['
	for step in 1 2; do
		from=$((step * 1000))
		cat <<-END
			$comma{"ph":"X","cat":"user_annotation","name":"ProfilerStep#$step","pid":1,"tid":1,"ts":$from.0,"dur":900.0},
			{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":$((from + 8)),"dur":9,"args":{"Input Dims":[[32, 64],[64, 16]],"Input type":["float","float"]}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":$((from + 10)),"dur":5,"args":{"correlation":${step}1}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":$((from + 20)),"dur":5,"args":{"correlation":${step}2}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":$((from + 30)),"dur":5,"args":{"correlation":${step}3}},
			{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":$((from + 100)),"dur":$1,"args":{"device":0,"stream":7,"correlation":${step}1}},
			{"ph":"X","cat":"kernel","name":"void at::native::add<4, float>(int)","pid":0,"tid":7,"ts":$((from + 200)),"dur":50,"args":{"device":0,"stream":7,"correlation":${step}2}},
			{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":20,"ts":$((from + 240)),"dur":110,"args":{"device":0,"stream":20,"correlation":${step}2,"Process Group Name":"0","Process Group Description":"default_pg"}},
			{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":$((from + 360)),"dur":20,"args":{"device":0,"stream":7,"correlation":${step}3}}
		END
		comma=,
	done
	echo ']}'
}

mkdir -p gpu/base gpu/new
gpu_trace 100 | tee gpu/one.json gpu/base/rank0.json gpu/base/rank1.json >gpu/new/rank0.json
gpu_trace 80 >gpu/two.json
gzip -nc gpu/two.json >gpu/new/rank1.json.gz
head -c $(($(stat -c %s gpu/one.json) * 7 / 10)) gpu/one.json >gpu/cut.json
echo '{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"x","ts":1,"dur":1,"pid":1,"tid":1}]}' >gpu/empty.json

# --- rules, and what findings are measured against ---------------------------------------------------

mkdir rules gates
echo '{ "schema": "npuprof.rules/1", "rules": [' >rules/cut.json
echo '{ "schema": "npuprof.rules/9", "rules": [] }' >rules/newer.json
cat >rules/wrong.json <<'END'
{ "schema": "npuprof.rules/1", "rules": [
  { "id": "wrong.sql", "dimension": "overall", "title": "t", "scope": "cluster", "query": "SELECT nothing FROM nowhere" },
  { "id": "wrong.parts" } ] }
END
cat >rules/own.json <<'END'
{ "schema": "npuprof.rules/1", "rules": [
  { "id": "own.busy", "title": { "en": "Busy <b>|`", "zh": "忙" }, "dimension": "computation", "scope": "rank",
    "requires": { "v_step": ["compute_ns"] }, "params": { "least": { "value": 0, "min": 0, "max": 1 } },
    "query": "SELECT rank, step, compute_ns, dur_ns, '<i>|`*x' || char(27) || '[31m\"' AS what FROM v_step",
    "summary": { "n": "count(*)", "busy_ns": "sum(compute_ns)", "what": "max(what)" },
    "fire": "busy_ns > :least * steps * step_ns", "severity": { "high": "busy_ns > 0", "else": "low" },
    "confidence": 0.5, "gain": { "ns": "busy_ns / 10", "basis": "a tenth of computing" }, "group": "g",
    "message": { "en": "{n} steps compute {what}", "zh": "{n} 步 {what}" }, "advice": ["do {what}"],
    "evidence": { "columns": ["step", { "col": "compute_ns", "fmt": "dur" }, "what"], "order": "step" } },
  { "id": "own.memory", "title": "Skipped without memory", "dimension": "memory", "scope": "rank",
    "requires": { "v_mem_op": [] }, "query": "SELECT rank FROM v_mem_op", "summary": { "n": "count(*)" },
    "fire": "n > 0", "severity": "low", "message": "{n} allocations" } ] }
END
echo '[{"rule": "comm.*", "reason": "known"}, {"rule": "no.such", "where": {"step": "^1[01]$"}, "reason": "all steps"}]' >gates/suppress.json
"$build/npuprof" advisor db -f json >gates/baseline.json || [[ $? == 3 ]]

# Summaries keep the times of files.
find . -exec touch -h -d @1763000000 {} +
