#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The helpers of these tests: a test fails if an expectation does, wherever it stands, and if it expects nothing.
# shellcheck disable=SC2016
. "$(dirname "$0")/lib.sh"

# try <line>...: run a test of these lines
try() {
	{
		printf '. %q\n' "$NPUPROF_SOURCE/tests/cli/lib.sh"
		printf '%s\n' "$@"
	} >"$work/test.sh"
	run env TMPDIR="$work/tmp" bash "$work/test.sh"
	expect_equal "$(ls -A "$work/tmp")" ''
}
mkdir "$work/tmp"

behaviour 'a test whose expectations are met passes, without a word'
try 'run echo word' 'expect_exit 0' 'expect_stdout_has word'
expect_exit 0
expect_no_stdout
expect_no_stderr

behaviour 'one that is not met fails the test, and those after it are checked'
try 'run echo word' 'expect_exit 1' 'expect_stdout_has world' 'expect_stdout_has word'
expect_exit 1
expect_stdout_has 'exit status 0 instead of 1' 'stdout lacks: world' '2 of 3 expectations failed'

behaviour 'each helper can fail'
for line in 'expect text false' 'expect_exit 1' 'expect_stdout <<<other' 'expect_stderr <<<other' 'expect_no_stdout' \
	'expect_no_stderr' 'expect_stdout_has other' 'expect_stderr_has other' 'expect_stdout_says other' \
	'expect_stdout_lacks word' 'expect_equal a b' 'expect_file "$work/none"'; do
	try 'run bash -c "echo word; echo words >&2"' "$line"
	expect_exit 1
	expect_stdout_has '1 of 1 expectations failed'
done

behaviour 'a command that does not exist fails the test: an expectation that is misspelt'
try 'expect_exit 0' 'expect_stdout_hass word'
expect_exit 1
expect_stdout_has 'FAILED: no such command: expect_stdout_hass'

behaviour 'wherever it stands'
for line in '! no_such word' 'no_such word || true' 'no_such >"$work/out" 2>&1' 'expect_equal "$(no_such)" ""' 'run no_such' \
	'if no_such; then :; fi' 'true | no_such' '(no_such)' 'no_such | cat'; do
	try 'expect_exit 0' "$line"
	expect_exit 1
	expect_stdout_has 'FAILED: no such command: no_such' '1 of '
done

behaviour 'also before a test skips itself'
try 'no_such' 'skip "nothing here"'
expect_exit 1

behaviour 'an expectation in a subshell fails the test as any other'
for line in '(expect_equal a b)' 'echo a | while read -r word; do expect_equal "$word" b; done' 'text=$(expect_equal a b)'; do
	try 'expect_exit 0' "$line"
	expect_exit 1
	expect_stdout_has '1 of 2 expectations failed'
done

behaviour 'a test that expects nothing fails, one that skips itself is skipped'
try 'run echo word'
expect_exit 1
expect_stdout_has 'the test expected nothing'
try 'skip "nothing here"'
expect_exit 77
expect_stdout_has 'skipped: nothing here'
try 'need_program no_such_program'
expect_exit 77
