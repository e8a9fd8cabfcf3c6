#!/usr/bin/env bash
# Memory that runs out and files that fail, at two hundred calls spread over each command. tools/faults.sh lets the first
# 500 of each fail, and more.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
[[ -e $NPUPROF_BUILD/libfailing_calls.so ]] || skip 'built without calls that fail'
! grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt" || skip 'sanitizers have an allocator of their own'

behaviour 'whatever call fails, a command ends, says so, and leaves the old output or the whole new one'
run env TMPDIR="$work" python3 "$NPUPROF_SOURCE/tests/faults/failing.py" "$NPUPROF_BUILD" -j2 --most 67
expect_exit 0
expect_stdout_has ', 0 of them wrong'
