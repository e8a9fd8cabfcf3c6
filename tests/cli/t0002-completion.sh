#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The completion scripts name what the tables hold.
. "$(dirname "$0")/lib.sh"

for shell in bash zsh fish; do
	behaviour "there is a script for $shell"
	run "$npuprof" completion "$shell"
	expect_exit 0
	expect_no_stderr
	expect_stdout_has cluster communication_matrix format
	cp "$work/stdout" "$work/npuprof.$shell"
done

behaviour 'the script for bash defines one completion'
expect 'it cannot be sourced' bash -c "set -u; source '$work/npuprof.bash' && complete -p npuprof"

# complete_words <word>...: what bash offers for the last word
complete_words() {
	command="complete: $*" status=0
	: >"$work/stderr"
	# shellcheck disable=SC2016
	bash -c 'source "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_npuprof
		[[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\n" "${COMPREPLY[@]}"' \
		complete "$work/npuprof.bash" "$@" >"$work/stdout"
}

behaviour 'commands come first'
complete_words npuprof ''
expect_stdout <<-END
	info
	cluster
	whatif
	compare
	advisor
	report
	timeline
	rules
	collect
	ctl
	export
	completion
	help
END
complete_words npuprof cl
expect_stdout <<-END
	cluster
END
complete_words npuprof --v
expect_stdout <<-END
	--version
END

behaviour 'a command completes its own options'
complete_words npuprof cluster --fo
expect_stdout <<-END
	--format
END
complete_words npuprof help --f
expect_no_stdout

behaviour 'every option of -h is offered'
"$npuprof" cluster -h | grep -o '^  *\(-., \)\?--[a-z-]*' | grep -o -e '--.*' | sort >"$work/expected"
complete_words npuprof cluster --
sort -o "$work/stdout" "$work/stdout"
expect_stdout <"$work/expected"

behaviour 'choices are offered, after a separate word and after ='
complete_words npuprof cluster -f ''
expect_stdout <<-END
	table
	json
	csv
	md
END
complete_words npuprof cluster --format = j
expect_stdout <<-END
	json
END
complete_words npuprof cluster --format =
expect_stdout_has json table

behaviour 'a list of choices goes on after a comma'
complete_words npuprof cluster -m all,communication_t
expect_stdout <<-END
	all,communication_time
	all,communication_time_sum
END

behaviour 'directories, not files, are offered for -d and for bare arguments'
mkdir -p "$work/tree/two words" "$work/tree/run"
touch "$work/tree/rubbish"
complete_words npuprof cluster -d "$work/tree/"
sort -o "$work/stdout" "$work/stdout"
expect_stdout <<-END
	$work/tree/run
	$work/tree/two words
END
complete_words npuprof cluster "$work/tree/r"
expect_stdout <<-END
	$work/tree/run
END

behaviour 'values that cannot be guessed are left alone'
complete_words npuprof cluster -j ''
expect_no_stdout

behaviour 'operands of help and completion are known'
complete_words npuprof help cl
expect_stdout <<-END
	cluster
END
complete_words npuprof completion ''
expect_stdout <<-END
	bash
	zsh
	fish
END

for shell in zsh fish; do
	command -v "$shell" >/dev/null || continue
	behaviour "$shell accepts its script"
	run "$shell" -n "$work/npuprof.$shell"
	expect_exit 0
	expect_no_stderr
done
