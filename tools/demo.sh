#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole way without an NPU: build npuprof, run a training job of 8 ranks on
# stand-in NPUs under mpirun, collect five of its steps, export them, ask who made
# whom wait, what a repair would gain, what to change, and compare it with a healthy
# run. Everything it writes is below build/ and demo/.
set -eu

cd "$(dirname "$0")/.."

# show <command> [argument]...: print a command the way it can be repeated, and run it
show() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# fail <what> <status>
fail() {
	echo >&2
	echo "The demo failed: $1 ended with status $2." >&2
	exit 1
}

tools/deps.sh
echo 'Building npuprof (preset release) ...'
tools/build.sh release build/release/demo-build.log
PATH=$PWD/build/release:$PWD/build/release/sim/bin:$PATH
# Stand-ins for CANN's libraries; a containers' root and a laptop's few processors are fine.
export LD_LIBRARY_PATH="$PWD/build/release/npusim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# collect <job>: train on 8 simulated NPUs of two simulated hosts and bring five steps home
collect() {
	rm -rf "demo/$1"
	show mpirun -n 8 npuprof-collect --ranks all --step-start 4 --step-end 9 --export after \
		--save-path demo --job "$1" -- npu-train-demo -q --steps 10 --hidden 2048 || fail 'the collection' $?
}

cat <<'TEXT'

Training on 8 simulated NPUs of two simulated hosts. Planted: the kernels of rank 5 take twice as
long, and the clock of the second host is 5 ms ahead.
TEXT
export NPUSIM_HOST_OF=0-3:host0,4-7:host1 NPUSIM_CLOCK_SKEW=host1:5000000
NPUSIM_SLOW_RANK=5 NPUSIM_SLOW_FACTOR=2 collect train

printf '\nWhere did the time go, and who made whom wait?\n'
show npuprof cluster -d demo/train || fail 'npuprof cluster' $?

printf '\nWhat would repairing it gain?\n'
show npuprof whatif -d demo/train || fail 'npuprof whatif' $?

printf '\nWhat should be changed first?\n'
show npuprof advisor -d demo/train || fail 'npuprof advisor' $?

printf '\nThe same job without the fault: what is the difference?\n'
collect healthy
show npuprof compare demo/healthy demo/train || fail 'npuprof compare' $?

printf '\nText exports are read too. This one was made at Level0: what does it lack?\n'
rm -rf demo/level0
show npuprof-synth -o demo/level0 --ranks 4 --steps 2 --level 0 --format text
show npuprof info demo/level0 || fail 'npuprof info' $?

printf '\nOne page to look at and to mail, and all ranks on one clock:\n'
show npuprof report -d demo/train --base demo/healthy -o demo/report.html || fail 'npuprof report' $?
show npuprof timeline -q -d demo/train -o demo/timeline.json.gz || fail 'npuprof timeline' $?

cat <<'TEXT'

Open demo/report.html in a browser. Drop demo/timeline.json.gz on ui.perfetto.dev, or open it in
MindStudio Insight.

The demo is done. Planted was rank 5; the offset of the second host's clock is in
demo/train/npuprof_manifest.json; the merged database is in demo/train/cluster_analysis_output.
TEXT
