#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and test everything: preset dev, and asan (AddressSanitizer and
# UndefinedBehaviorSanitizer). Shows failures and the names of skipped tests; the
# last line is "N passed, N failed, N skipped". Fails if any test does.
#
# Tests of several processes mostly wait, one at a time: while those of dev run, asan
# is built and tested. What must be alone on the machine (label "alone") comes last.
set -u

cd "$(dirname "$0")/.." || exit 1
jobs=${NPUPROF_JOBS:-2}
# Tests write and remove many small files: in memory that takes no time of the file system.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null &&
	TMPDIR=$(mktemp -d /dev/shm/npuprof-tests.XXXXXX); then
	export TMPDIR
	trap 'rm -rf "$TMPDIR"' EXIT
	trap 'exit 1' HUP INT TERM
fi
passed=0 failed=0 skipped=0

# value <attribute> <junit file>: a number from the head of a report
value() {
	sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# build <preset>
build() {
	echo "== $1: building"
	tools/build.sh "$1" || failed=$((failed + 1))
}

# run_tests <preset> <run> [ctest argument]...: its report and log have the name of the run
run_tests() {
	preset=$1 run=build/$1/$2
	shift 2
	rm -f "$run.xml"
	ctest --preset "$preset" -j "$jobs" --output-on-failure \
		--output-junit "$PWD/$run.xml" "$@" >"$run.log" 2>&1
}

# count <preset> <run>: add a run to the sums, and show what did not pass
count() {
	run=build/$1/$2
	echo "== $1: tests"
	if [ ! -s "$run.xml" ]; then
		cat "$run.log"
		failed=$((failed + 1))
		return
	fi
	tests=$(value tests "$run.xml")
	bad=$(value failures "$run.xml")
	left=$(($(value skipped "$run.xml") + $(value disabled "$run.xml")))
	passed=$((passed + tests - bad - left))
	failed=$((failed + bad))
	skipped=$((skipped + left))
	[ "$bad" = 0 ] || grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "$run.log"
	sed -n 's/.*<testcase name="\([^"]*\)".*status="\(notrun\|disabled\)".*/skipped: \1/p' "$run.xml"
}

if tools/deps.sh; then
	build dev
	if [ "$failed" = 0 ]; then
		run_tests dev test &
		build asan
		# Inputs are the same bytes whoever makes them. The sanitizers report leaks inside the MPI library; lint
		# needs no second run.
		export NPUPROF_SYNTH="$PWD/build/dev/npuprof-synth"
		[ "$failed" != 0 ] || run_tests asan test -LE 'mpi|lint|long|alone'
		wait
		[ "$failed" != 0 ] || run_tests asan alone -L alone
		count dev test
		if [ "$failed" = 0 ] || [ -s build/asan/test.xml ]; then
			count asan test
			count asan alone
		fi
	fi
else
	failed=1
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
