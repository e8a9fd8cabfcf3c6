#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What modes show on the screen, and the modes whose tables the merged run has anyway.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

run "$synth" -o "$work/run" --ranks 4 --schedule 3d --steps 2 --layers 2 --slow-rank 2:1.4 -q
cp -r "$work/run" "$work/copy"

# mode <modes> [option...]: on a copy, so that CSV goes to stdout
mode() {
	local modes=$1

	shift
	run "$npuprof" cluster -d "$work/copy" -m "$modes" "$@"
}

behaviour 'modes of communication show their own tables, totals first'
mode communication_matrix_sum
expect_exit 0
expect_equal "$(head -2 "$work/stdout" | tr -s ' ')" 'ClusterCommunicationMatrix: links of each communicator by class of operator
 step group_name src_rank dst_rank MB transit GB/s transport_type'
expect_equal "$(sed -n '3p' "$work/stdout" | awk '{ print $1, $3, $4 }')" 'step10 0 0'
expect_stdout_lacks Verdict
mode communication_time
expect_stdout_has 'ClusterCommunicationTime: ' 'ClusterCommunicationBandwidth: '
expect_stdout_lacks Verdict
mode communication_group_map
expect_stdout_has 'CommunicationGroupMapping: ' '(0,1,2,3)'
mode all,communication_group_map
expect_stdout_has Verdict 'CommunicationGroupMapping: '

behaviour 'their CSV is that of their tables'
while read -r name header; do
	mode "$name" -f csv
	expect_exit 0
	expect_equal "$(head -1 "$work/stdout" | cut -d, -f1-4)" "$header"
done <<-END
	communication_time step,rank_id,hccl_op_name,group_name
	communication_time_sum step,rank_id,hccl_op_name,group_name
	communication_matrix step,hccl_op_name,group_name,src_rank
	communication_matrix_sum step,hccl_op_name,group_name,src_rank
	communication_group_map type,rank_set,group_name,group_id
END
rows=$(wc -l <"$work/stdout")
expect_equal "$((rows - 1))" "$(sqlite3 "$work/copy/cluster_analysis_output/cluster_analysis.db" \
	'SELECT count(*) FROM CommunicationGroupMapping')"
mode communication_group_map,hccl_sum -f csv --table HcclGroupNameMap
expect_stdout_has 'GroupName,GroupId,Ranks'

behaviour 'who asks for the table of a mode asks for the mode'
database=$work/copy/cluster_analysis_output/cluster_analysis.db
tables() {
	sqlite3 "$database" "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
}
mode all
tables >"$work/anyway"
mode "$("$npuprof" cluster -m none 2>&1 | sed -n 's/.*one of \(.*\) or \(.*\)/\1,\2/p' | tr -d ' ')" -q --base "$work/copy"
tables >"$work/tables"
expect 'modes add tables' test "$(comm -13 "$work/anyway" "$work/tables" | wc -l)" -ge 31
for table in $(comm -13 "$work/anyway" "$work/tables"); do
	[[ $table == ClusterTimeCompareSummary ]] && base=(--base "$work/copy") || base=()
	mode all -q -f csv --table "$table" "${base[@]}"
	expect "$table has a head" test -s "$work/stdout"
done
mode all -f csv --table slowrank
expect_exit 2
expect_stderr_has "no table 'slowrank'; did you mean 'SlowRank'?"

behaviour 'and so is their JSON'
mode communication_matrix -f json
expect_equal "$(sqlite3 :memory: "SELECT json_array_length(readfile('$work/stdout'),
	'\$.modes.ClusterCommunicationMatrix')")" \
	"$(sqlite3 "$work/copy/cluster_analysis_output/cluster_analysis.db" 'SELECT count(*) FROM ClusterCommunicationMatrix')"

behaviour 'names are told apart, reasons are whole, and no line is wider than the screen'
modes=cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,cann_api_sum,free_analysis
modes=$modes,communication_bottleneck,computational_op_masking,freq_analysis,p2p_pairing
modes=$modes,communication_time,communication_matrix,communication_group_map
mode "$modes"
expect_exit 0
expect_stdout_has hcom_receive__419_10_1 'FlashAttentionScore ' 'np_pipeline says why its'
expect "a line is wider than 100 columns" test "$(wc -L <"$work/stdout")" -le 100
expect_equal "$(grep -c 'max remaining free' "$work/stdout")" 15

if command -v script >/dev/null; then
	behaviour 'a narrow screen does without the least telling columns'
	command="$npuprof cluster -d $work/copy -m $modes"
	script -qec "stty cols 80; NO_COLOR=1 $command" /dev/null </dev/null 2>"$work/stderr" | tr -d '\r' >"$work/stdout"
	expect 'a line is wider than 80 columns' test "$(wc -L <"$work/stdout")" -le 80
	expect_stdout_has 'FlashA…eGrad' 'opConnectionId'
	expect_equal "$(grep '^ *name ' "$work/stdout" | head -1 | tr -s ' ')" \
		' name % total count average med min max maxRank'
fi

behaviour 'times carry their units'
mode cluster_time_summary --steps 10
expect_equal "$(sed -n 3p "$work/stdout" | grep -o '[mu]s' | wc -l)" 8
expect_equal "$(head -1 "$work/stdout")" 'ClusterTimeSummary: a step of a rank in one row'
mode communication_time
expect_stdout_lacks 'in ms'
mode cluster_time_summary -f md
expect_stdout_has 'a step of a rank in one row, in µs'
mode computational_op_masking
expect_equal "$(sed -n 2p "$work/stdout" | tr -s ' ')" \
	' rankId stepId parallelType communication of step not hidden of step'
expect_equal "$(sed -n 3p "$work/stdout" | grep -o '[mu]s' | wc -l)" 2

behaviour 'modes may be given one by one'
mode slow_rank -m hccl_sum
expect_stdout_has 'SlowRank: ' 'HcclAllRankStats: '
expect_stdout_lacks Verdict

behaviour 'nothing found says why'
mode slow_rank --ranks 0-2
expect_exit 0
expect_stdout_has 'nothing found: the test needs collectives of 4 profiled ranks or more'
mode slow_rank
expect_stdout_lacks 'the test needs'
run "$synth" -o "$work/even" --ranks 8 --schedule 3d --steps 2 --layers 2 -q
run "$npuprof" cluster -d "$work/even" -m slow_rank
expect_exit 0
expect_stdout_says 'nothing found: no collective of 4 ranks or more waited for one rank far longer than for the others'
mode ep_load_balance
expect_stdout_has 'nothing found: no GroupedMatmul kernels with recorded shapes'
mode freq_analysis -f md
expect_stdout_has '| rankId | aicoreFrequency |' 'nothing found: AI cores ran at the rated clock of their chip, or rested'
mode hccl_sum -f md
expect_stdout_lacks 'nothing found'
mode freq_analysis
expect_stdout_has 'nothing found: AI cores ran at the rated clock of their chip, or rested'

behaviour 'the longest gaps of all ranks come first'
mode free_analysis --top-num 2
expect_equal "$(sed -n 's/^ *[0-9] *\([0-9.]*\) us$/\1/p' "$work/stdout")" \
	"$(sed -n 's/^ *[0-9] *\([0-9.]*\) us$/\1/p' "$work/stdout" | sort -rn)"
expect_equal "$(sqlite3 "$work/copy/cluster_analysis_output/cluster_analysis.db" \
	'SELECT group_concat(rankId) FROM FreeAnalysis')" 0,0,1,1,2,2,3,3
