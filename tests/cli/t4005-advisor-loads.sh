#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof advisor: how often it reads the ranks.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

slow=$NPUPROF_BUILD/libslow_files.so
LD_PRELOAD=$slow "$npuprof" -V >/dev/null 2>&1 || skip 'nothing can be preloaded here'

cd "$work" || exit 1
"$synth" -q -o c --ranks 2 --steps 2 --layers 2 --kernels-per-layer 4 --format db || exit 1

# openings: how often the databases of ranks are opened by advisor
openings() {
	rm -f log
	run env LD_PRELOAD="$slow" NP_TEST_SLOW_PATH=ascend_pytorch_profiler NP_TEST_SLOW_LOG="$work/log" \
		"$npuprof" advisor -q c -f json
	wc -l <log
}

behaviour 'ranks are read as often with a merged database, fresh, of some steps or none'
without=$(openings)
cp stdout without.json
expect 'they are read' test "$without" -gt 0
"$npuprof" cluster -q c >/dev/null
expect_equal "$(openings)" "$without"
"$npuprof" cluster -q c --steps 10 >/dev/null
expect_equal "$(openings)" "$without"

behaviour 'a merged database of some steps is not used'
run "$npuprof" advisor -q c -f json
expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <without.json)"
