#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What needs no data is checked before anything is read: the directory is not even looked for.
. "$(dirname "$0")/lib.sh"

nowhere=$work/nowhere

# refused <text> <command> [option...]: wrong usage, although the directory is missing, too
refused() {
	local text=$1 name=$2

	shift 2
	run "$npuprof" "$name" -d "$nowhere" "$@"
	expect_exit 2
	expect_stderr_has "$text"
	expect 'the directory is not named' test "$(grep -cF "$nowhere" "$work/stderr")" = 0
	expect_no_stdout
}

behaviour 'a table that no run has is refused first, with the one that was meant or all there are'
refused "no table 'slowrank'; did you mean 'SlowRank'?" cluster -f csv --table slowrank
refused "no table 'np_comm_stp'; did you mean 'np_comm_step'?" cluster -f csv --table np_comm_stp
refused "no table 'nothing like it'; there are ClusterStepTraceTime, ClusterCommunicationTime, " \
	cluster -f csv --table 'nothing like it'
refused ', np_skipped, np_run_info, and those of modes' cluster -f csv --table 'nothing like it'

behaviour 'tables of the modes that were asked for are listed first'
refused "there are CommunicationGroupMapping, SlowRank, SlowOpStats, ClusterStepTraceTime, " \
	cluster -f csv -m slow_rank,communication_group_map --table 'nothing like it'

behaviour 'a table that exists is none of the mistakes, even if its directory is'
for table in np_comm_step ClusterBaseInfo SlowRank; do
	run "$npuprof" cluster -d "$nowhere" -f csv --table "$table"
	expect_stderr_has "'$nowhere' is not a directory"
done

behaviour 'the table matters where one is printed'
refused "no table 'slowrank'; did you mean 'SlowRank'?" cluster --table slowrank
run "$npuprof" cluster -d "$nowhere" -f json --table slowrank
expect_stderr_has "'$nowhere' is not a directory"
run "$npuprof" cluster -d "$nowhere" -f csv -o "$work/out" --table slowrank
expect_stderr_has "'$nowhere' is not a directory"

behaviour 'what is no rank is refused first'
refused "'five' is no rank" cluster -m communication_bottleneck --rank-id five
refused "'-1' is no rank" cluster -m communication_bottleneck --rank-id=-1

behaviour 'a mode that does not exist is refused first'
refused "'slow_rnk'" cluster -m slow_rnk

behaviour 'what is no repair is refused first'
refused "'rnak:5' is no repair" whatif --fix rnak:5
refused "'host-gaps:3' is no repair" whatif --fix rank:1 --fix host-gaps:3

behaviour 'info knows its tables before it reads'
refused "'rnaks'" info -f csv --table rnaks

behaviour 'nothing was made on the way'
expect 'no directory' test ! -e "$nowhere"
expect 'no output' test ! -e "$work/out"
