#!/usr/bin/env bash
# npu-train-demo on the simulated libraries: options, groups, marks, failures, and
# what it leaves behind when it profiles itself.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

train=$NPUPROF_BUILD/npu-train-demo
unset RANK WORLD_SIZE LOCAL_RANK RANK_ID MASTER_ADDR MASTER_PORT

# Segments that killed jobs of other tests have left are none of this test's.
shm_before=$(cd /dev/shm && printf '%s ' npusim.*)

# Small and quick: three steps of a narrow model.
small=(--steps 3 --layers 4 --hidden 512 --data-ms 0)

# lines <kind> <rank>: lines of a kind in the device slices of a rank's directory $work/prof/<rank>
lines() {
	cat "$work/prof/$2"/PROF_*/device_*/data/npusim.data.*.slice_0 | awk -F'\t' -v kind="$1" '$1 == kind'
}

# host_lines <kind> <rank>
host_lines() {
	cat "$work/prof/$2"/PROF_*/host/data/npusim.host.slice_0 | awk -F'\t' -v kind="$1" '$1 == kind'
}

# by_rank: move the directories of all ranks to $work/prof/<rank>
by_rank() {
	local dir rank

	for dir in "$work"/raw/PROF_*; do
		rank=$(sed -E 's/.*"rank_id":(-?[0-9]+).*/\1/' "$dir/host/info.json")
		mkdir -p "$work/prof/$rank"
		mv "$dir" "$work/prof/$rank/"
	done
}

# profile <ranks> <option>...: train with --self-profile into a fresh $work/prof/<rank>
profile() {
	local ranks=$1

	shift
	rm -rf "$work/raw" "$work/prof"
	run timeout 60 "$train" --ranks "$ranks" "${small[@]}" -q --self-profile "$work/raw" "$@"
	expect_exit 0
	expect_no_stderr
	by_rank
}

behaviour 'the help names the options, and what is wrong is refused'
run "$train" --help
expect_exit 0
expect_stdout_has '--mark' '--mpi' '--crash-rank' '--no-finalize' '--self-profile' '--pp'
run "$train" --mark loudly
expect_exit 2
expect_stderr_has "--mark takes mstx, npuprof or none, not 'loudly'"
run "$train" --layers 5 --pp 2
expect_exit 2
expect_stderr_has '5 layers cannot be divided over 2 stages'
run "$train" --steps 0
expect_exit 2
run "$train" --ranks 2 --tp 4 --steps 1
expect_exit 1
expect_stderr_has '2 ranks cannot be divided by tp 4 and pp 1'
run "$train" --ranks 2 --dp 4 --steps 1
expect_exit 1
expect_stderr_has '2 ranks with tp 1 and pp 1 make dp 2, not 4'

behaviour 'every kind of job comes to its end'
for kind in '--ranks 1' '--ranks 4' '--ranks 4 --tp 2 --dp 2' '--ranks 4 --pp 2' '--ranks 8 --tp 2 --pp 2' \
	'--ranks 4 --moe' '--ranks 2 --grad-accum 3' '--ranks 2 --mark mstx' '--ranks 2 --mark none'; do
	# shellcheck disable=SC2086
	run timeout 60 "$train" $kind "${small[@]}"
	expect_exit 0
	expect_stdout_has 'step 2: '
	expect_no_stderr
done

behaviour 'all steps but the first are recorded, with kernels, operators and marks'
profile 4 --mark mstx --self-mask 0xa7
for rank in 0 1 2 3; do
	expect_equal "$(host_lines GROUP $rank | cut -f3 | sed 's/.*%.*/world/' | sort | tr '\n' ' ')" 'dp_0 world '
	expect_equal "$(host_lines GROUP $rank | cut -f6 | sort -u)" 0,1,2,3
	expect_equal "$(host_lines MSTX $rank | cut -f11 | sort | uniq -c | xargs)" '2 dataloader 1 step 1 1 step 2'
	# Per step: 4 layers of 10 and 8 kernels, 1 + 2 outside them, the norm, 4 optimizers of 2.
	expect_equal "$(lines KERNEL $rank | wc -l)" $((2 * (4 * 18 + 4 + 4 * 2)))
	# Per step: 4 buckets and the norm.
	expect_equal "$(lines COMM $rank | wc -l)" 10
	expect_equal "$(lines END $rank | wc -l)" 1
done

behaviour 'an operator ends at the same time on all ranks'
for rank in 0 1 2 3; do
	lines COMM $rank | cut -f4,6,7 | sort >"$work/ends.$rank"
	expect_equal "$(cmp "$work/ends.0" "$work/ends.$rank" && echo same)" same
done

