#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configure and build a preset without a word; show the log if that fails.
#
#	tools/build.sh <preset> [log file]
set -eu

cd "$(dirname "$0")/.."
preset=${1:?is the name of a preset: see CMakePresets.json}
log=${2:-build/$preset/build.log}

mkdir -p "$(dirname "$log")"
if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "${NPUPROF_JOBS:-2}"; } \
	>"$log" 2>&1; then
	cat "$log" >&2
	echo "build.sh: preset $preset does not build; the log is $log" >&2
	exit 1
fi
