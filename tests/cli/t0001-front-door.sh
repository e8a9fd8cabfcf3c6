#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help, version, commands and options that do not exist, values that cannot be.
. "$(dirname "$0")/lib.sh"

behaviour 'the version is one line'
run "$npuprof" -V
expect_exit 0
expect_no_stderr
expect_equal "$(sed 's/[0-9][0-9.]*$/N/' "$work/stdout")" 'npuprof N'
cp "$work/stdout" "$work/version"
for arguments in --version 'cluster -V' 'help --version' -v version; do
	# shellcheck disable=SC2086
	run "$npuprof" $arguments
	expect_exit 0
	expect_stdout <"$work/version"
done

behaviour 'asked for, help is the result'
run "$npuprof" -h
expect_exit 0
expect_no_stderr
expect_stdout_has 'usage: npuprof' '  cluster ' '  completion ' '  help ' 'Exit status:'
cp "$work/stdout" "$work/help"
for arguments in '' --help help -H; do
	# shellcheck disable=SC2086
	run "$npuprof" $arguments
	expect_exit 0
	expect_stdout <"$work/help"
done

behaviour 'help fits 100 columns and ends with the exit statuses'
for command in '' cluster completion help; do
	# shellcheck disable=SC2086
	run "$npuprof" $command -h
	expect_exit 0
	expect_no_stderr
	expect_equal "$(awk 'length > 100' "$work/stdout")" ''
	expect_equal "$(tail -n 5 "$work/stdout" | grep -c '^  [0-4]  ')" \
		"$(grep -c '^  [0-4]  ' "$work/stdout")"
done

behaviour 'help of a command is the -h of that command'
run "$npuprof" cluster -h
cp "$work/stdout" "$work/help"
run "$npuprof" help cluster
expect_exit 0
expect_stdout <"$work/help"

behaviour 'the help of cluster shows groups, values and defaults'
run "$npuprof" cluster -h
expect_stdout_has 'usage: npuprof cluster' 'Input:' 'Output:' '-d, --dir DIR' '--ranks LIST' \
	'table, json, csv or md [default: table]' \
	'3  done, but some ranks or sections could not be used'

# refused <message> <help command> <argument>...
refused() {
	local message=$1 see=$2

	shift 2
	behaviour "refused: npuprof $*"
	run "$npuprof" "$@"
	expect_exit 2
	expect_no_stdout
	printf "npuprof: %s\nsee '%s'\n" "$message" "$see" >"$work/expected"
	expect_stderr <"$work/expected"
}

refused "unknown command 'clutser'; did you mean 'cluster'?" 'npuprof -h' clutser
refused "unknown command 'xyzzy'" 'npuprof -h' xyzzy
refused "unknown command 'clustr'; did you mean 'cluster'?" 'npuprof -h' help clustr
refused 'compare needs the arguments BASE NEW' 'npuprof compare -h' compare .
refused 'rules needs an argument list|show|check|test|views' 'npuprof rules -h' rules
refused 'ctl needs an argument start|stop|status|watch' 'npuprof ctl -h' ctl
refused "unknown option '--vresion' for cluster; did you mean '--version'?" 'npuprof cluster -h' --vresion

see='npuprof cluster -h'
refused "unknown option '--formt' for cluster; did you mean '--format'?" "$see" cluster --formt json
refused "unknown option '--formt' for cluster; did you mean '--format'?" "$see" cluster --formt=json
refused "unknown option '-format' for cluster; did you mean '--format'?" "$see" cluster -format json
refused "unknown option '-x' for cluster" "$see" cluster -qx
refused "unknown option '--form' for cluster; did you mean '--format'?" "$see" cluster --form json
refused "unknown value 'jsn' for '--format'; did you mean 'json'?" "$see" cluster --format=jsn .
refused "unknown value 'sheet' for '-f'; it is one of table, json, csv or md" "$see" cluster -f sheet .
refused "unknown value 'comunication_time' for '-m'; did you mean 'communication_time'?" "$see" \
	cluster -m all,comunication_time .
refused "'-j' needs a whole number from 1 to 1024, not '0'" "$see" cluster -j 0 .
refused "'--jobs' needs a whole number from 1 to 1024, not 'many'" "$see" cluster --jobs many .
refused "'-j' needs a whole number from 1 to 1024, not '-1'" "$see" cluster -j -1 .
refused "'--no-color' takes no value" "$see" cluster --no-color=yes .
refused "'-d' needs a value: DIR" "$see" cluster -d
refused "'-d' needs a value, and '-f' looks like an option" "$see" cluster -d -f json
refused "the value of '--output' is empty" "$see" cluster --output= .
refused 'cluster needs an argument DIR' "$see" cluster
refused 'completion needs an argument SHELL: bash, zsh or fish' 'npuprof completion -h' completion
refused "unexpected argument 'more' for completion" 'npuprof completion -h' completion bash more

behaviour 'ranks that are no list of numbers are refused, with the part that is wrong'
for ranks in 0-x 3-1 '' 1,,2; do
	run "$npuprof" cluster --ranks "$ranks" .
	expect_exit 2
	expect_no_stdout
	expect_stderr_has "'--ranks'" "see 'npuprof cluster -h'"
done

behaviour 'a message cannot drive the terminal'
run "$npuprof" $'\e[31mred'
expect_exit 2
expect "no escape character on stderr" sh -c "! grep -q '$(printf '\033')' '$work/stderr'"

behaviour 'a result that cannot be written is a failure'
if [[ -w /dev/full ]]; then
	status=0 command='npuprof -h >/dev/full'
	"$npuprof" -h >/dev/full 2>"$work/stderr" || status=$?
	expect_exit 1
	expect_stderr_has 'cannot write the result to standard output: No space left on device'
fi
status=0 command='npuprof -h >&-'
"$npuprof" -h >&- 2>"$work/stderr" || status=$?
expect_exit 1
expect_stderr_has 'cannot write the result to standard output'

behaviour 'a reader who leaves early needs no words'
mkfifo "$work/pipe"
# The reader is held open by this shell until the writer has its end, then closed.
exec 3<>"$work/pipe"
exec 4>"$work/pipe" 3<&-
status=0 command='npuprof -h | (nobody)'
"$npuprof" -h >&4 2>"$work/stderr" || status=$?
exec 4>&-
expect_exit 1
expect_no_stderr

behaviour 'the start does not wait for libraries that few runs need'
linked=$(ldd "$npuprof")
for library in libmpi libxlsxwriter libcrypto; do
	expect "$library is not linked" test -z "$(grep "$library" <<<"$linked")"
done
