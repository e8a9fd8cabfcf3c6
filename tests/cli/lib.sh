# shellcheck shell=bash
# Helpers of the command-line tests. A test is a script that sources this file,
# runs programs and states what it expects:
#
#	. "$(dirname "$0")/lib.sh"
#
#	behaviour 'an unknown command is refused'
#	run "$npuprof" clutser
#	expect_exit 2
#	expect_stderr_has "did you mean 'cluster'?"
#
# Every expectation is checked even after one has failed; the script fails at its
# end if any did, also one in a subshell, and if a command was not found. $work is an
# empty directory that goes away with the script.
#
# From the environment: NPUPROF_BUILD, the build directory; NPUPROF_SHARED, a
# directory with recorded profiles, which need not exist; NPUPROF_SOURCE; NPUPROF_SYNTH,
# a generator of the same source that makes inputs sooner than that of a build with
# sanitizers, where it is not what a test is about.
set -u

: "${NPUPROF_BUILD:?is the build directory with npuprof in it}"
NPUPROF_SOURCE=${NPUPROF_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
npuprof=$NPUPROF_BUILD/npuprof
synth=${NPUPROF_SYNTH:-$NPUPROF_BUILD/npuprof-synth}
export npuprof synth NPUPROF_SOURCE

# Nothing of the user's may change what is printed.
unset NO_COLOR COLUMNS
export LC_ALL=C.UTF-8

# Before 3.38 it knows no ->>.
if command -v sqlite3 >/dev/null && ! sqlite3 :memory: "SELECT '[1]' ->> 0" >/dev/null 2>&1; then
	PATH=$NPUPROF_SOURCE/tests/cli/older:$PATH
	export PATH
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/npuprof-test.XXXXXX") || exit 1
checks=0
failures=0
what='' command='' status=0
# What subshells found wrong, which cannot count: a line each.
astray=$work.astray

at_end() {
	local code=$?

	if [[ -s $astray ]]; then
		failures=$((failures + $(wc -l <"$astray")))
		checks=$((checks + $(wc -l <"$astray")))
		grep '^FAILED' "$astray"
	fi
	rm -rf "$work" "$astray"
	if ((failures)); then
		echo "$failures of $checks expectations failed"
		exit 1
	elif ((code == 0 && checks == 0)); then
		echo 'the test expected nothing'
		exit 1
	fi
	exit "$code"
}
trap at_end EXIT

# A command that does not exist is a fault of the test, wherever it stands and whoever takes its status for
# an answer: a misspelt expectation would expect nothing. The shell calls this in a subshell of its own.
command_not_found_handle() {
	echo "FAILED: no such command: $1" >>"$astray"
	return 127
}

# skip <reason>: leave the test without a verdict
skip() {
	echo "skipped: $*"
	exit 77
}

# need_shared [path]: skip without the recorded profiles, or without this one of them
need_shared() {
	[[ -n ${NPUPROF_SHARED:-} && -e $NPUPROF_SHARED/${1:-} ]] ||
		skip "no recorded profiles (NPUPROF_SHARED${1:+/$1})"
}

# need_program <name>...
need_program() {
	local name

	for name; do
		command -v "$name" >/dev/null || skip "$name is not installed"
	done
}

# sqlite_since <version>: is npuprof built with such an SQLite, or a newer one?
sqlite_since() {
	local version

	version=$(sed -n 's/^SQLITE_VERSION:INTERNAL=//p' "$NPUPROF_BUILD/CMakeCache.txt")
	[[ $(printf '%s\n' "$1" "${version:-$1}" | sort -V | head -n 1) == "$1" ]]
}

# behaviour <sentence>: what the expectations that follow are about
behaviour() {
	what=$*
}

# run <command> [argument]...: run it, keeping $work/stdout, $work/stderr and $status
run() {
	printf -v command '%q ' "$@"
	status=0
	"$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
}

# run_hydra <command>...: the same; mpiexec.hydra is now and then killed by SIGPIPE itself where all processes end at once,
# before it has passed on what they said
run_hydra() {
	local try

	for try in 1 2 3 4 5; do
		run "$@"
		((status == 141)) || return 0
		echo "mpiexec.hydra was killed by SIGPIPE (try $try)"
	done
}

# wrong <text>...: count a failed expectation and show what there was instead
wrong() {
	failures=$((failures + 1))
	((BASH_SUBSHELL == 0)) || echo 'in a subshell' >>"$astray"
	printf 'FAILED: %s\n  %s\n  after: %s[exit %s]\n' "$what" "$*" "$command" "$status"
	sed 's/^/  stdout: /' "$work/stdout" 2>/dev/null | head -40
	sed 's/^/  stderr: /' "$work/stderr" 2>/dev/null | head -20
}

# expect <text> <command>...: the command must succeed
expect() {
	local text=$1

	shift
	checks=$((checks + 1))
	"$@" || wrong "$text"
}

expect_exit() {
	checks=$((checks + 1))
	[[ $status == "$1" ]] || wrong "exit status $status instead of $1"
}

# exactly <stream>: the whole of a stream is what stands on stdin
exactly() {
	checks=$((checks + 1))
	diff -u --label expected --label "$1" - "$work/$1" >"$work/diff" && return
	wrong "$1 differs"
	sed 's/^/  /' "$work/diff"
}

expect_stdout() {
	exactly stdout
}

expect_stderr() {
	exactly stderr
}

expect_no_stdout() {
	exactly stdout </dev/null
}

expect_no_stderr() {
	exactly stderr </dev/null
}

# has <stream> <text>...: each text stands somewhere in the stream, within one line
has() {
	local stream=$1 text

	shift
	for text; do
		checks=$((checks + 1))
		grep -qF -e "$text" "$work/$stream" || wrong "$stream lacks: $text"
	done
}

expect_stdout_has() {
	has stdout "$@"
}

expect_stderr_has() {
	has stderr "$@"
}

# expect_stdout_says <text>...: each text stands there, wherever the lines break
expect_stdout_says() {
	local text

	for text; do
		checks=$((checks + 1))
		tr -s ' \n' ' ' <"$work/stdout" | grep -qF -e "$text" || wrong "stdout does not say: $text"
	done
}

expect_stdout_lacks() {
	local text

	for text; do
		checks=$((checks + 1))
		! grep -qF -e "$text" "$work/stdout" || wrong "stdout has: $text"
	done
}

expect_stderr_lacks() {
	local text

	for text; do
		checks=$((checks + 1))
		! grep -qF -e "$text" "$work/stderr" || wrong "stderr has: $text"
	done
}

expect_equal() {
	checks=$((checks + 1))
	[[ $1 == "$2" ]] || wrong "'$1' instead of '$2'"
}

expect_file() {
	checks=$((checks + 1))
	[[ -f $1 ]] || wrong "no file $1"
}

# snapshot <directory>: one line that changes with any name, size, time or byte below it
snapshot() {
	(
		cd "$1" || exit
		find . -printf '%p %y %m %s %T@\n' | sort
		find . -type f -print0 | sort -z | xargs -0 -r sha256sum
	) | sha256sum
}
