#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Configure and build a preset without a word; show the log if that fails. CMake before 3.25 cannot read our presets: the
# usual three are known here.
#
#	tools/build.sh <preset> [log file]
set -eu

cd "$(dirname "$0")/.."
preset=${1:?is the name of a preset: see CMakePresets.json}
log=${2:-build/$preset/build.log}

configure() {
	if cmake --list-presets >/dev/null 2>&1; then
		cmake --preset "$preset"
		return
	fi
	case $preset in
	dev) set -- -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 -DNP_WERROR=ON ;;
	asan) set -- -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 -DNP_WERROR=ON '-DNP_SANITIZE=address;undefined' ;;
	release) set -- -DCMAKE_BUILD_TYPE=RelWithDebInfo ;;
	*)
		echo "the preset $preset needs CMake 3.25"
		return 1
		;;
	esac
	if command -v ninja >/dev/null; then
		set -- -G Ninja "$@"
	fi
	cmake -S . -B "build/$preset" "$@"
}

mkdir -p "$(dirname "$log")"
if ! { configure && cmake --build "build/$preset" -j "${NPUPROF_JOBS:-2}"; } >"$log" 2>&1; then
	cat "$log" >&2
	echo "build.sh: preset $preset does not build; the log is $log" >&2
	exit 1
fi
