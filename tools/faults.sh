#!/usr/bin/env bash
# All faults of tests/faults/ with all their commands, allocations and files that fail, and what grows: minutes where tests take seconds.
#
#	tools/faults.sh [PRESET] [OPTION OF faults.py]...
set -eu
cd "$(dirname "$0")/.."
preset=${1:-dev}
shift || true
[[ -x build/$preset/npuprof ]] || tools/build.sh "$preset"
[[ $preset != asan && $preset != tsan ]] || export NP_FAULTS_UNBOUND=1
python3 tests/faults/faults.py "build/$preset" -j2 --commands "$@"
[[ -n ${NP_FAULTS_UNBOUND:-} ]] || python3 tests/faults/failing.py "build/$preset" -j2
[[ -n ${NP_FAULTS_UNBOUND:-} ]] || python3 tests/faults/growth.py "build/$preset"
