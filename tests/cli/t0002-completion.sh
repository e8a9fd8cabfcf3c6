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
	memory
	merge
	history
	watch
	rules
	mcp
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

behaviour 'tables, repairs, rules and actions are offered'
complete_words npuprof cluster --table np_comm
expect_stdout <<-END
	np_comm_step
END
complete_words npuprof cluster --table SlowLinkS
expect_stdout_has SlowLinkSum
complete_words npuprof compare --table water
expect_stdout <<-END
	waterfall
END
complete_words npuprof whatif --fix host
expect_stdout <<-END
	host:
	host-gaps
END
complete_words npuprof advisor --explain compute.no
expect_stdout_has compute.no-bound
complete_words npuprof rules sh
expect_stdout <<-END
	show
END
complete_words npuprof rules show compute.no-b
expect_stdout <<-END
	compute.no-bound
END
complete_words npuprof ctl st
expect_stdout <<-END
	start
	stop
	status
END

# complete_program <function> <word>...: of a program of its own
complete_program() {
	local function=$1

	shift
	# shellcheck disable=SC2016
	bash -c 'source "$1"; function=$2; shift 2
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		$function
		[[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\n" "${COMPREPLY[@]}"' \
		complete "$work/npuprof.bash" "$function" "$@" >"$work/stdout"
}

behaviour 'the collector completes as the command does, and the generator is asked itself'
complete_program _npuprof_collect npuprof-collect --step-st
expect_stdout <<-END
	--step-start
END
complete_program _npuprof_collect npuprof-collect --level level
expect_stdout_has level0 level1 level2
complete_program _npuprof_synth "$synth" --slow-r
expect_stdout_has --slow-rank --slow-receiver
complete_program _npuprof_synth "$synth" --schedule 3
expect_stdout <<-END
	3d
END

if command -v fish >/dev/null; then
	# fish before 3.5 reads the configuration of the system; that of the user is not in $work.
	no_config=--no-config
	env HOME="$work" fish --no-config -c true 2>/dev/null || no_config=
	# fish_offers <line>: what fish offers for a line
	fish_offers() {
		# shellcheck disable=SC2086 # a word or none
		run env HOME="$work" PATH="$NPUPROF_BUILD:$PATH" fish $no_config -c "source '$work/npuprof.fish'; complete -C '$1'"
		expect_exit 0
		expect_no_stderr
	}
	behaviour 'fish completes commands, options, choices, tables, rules and the other programs'
	fish_offers 'npuprof clu'
	expect_stdout_has cluster
	fish_offers 'npuprof cluster --fo'
	expect_stdout_has --format
	fish_offers 'npuprof cluster --format j'
	expect_stdout_has json
	fish_offers 'npuprof cluster --table np_comm'
	expect_stdout_has np_comm_step
	fish_offers 'npuprof whatif --fix host'
	expect_stdout_has host-gaps
	fish_offers 'npuprof advisor --explain compute.no'
	expect_stdout_has compute.no-bound
	fish_offers 'npuprof rules sh'
	expect_stdout_has show
	fish_offers 'npuprof-collect --step-st'
	expect_stdout_has --step-start
	fish_offers 'npuprof-synth --slow-ra'
	expect_stdout_has --slow-rank
fi

if command -v zsh >/dev/null; then
	# zsh_completes <line> <word>: when Tab is pressed at its end the line has the word
	zsh_completes() {
		cat >"$work/type.zsh" <<-END
			zmodload zsh/zpty
			zpty z 'env TERM=dumb HOME=$work PATH=$NPUPROF_BUILD:$PATH zsh -f -i'
			zpty -w z "setopt no_beep; PROMPT=; autoload -Uz compinit; compinit -u -D; source $work/npuprof.zsh; print rea''dy"
			zpty -r z reply '*ready*'
			zpty -w -n z \$'$1\t'
			zpty -r z reply '*$2*' && print -r -- "\$reply"
			zpty -d z
		END
		run timeout 60 zsh -f "$work/type.zsh"
		expect_stdout_has "$2"
	}
	behaviour 'zsh completes commands, options, tables, rules and the other programs'
	zsh_completes 'npuprof clu' 'npuprof cluster'
	zsh_completes 'npuprof cluster --forma' '--format'
	zsh_completes 'npuprof cluster --table=np_comm_s' 'np_comm_step'
	zsh_completes 'npuprof advisor --explain=compute.no-b' 'compute.no-bound'
	zsh_completes 'npuprof rules sho' 'npuprof rules show'
	zsh_completes 'npuprof-collect --step-star' '--step-start'
	zsh_completes 'npuprof-synth --slow-ran' '--slow-rank'
fi

for shell in zsh fish; do
	command -v "$shell" >/dev/null || continue
	behaviour "$shell accepts its script"
	run "$shell" -n "$work/npuprof.$shell"
	expect_exit 0
	expect_no_stderr
done
