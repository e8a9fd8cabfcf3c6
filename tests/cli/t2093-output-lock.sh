#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two processes that write one output directory notice each other.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program flock

"$synth" -q -o "$work/c" --ranks 2 --steps 2 --layers 1 --kernels-per-layer 2 || exit 1
cd "$work" || exit 1
lock=out/cluster_analysis_output/.npuprof.lock
mkdir -p "${lock%/*}"

# hold: somebody else has the lock, and their name is in the file
hold() {
	echo 'process 4711 on node3 since 2026-11-18 09:30:00' >"$lock"
	flock "$lock" sh -c 'echo >held; exec sleep 100' &
	holder=$!
	until [[ -e held ]]; do sleep 0.1; done
	rm held
}

behaviour 'a directory that another process writes is waited for, then it is named, and nothing is written'
hold
run "$npuprof" cluster c -o out
expect_exit 1
expect_stderr_has "'out/cluster_analysis_output' is being written by process 4711 on node3 since 2026-11-18 09:30:00; waited 10 s for it; give another with -o"
expect_equal "$(ls -A "${lock%/*}")" .npuprof.lock

behaviour 'when the other is dead its lock is no hindrance, and afterwards there is none'
pkill -P "$holder" 2>/dev/null
kill "$holder" 2>/dev/null
wait "$holder" 2>/dev/null
run "$npuprof" cluster c -o out
expect_exit 0
expect 'no lock is left' test ! -e "$lock"
expect 'the database is there' test -s "${lock%/*}/cluster_analysis.db"

behaviour 'several at once write one after the other'
for i in 1 2 3; do
	"$npuprof" cluster c -o many >"many.$i" 2>&1 &
done
wait
expect_equal "$(sqlite3 many/cluster_analysis_output/cluster_analysis.db 'PRAGMA integrity_check')" ok
expect 'no lock is left' test ! -e many/cluster_analysis_output/.npuprof.lock
expect 'all say the same' cmp many.1 many.2
expect 'all say the same' cmp many.1 many.3
