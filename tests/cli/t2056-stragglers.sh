#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs as public straggler traces have them, whatever a converter makes of them: what uneven work costs is what the published
# rule says, the culprit is named and nobody else.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
export PYTHONDONTWRITEBYTECODE=1

# convert KIND SEED NAME=VALUE...: the job is right
convert()
{
	local kind=$1 seed=$2 settings=()

	shift 2
	for setting; do
		settings+=(--set "$setting")
	done
	run python3 "$NPUPROF_SOURCE/tools/sweep/stragglers.py" --npuprof "$npuprof" --kind "$kind" --seeds "$seed" \
		--set api=no --set marks=step "${settings[@]}"
	expect_exit 0
	expect_stdout_has "$kind: 1 of 1"
}

behaviour 'passes of several kernels, the same forward and backward: sequences of different lengths, nobody is named'
convert sequence 11 dp=8 pp=2 micro=9 steps=3 form=db kernels=few types=same pairs=pipeline named=yes tasks=no names=hcom heavy=0.5

behaviour 'kernels without types'
convert sequence 15 dp=8 pp=2 micro=9 steps=3 form=trace kernels=many pairs=pipeline named=yes tasks=no names=hcom heavy=0.5

behaviour 'a ring of interleaved stages, neighbours with communicators of no name'
convert interleaved-worker 13 dp=2 pp=4 steps=2 form=db pairs=pair named=no tasks=no names=hcom

behaviour 'messages whose names end in a number'
convert worker 14 dp=2 pp=4 steps=2 micro=6 form=trace named=no names=plain

behaviour 'messages that do not say where they went, of ends that are apart'
convert stage 4006 dp=2 pp=4 micro=12 steps=2 form=db kernels=one pairs=pipeline named=ranks tasks=no names=hcom

behaviour 'two stages without names'
convert worker 4001 dp=4 pp=2 micro=8 steps=2 form=db api=yes pairs=pair named=no tasks=yes names=hcom

behaviour 'one communicator of all pipelines, whose messages say where they went'
convert worker 4801 dp=2 pp=4 micro=8 steps=2 form=db kernels=one pairs=all named=yes tasks=yes names=hcom

behaviour 'where even work would take longer the balance is not known'
run python3 "$NPUPROF_SOURCE/tools/sweep/stragglers.py" --npuprof "$npuprof" --kind interleaved-stage --seeds 4503 --keep "$work/ring" \
	--set steps=2 --set form=db --set api=no --set marks=step --set kernels=one --set pairs=pipeline --set named=yes --set tasks=no \
	--set names=hcom
run "$npuprof" cluster -q --no-db -f json -d "$work/ring"
expect_exit 0
expect_stdout_has '"balance": null'

behaviour 'one communicator of all pipelines, whose messages say nothing of where they went: no verdict is given'
run python3 "$NPUPROF_SOURCE/tools/sweep/stragglers.py" --npuprof "$npuprof" --kind worker --seeds 4801 --keep "$work/all" \
	--set api=no --set marks=step --set dp=2 --set pp=4 --set micro=8 --set steps=2 --set form=db --set kernels=one --set pairs=all \
	--set named=yes --set tasks=no --set names=hcom
run "$npuprof" cluster -q --no-db -f json -d "$work/all"
expect_exit 0
expect_stdout_has '"verdict": { "kind": "withheld", "reason": "messages do not say between which ranks they went: 384 of 440 communication'
