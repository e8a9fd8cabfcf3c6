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
	# Tests act as other users, too, who must get to what is below.
	chmod 711 "$TMPDIR"
	export TMPDIR
	trap 'rm -rf "$TMPDIR"' EXIT
	trap 'exit 1' HUP INT TERM
fi
passed=0 failed=0 skipped=0

# build <preset>
build() {
	echo "== $1: building"
	tools/build.sh "$1" || failed=$((failed + 1))
}

# run_tests <preset> <run> [ctest argument]...: its log has the name of the run. CMake before 3.25 reads no presets.
run_tests() {
	preset=$1 log=$PWD/build/$1/$2.log
	shift 2
	rm -f "$log"
	if cmake --list-presets >/dev/null 2>&1; then
		ctest --preset "$preset" -j "$jobs" --output-on-failure "$@" >"$log" 2>&1
		return
	fi
	(
		[ "$preset" != asan ] ||
			export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
		cd "build/$preset" && ctest -j "$jobs" --output-on-failure "$@" >"$log" 2>&1
	)
}

# ended <log> <pattern>: how many tests ended like that
ended() {
	grep -cE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*$2" "$1"
}

# show_failures <preset> <run>. A test of several processes that failed beside others runs once more with the machine
# for itself: should it pass then, that is said, with what it printed the first time, and it counts as passed.
show_failures() {
	grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "build/$1/$2.log"
	again=$(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+-mpi) .*\*\*\*(Failed|Timeout).*/\1/p' "build/$1/$2.log")
	[ -n "$again" ] || return 0
	run_tests "$1" again -R "^($(echo "$again" | paste -sd '|'))\$"
	healed=$(ended "build/$1/again.log" ' Passed ')
	sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* Passed .*/passed when it ran alone: \1/p' "build/$1/again.log"
	passed=$((passed + healed))
	failed=$((failed - healed))
}

# count <preset> <run>: add a run to the sums, and show what did not pass
count() {
	log=build/$1/$2.log
	echo "== $1: tests"
	good=$(ended "$log" ' Passed ')
	left=$(ended "$log" '\*\*\*(Skipped|Not Run)')
	bad=$(($(ended "$log" '\*\*\*') - left))
	# Without its last line ctest did not come to its end.
	if ! grep -q '^Total Test time' "$log"; then
		cat "$log"
		failed=$((failed + 1))
		return
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	skipped=$((skipped + left))
	[ "$bad" = 0 ] || show_failures "$1" "$2"
	sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Skipped|Not Run).*/skipped: \1/p' "build/$1/$2.log"
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
		if [ "$failed" = 0 ] || [ -s build/asan/test.log ]; then
			count asan test
			count asan alone
		fi
	fi
else
	failed=1
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
