#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every JSON document that npuprof prints is as doc/schema says: no field is missing and none is unknown, whatever the
# run is like. A field that is added goes into the schema and doc/json.md with it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3

schemas=$NPUPROF_SOURCE/doc/schema
against="$NPUPROF_SOURCE/tests/cli/json_schema.py"
cd "$work" || exit 1
mkdir out

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --layers 2 --kernels-per-layer 3 --steps 3 --seed 1 "$@" || exit 1
}

# document <name> <statuses> <command>...: keep what it prints for the check at the end
document() {
	local name=$1 statuses=$2

	shift 2
	run "$@"
	expect "$name ends with one of $statuses" grep -qw "$status" <<<"$statuses"
	cp stdout "out/$name.json"
}

# all <run> <statuses>: every command that describes one run
all() {
	document "cluster-$1" "$2" "$npuprof" cluster -q -d "$1" -f json -o written
	document "info-$1" "$2" "$npuprof" info -q -d "$1" -f json
	document "advisor-$1" "$2" "$npuprof" advisor -q -d "$1" -f json
	document "compare-$1" "$2" "$npuprof" compare -q healthy "$1" -f json
}

behaviour 'documents of every kind of run are as the schemas say'
make healthy --ranks 4
make slow --ranks 4 --slow-rank 2:1.5 --manifest --memory --pmu --level 2
make text --ranks 4 --format text --slow-rank 1:1.5
make pipeline --ranks 4 --pp 2 --slow-stage 1:1.5
make experts --ranks 4 --ep 4 --expert-skew 1
make link --ranks 4 --tp 4 --slow-link 0-1:6
make loader --ranks 2 --dataloader all:8000
make some --ranks 8 --slow-rank 5:1.5 --omit-ranks 2-7
make card --ranks 1 --pmu
make plain --ranks 2 --level 0 --no-steps
make gpu --ranks 2 --format kineto-gpu
make windows --ranks 2 --layout windows
make damaged --ranks 4
truncate -s 60000 damaged/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db
rm -f damaged/*3_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db
for each in slow text pipeline experts link loader some plain gpu; do
	all "$each" '0 3'
done
all card '0'
all damaged '3'
for each in slow pipeline experts; do
	document "whatif-$each" 0 "$npuprof" whatif -q -d "$each" -f json
done
document whatif-together 0 "$npuprof" whatif -q -d slow -f json --fix rank:2 --fix host-gaps --top 2
for each in cluster info advisor whatif; do
	document "$each-windows" 0 "$npuprof" "$each" -q -d windows -f json
done
make mixed/critic --ranks 4
make mixed/rollout --ranks 2
document whatif-failed 3 "$npuprof" whatif -q -d mixed -f json --fix rank:3
document compare-windows 0 "$npuprof" compare -q windows windows -f json
document compare-gate 4 "$npuprof" compare -q healthy slow -f json --no-stats --fail-on 'step>1%,mem>1%' --view kernel,api
document cluster-modes '0 3' "$npuprof" cluster -q -d slow -f json -m hccl_sum,compute_op_sum,slow_rank -o written
document advisor-timed 0 "$npuprof" advisor -q -v -d slow -f json
document rules 0 "$npuprof" rules list -f json
document agent-cluster 0 "$npuprof" cluster -d slow --agent -o written
document agent-advisor 0 "$npuprof" advisor -d slow --agent
document agent-compare 0 "$npuprof" compare healthy slow --agent -o written
document agent-windows 0 "$npuprof" advisor -d windows --agent
document agent-error 2 "$npuprof" cluster -d nowhere --agent
cp slow/npuprof_manifest.json out/manifest.json
for each in slow text pipeline experts link some; do
	document "history-add-$each" '0 3' "$npuprof" history add -q "$each" --store runs.db --label "name=$each" -f json
done
for each in list export trend effects advise; do
	document "history-$each" 0 "$npuprof" history "$each" --store runs.db -f json
done
document history-judge '0 3' "$npuprof" history judge -q slow --store runs.db -f json
if [[ -n ${NPUPROF_SHARED:-} && -d $NPUPROF_SHARED/snapshots ]]; then
	document memory 4 "$npuprof" memory -q "$NPUPROF_SHARED/snapshots" -f json --sweep --fail-on 'reserved>1MB'
fi
if [[ -n ${NPUPROF_SHARED:-} && -d $NPUPROF_SHARED/resnet-2of8 ]]; then
	for each in "$NPUPROF_SHARED"/resnet-2of8/*/level1 "$NPUPROF_SHARED"/llm-pp2dp2; do
		name=recorded-$(basename "$(dirname "$each")")
		document "cluster-$name" '0 3' "$npuprof" cluster -q -d "$each" -f json -o written
		document "advisor-$name" '0 3' "$npuprof" advisor -q -d "$each" -f json
		document "info-$name" '0 3' "$npuprof" info -q -d "$each" -f json
	done
fi
run python3 "$against" "$schemas" out/*.json
expect_exit 0
expect_no_stdout
expect_no_stderr

behaviour 'a field too many or too few is found, wherever it stands'
run python3 "$against" --mutate "$schemas" out/cluster-pipeline.json out/whatif-together.json out/advisor-slow.json \
	out/compare-gate.json out/info-slow.json out/rules.json out/agent-cluster.json
expect_exit 0
# Only tables of --view have columns of their own.
grep -v 'views\.' stdout >rest
cp rest stdout
expect_no_stdout

behaviour 'every schema stands in the page about them'
for each in "$schemas"/*.json; do
	expect "$each is named" grep -qF "schema/$(basename "$each")" "$NPUPROF_SOURCE/doc/json.md"
done
