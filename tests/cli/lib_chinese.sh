# shellcheck shell=bash disable=SC2154
# For tests of what people read in Chinese, after lib.sh.

# English words that Chinese engineers write as well, units, what is typed, and what files and commands call things.
chinese_allowed='rank|ranks|step|steps|shape|token|tokens|plane|stage|link|host|batch|kernel|kernels|micro|stream|socket'
chinese_allowed+='|tp|dp|pp|ep|cp|edp|mp|s|ms|us|ns|kB|p|x|w|m|c|f|cube|vector|scalar|fixpipe|mte|world|size|max|id'
chinese_allowed+='|mstx|trace|profiler|prof|dump|pickle|gzip|torch|torchrun|msprof|npuprof|mpirun|locale|bash|zsh|fish|text|db'
chinese_allowed+='|table|json|csv|md|sarif|all|groups|analyses|help|info|cluster|whatif|compare|advisor|report|timeline|memory|mcp'
chinese_allowed+='|rules|collect|ctl|export|completion|list|show|check|test|views|start|stop|status|high|medium|low|peak|end'
chinese_allowed+='|inner|full|stack|lifetime|marks|period|none|range|auto|static|dynamic|worker|import|source|optype|rejoin'
chinese_allowed+='|between|compute|comm|wait|transfer|free|memcpy|other|unknown|tiny|python|options|rm|reduce|bucket|dtype'
chinese_allowed+='|all-reduce|host-gaps|hide-comm|micro-batch|virtual|parquet|tar|mask|ng|cann|acl|mpi|tcp|inapp|after|never|now|light|step_start|waterfall|structure|estimate|true|false'
chinese_allowed+='|cn|en|zh|shell|msprof-analyze|npuprof-collect|api|kernel-type|module|operator|enable|explicit|hccl|helper|node-leaders'
chinese_allowed+='|stamp|sync|time|toolkit|default|allreduce|removed'
chinese_allowed+='|kernels-per-layer|schedule|frequency|experts|reserved|active|requested|notebook|code|message|suggestion|gain'
chinese_allowed+='|overall|communication|computation|scheduling|comparison|group|role|schema|key|value|break|partition|device|to'
chinese_allowed+='|history|watch|merge|judge|window|add|trend|effects|advise|prune|remove|own|computing|idle|charge'

# untranslated [file]: words of a screen that are neither allowed nor a name, an option, a path, a command to paste, SQL
# or something that is quoted; nor the tail of a name that was cut
untranslated() {
	LC_ALL=C sed -E -e "s/'[^']*'//g" -e '/\xef\xbc\x9a +(npuprof|mpirun) /d' -e '/MindStudio Insight:/d' \
		-e '/^ +\[[#w=.mc]+\]$/d' -e 's/-d [^ ]+//g' -e 's/\xe2\x80\xa6[A-Za-z0-9_.]+//g' -e '/^ +(\xe6\x9f\xa5\xe8\xaf\xa2|SELECT|FROM|JOIN|WHERE|GROUP|CASE)/d' \
		"${1:-$work/stdout}" |
		LC_ALL=C grep -oE '[][A-Za-z0-9_./=:*<>+%$@#~^&|(){},-]+' | LC_ALL=C sed -E 's/^[({[]+//; s/[]:.,)}]+$//' |
		LC_ALL=C grep -xE '[A-Za-z]?[a-z]+([,-][a-z]+)*' | tr ',' '\n' | LC_ALL=C grep -vxE "$chinese_allowed" |
		LC_ALL=C grep -vxE 'MindStudio|Insight|Core|Perfetto|Open|Slurm|Kineto|Systems|Nsight|Flash|Add|Mul|Cast|Cube|Vector|Other' |
		LC_ALL=C grep -vxE '[A-Z][a-z]+' | sort -u | tr '\n' ' '
}

# expect_chinese [words]...: on both streams; nothing but these words is English that is not allowed anyway
expect_chinese() {
	local left also

	also=$(printf '%s|' "$@")
	left=$({ untranslated "$work/stdout" && untranslated "$work/stderr"; } | tr ' ' '\n' | grep -vxE "${also%|}" | tr '\n' ' ')
	expect_equal "$left" ''
	expect 'no number is parted from its unit' test \
		"$(grep -cE '^ *(ns|us|ms|s|%|kB|MB|GB|GB/s|个)([ ,;.)，；）]|$)' "$work/stdout")" = 0
	expect 'no line begins with what ends a sentence' test "$(grep -cE '^ *(，|；|。|）|、|：)' "$work/stdout")" = 0
}
