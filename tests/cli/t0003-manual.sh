#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages cover the commands and options there are, and no others.
. "$(dirname "$0")/lib.sh"

doc=$NPUPROF_SOURCE/doc

# synopsis <page>: its SYNOPSIS as plain text
synopsis() {
	sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$1" | sed 's/\\-/-/g; s/\\f[BIRP]//g'
}

# spellings: the options named on stdin, one per line
spellings() {
	grep -oE -e '(^|[^a-zA-Z-])--?[a-zA-Z][a-z-]*' | grep -oE -e '--?[a-zA-Z][a-z-]*' | sort -u
}

# options_of [command]: the options -h lists
options_of() {
	"$npuprof" "$@" -h | grep -oE '^  +(-., )?--[a-z-]+' | spellings
}

commands=$("$npuprof" completion bash | sed -n "s/.*kind=words values='\(info .*\)'/\1/p" | head -n 1)
behaviour 'there are commands'
expect_equal "${commands%% *}" info

behaviour 'npuprof(1) describes every command'
: >"$work/stdout"
for name in $commands; do
	expect "no entry for $name" grep -qE "^\\.(B|BR|BI|SS) \"?(npuprof )?$name\\b" "$doc/npuprof.1"
done

behaviour 'the synopsis of npuprof(1) has its options'
synopsis "$doc/npuprof.1" | spellings >"$work/stdout"
mapfile -t options < <(options_of)
for option in "${options[@]}"; do
	expect "$option is missing" grep -qxe "$option" "$work/stdout"
done

for name in $commands; do
	# These two are explained in npuprof(1).
	[[ $name == help || $name == completion ]] && continue
	page=$doc/npuprof-$name.1

	behaviour "npuprof-$name(1) has every option of $name in its synopsis, and no other"
	expect_file "$page"
	synopsis "$page" | spellings >"$work/stdout"
	options_of "$name" >"$work/expected"
	expect_stdout <"$work/expected"

	behaviour "npuprof-$name(1) explains every option of $name"
	mapfile -t options < <(grep -e '^--' "$work/expected")
	for option in "${options[@]}"; do
		expect "$option is not explained" grep -qE -e "^\\.(B|BR|BI|IR).*${option//-/\\\\-}" "$page"
	done
done

if command -v groff >/dev/null; then
	for page in "$doc"/*.1; do
		behaviour "$(basename "$page") is set without a warning"
		run groff -man -ww -z -Tutf8 "$page"
		expect_exit 0
		expect_no_stderr
	done
fi
