#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build and test everything: preset dev, then asan (AddressSanitizer and
# UndefinedBehaviorSanitizer). Shows failures and the names of skipped tests; the
# last line is "N passed, N failed, N skipped". Fails if any test does.
set -u

cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0

# value <attribute> <junit file>: a number from the head of a report
value() {
	sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# test_preset <preset> [ctest argument]...
test_preset() {
	preset=$1
	shift
	report=build/$preset/junit.xml
	log=build/$preset/test.log

	echo "== $preset: building"
	if ! tools/build.sh "$preset"; then
		failed=$((failed + 1))
		return
	fi
	echo "== $preset: testing"
	rm -f "$report"
	# One of three mostly waits: tests with several processes run one at a time.
	ctest --preset "$preset" -j "${NPUPROF_JOBS:-3}" --output-on-failure \
		--output-junit "$PWD/$report" "$@" >"$log" 2>&1
	if [ ! -s "$report" ]; then
		cat "$log"
		failed=$((failed + 1))
		return
	fi

	tests=$(value tests "$report")
	bad=$(value failures "$report")
	left=$(($(value skipped "$report") + $(value disabled "$report")))
	passed=$((passed + tests - bad - left))
	failed=$((failed + bad))
	skipped=$((skipped + left))
	[ "$bad" = 0 ] || grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' "$log"
	sed -n 's/.*<testcase name="\([^"]*\)".*status="\(notrun\|disabled\)".*/skipped: \1/p' "$report"
}

if tools/deps.sh; then
	test_preset dev
	# The sanitizers report leaks inside the MPI library; lint needs no second run.
	test_preset asan -LE 'mpi|lint|long'
else
	failed=1
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
