#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pipelines in the form that others published, of steps that are no neighbours: what uneven work costs is what their rule
# says, the culprit is named, and time that nobody recorded is in no step.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
export PYTHONDONTWRITEBYTECODE=1

behaviour 'slowdown, share, step and culprit of jobs with a slow worker and with a longer last stage'
# Of the seeds 3 and 5 one has steps that are all apart, the other two neighbours.
for seed in 3 5; do
	run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds even,worker,stage \
		--seeds "$seed" --floor 100
	expect_exit 0
	expect_stdout_has 'worker: 1 of 1 right'
	expect_stdout_has 'stage: 1 of 1 right'
done

behaviour 'likewise where nothing says what launched a task'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds worker --seeds 3 --bare --floor 100
expect_exit 0
expect_stdout_has 'worker: 1 of 1 right'

behaviour 'micro-batches of one type that differ by chance are as long as each other, also with few replicas'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds sequence --seeds 10-11 --floor 100
expect_exit 0

behaviour 'messages that end together by chance do not cost a chain its messages'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds worker --seeds 13 --bare --floor 100
expect_exit 0

behaviour 'ranks of a tensor parallel group of which nothing was recorded are one stage, whoever shares a communicator'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds AR --seeds 1 --steps 1 \
	--variant messages=direction --floor 100
expect_exit 0

behaviour 'two stages without names: most pairs tell who sends first'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds SE --seeds 5002 --steps 2 \
	--variant names=False --variant messages=direction --floor 100
expect_exit 0

behaviour 'iterations that nobody marked begin with the gathering of parameters, however long the first message takes'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds SE --seeds 6006 --steps 5 \
	--variant marks=False --floor 100
expect_exit 0

behaviour 'sequences of different lengths: who comes last in a few steps is not named'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds sequence --seeds 6113 --floor 100
expect_exit 0

behaviour 'steps that are no neighbours: with all ranks even the step is that of even ranks, and a stage with slow ranks is not a slow stage'
run python3 "$NPUPROF_SOURCE/tools/sweep/published.py" --build "$(dirname "$npuprof")" --kinds AR --seeds 9103 --steps 4 \
	--variant form=text --variant launches=False --variant messages=pair --keep "$work/kept" --floor 100
expect_exit 0
run "$npuprof" whatif -d "$work/kept/AR-9103" --fix all
expect_stdout_has '18.2 s if all ranks, stages and links were even'