behaviour 'tasks of a stream do not overlap'
for rank in 0 3; do
	expect_equal "$(lines TASK $rank | sort -t"$(printf '\t')" -k5,5n -k3,3n |
		awk -F'\t' '$8 ~ /KERNEL/ && $5 == stream && $3 < end { n++ } $8 ~ /KERNEL/ { stream = $5; end = $4 } END { print n + 0 }')" 0
done

behaviour 'a slow rank makes the others wait'
# So slow that the delays of a busy machine, tens of milliseconds on either rank, do not count.
NPUSIM_SLOW_RANK=1 NPUSIM_SLOW_FACTOR=50 profile 2
# waiting <rank>: nanoseconds of Notify Wait on planes
waiting() {
	lines TASK "$1" | awk -F'\t' '$8 == "Notify Wait" { n += $4 - $3 } END { printf "%d\n", n }'
}
expect 'rank 0 waits more than rank 1' test "$(waiting 0)" -gt "$(waiting 1)"

behaviour 'Level0 has the times and not the rest'
profile 2 --self-mask 0x801
expect_equal "$(lines COMMTASK 0 | cut -f4- | sort -u)" "$(printf -- '-\t%.0s' 1 2 3 4 5 6 7 8 9 10 11)-"
expect_equal "$(lines COMM 0 | cut -f8-11 | sort -u)" "$(printf -- '-\t-\t-\t-')"
expect_equal "$(lines KERNEL 0 | cut -f4 | sort -u)" -
expect_equal "$(lines PMU 0 | wc -l)" 0

behaviour 'simulated hosts have names, devices and clocks of their own'
NPUSIM_HOST_OF=0-1:hostA,2-3:hostB NPUSIM_CLOCK_SKEW=hostB:7000000 profile 4
expect_equal "$(lines SESSION 1 | cut -f6,8)" "$(printf '1\thostA')"
expect_equal "$(lines SESSION 2 | cut -f6,8)" "$(printf '0\thostB')"
first=$(lines COMM 0 | cut -f4 | head -1)
third=$(lines COMM 2 | cut -f4 | head -1)
expect_equal $((third - first)) 7000000
expect 'there is RDMA between hosts' test "$(lines COMMTASK 0 | cut -f4 | grep -c RDMASend)" -gt 0

behaviour 'a call that is told to fail fails on that rank alone'
rm -rf "$work/raw"
NPUSIM_HCCL_TIMEOUT_MS=500 NPUSIM_FAIL=aclprofStart:rank1:500005 run timeout 60 "$train" --ranks 2 "${small[@]}" -q \
	--self-profile "$work/raw"
expect_exit 1
expect_stderr_has 'rank 1: aclprofStart: error 500005' 'rank 0: aclrtSynchronizeStream: error 500003'

behaviour 'a rank that dies does not make the others hang'
NPUSIM_HCCL_TIMEOUT_MS=500 run timeout 60 "$train" --ranks 3 "${small[@]}" --crash-rank 1 --crash-step 1
expect_exit 134
expect_stderr_has 'rank 1 crashes at step 1, as asked' 'rank 0: aclrtSynchronizeStream: error 500003'
NPUSIM_HCCL_TIMEOUT_MS=500 NPUSIM_KILL_AT_STEP=0:2 run timeout 60 "$train" --ranks 2 "${small[@]}" -q
expect_exit 137
expect_stderr_has 'rank 1: aclrtSynchronizeStream: error 500003'

behaviour 'a rank that is killed leaves an unfinished collection'
rm -rf "$work/raw" "$work/prof"
NPUSIM_HCCL_TIMEOUT_MS=500 NPUSIM_KILL_AT_STEP=1:2 run timeout 60 "$train" --ranks 2 "${small[@]}" -q \
	--self-profile "$work/raw"
by_rank
expect_equal "$(find "$work/prof/1" -name end_info -o -name '*.done')" ''
expect_file "$(echo "$work"/prof/1/PROF_*/host/start_info)"

behaviour 'leaving without aclFinalize completes the collection'
profile 2 --no-finalize
expect_equal "$(lines END 0 | wc -l)" 1

behaviour 'nothing stays in shared memory'
# left_behind: segments of processes that are gone, after a moment for those that are being opened
left_behind() {
	local try name left

	for try in {1..9}; do
		left=
		for name in /dev/shm/npusim.*; do
			name=${name#/dev/shm/npusim.}
			[[ $name == '*' || " $shm_before" == *" npusim.$name "* ]] || kill -0 "${name%%.*}" 2>/dev/null ||
				grep -qsF "/dev/shm/npusim.$name" /proc/[0-9]*/maps || left="$left $name"
		done
		[[ -n $left ]] || break
		sleep "0.$try"
	done
	echo "$left"
}
expect_equal "$(left_behind)" ''
