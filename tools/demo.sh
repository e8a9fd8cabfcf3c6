#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build npuprof, make the profile of a small cluster in which one rank is slow,
# and let npuprof find it. Everything it writes is below build/ and demo/.
set -eu

cd "$(dirname "$0")/.."

# show <command> [argument]...: print a command the way it can be repeated, and run it
show() {
	printf '\n$ %s\n' "$*"
	"$@"
}

tools/deps.sh
echo 'Building npuprof (preset release) ...'
tools/build.sh release build/release/demo-build.log
PATH=$PWD/build/release:$PATH

echo 'Making the profiles of 8 ranks and 4 steps. Rank 5 computes 1.3 times as long as the others.'
rm -rf demo/cluster
show npuprof-synth -o demo/cluster --ranks 8 --steps 4 --schedule dp --seed 1 --slow-rank 5:1.3

printf '\nAsking npuprof where the time went and who made whom wait.\n'
status=0
show npuprof cluster -d demo/cluster || status=$?

if [ $status = 0 ]; then
	printf '\nText exports are read too. This one was made at Level0: asking what it lacks.\n'
	rm -rf demo/level0
	show npuprof-synth -o demo/level0 --ranks 4 --steps 2 --level 0 --format text
	show npuprof info demo/level0 || status=$?
fi

echo
if [ $status != 0 ]; then
	echo "The demo failed: npuprof ended with status $status." >&2
	exit 1
fi
echo "The demo is done: rank 5 was planted; the merged database is in demo/cluster/cluster_analysis_output."
