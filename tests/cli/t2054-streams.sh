#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that overlap computing and communication, by a generator of their own: who is slow, and what that costs.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
export PYTHONDONTWRITEBYTECODE=1

behaviour 'reductions beside the backward pass, parameters gathered ahead, activations reduced between layers'
run python3 "$NPUPROF_SOURCE/tools/sweep/streams.py" --build "$(dirname "$npuprof")" --seeds 1-9 --floor 100
expect_exit 0
expect_stdout_says '| fsdp |'

behaviour 'kernels of one type take longer: the repair is where they are'
run python3 "$NPUPROF_SOURCE/tools/sweep/streams.py" --build "$(dirname "$npuprof")" --seeds 4011 --floor 100
expect_exit 0
