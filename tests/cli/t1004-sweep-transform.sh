#!/usr/bin/env bash
# Recorded and made runs that are renamed, reordered, shifted, cut and robbed of files: nothing else is said of them, or less.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
transform=$NPUPROF_SOURCE/tools/sweep/transform.py
export PYTHONDONTWRITEBYTECODE=1

behaviour 'a run with a culprit, transformed'
run python3 "$transform" --build "$NPUPROF_BUILD" --data "$work/none" --source 'slow-rank-dp/text/1' --seeds 1
expect_exit 0
expect_stdout_has '| only-kernels | careful | 1/1 |'
expect_stdout_has '| shuffle-tables | same | 1/1 |'

need_shared data/resnet-2of8
behaviour 'recorded runs, transformed'
for run in resnet-2of8/text/level1 resnet-2of8/db/level0 llm-pp2dp2; do
	run python3 "$transform" --build "$NPUPROF_BUILD" --data "$NPUPROF_SHARED/data" --source "$run" --seeds 1
	expect_exit 0
	expect_stdout_has '| drop-first-rank | careful | 1/1 |'
done
