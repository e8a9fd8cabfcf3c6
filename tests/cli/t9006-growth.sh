#!/usr/bin/env bash
# What a command does grows no faster than its input: instructions are counted, not seconds. tests/faults/growth.py has more
# kinds of inputs, and counts larger ones.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
need_program valgrind
! grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt" || skip 'sanitizers and valgrind exclude each other'

behaviour 'four times as many steps or types of kernels need no more than five times the instructions'
run env TMPDIR="$work" python3 "$NPUPROF_SOURCE/tests/faults/growth.py" "$NPUPROF_BUILD" -n 300 \
	--only '^(steps|steps-with-work|types)/cluster'
expect_exit 0
expect_stdout_has ', 0 wrong'
