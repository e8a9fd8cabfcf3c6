#!/usr/bin/env bash
# Two nodes in network namespaces with a link between them: clocks, failures and the
# gathering of results across it, and the link cut in the middle.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program ip unshare nsenter

tag=np$$
cleanup() {
	ip netns del "${tag}a" 2>/dev/null
	ip netns del "${tag}b" 2>/dev/null
	ip link del "${tag}a" 2>/dev/null
	return "$1"
}
trap 'cleanup $?; at_end' EXIT
# make_nodes: two namespaces and a pair of network devices
make_nodes() {
	ip netns add "${tag}a" && ip netns add "${tag}b" && ip link add "${tag}a" type veth peer name "${tag}b"
}
make_nodes 2>"$work/stderr" || skip "no network namespaces here: $(head -n 1 "$work/stderr")"
for side in a b; do
	ip link set "$tag$side" netns "$tag$side"
	ip -n "$tag$side" link set lo up
	ip -n "$tag$side" link set "$tag$side" up
done
ip -n "${tag}a" addr add 10.211.55.1/24 dev "${tag}a"
ip -n "${tag}b" addr add 10.211.55.2/24 dev "${tag}b"
await 10 ip netns exec "${tag}b" sh -c ': </dev/null; ip route get 10.211.55.1 >/dev/null' ||
	skip 'the link does not come up'

# linked <job> <option>... -- <command>...: a launcher and two ranks in each namespace
linked() {
	local job=$1 options=() side node

	shift
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	node_pids=()
	for node in 0 1; do
		((node)) && side=b || side=a
		SLURM_PROCID=$((2 * node)) MASTER_ADDR=10.211.55.1 ip netns exec "$tag$side" timeout -k 10 90 \
			"$collector" -o "$work/prof" --job "$job" --rdzv 10.211.55.1:29400 --nnodes 2 --node-rank $node \
			"${options[@]}" -- "$work/torchrun" $node 2 4 29500 "$@" \
			>"$work/stdout.$node" 2>"$work/stderr.$node" </dev/null &
		node_pids+=($!)
	done
}
export NPUSIM_HOST_OF=0-1:hostA,2-3:hostB

behaviour 'clocks are compared and results gathered across the link'
NPUSIM_CLOCK_SKEW=hostB:5000000 linked good --ranks all --step-start 2 --step-end 4 --export after -- \
	"$train" -q --steps 8 --layers 2
both_end
expect_exit 0
expect_equal "$status1" 0
expect_equal "$(each_rank good "r ->> 'state'")" 'exported exported exported exported'
cat >"$work/samples.sql" <<SQL
SELECT count(*) >= 3, min(abs((value ->> 'offset_ns') - 5000000) <= (value ->> 'uncertainty_ns'))
FROM json_each(readfile('$work/prof/good/npuprof_manifest.json'), '\$.hosts[1].clock');
SQL
expect_equal "$(sqlite3 :memory: <"$work/samples.sql")" '1|1'
run "$npuprof" cluster -d "$work/prof/good" -f json
expect_exit 0

behaviour 'windows are asked for on either side; the launcher there passes it on'
linked asked --dynamic --ranks all --grace 3 -- "$train" -q --steps 100000 --layers 2 --data-ms 20
# ask <side> <argument>...: npuprof ctl in one of the namespaces
ask() {
	local side=$1

	shift
	run ip netns exec "$tag$side" timeout -k 5 60 "$npuprof" ctl "$@" -d "$work/prof/asked"
}
trains() {
	ask b status && grep -qE 'steps? [0-9]' "$work/stdout"
}
# asked <side>: is a window asked for, and the last one known to be closed?
asked() {
	ask "$1" start --steps 2
	! grep -q 'a window is open' "$work/stderr"
}
# closed <window>: are all its collections complete?
closed() {
	(($(find "$work/prof/asked/window-$1" -path '*/host/end_info' | wc -l) == 4))
}
expect 'it never began' await 30 trains
expect_stdout_has 'job asked: 2 launchers'
expect_equal "$(stat -c %a "$work"/prof/asked/npuprof_control*.json | sort -u)" 600
for side in b a; do
	expect 'the last window never ended' await 30 asked $side
	expect_exit 0
	expect_stdout_has 'on 4 ranks' "in '$work/prof/asked/window-"
	expect 'it was never complete' await 30 closed "$([[ $side == b ]] && echo 1 || echo 2)"
done
ask b start --ranks 7
expect_exit 1
expect_stderr_has 'none of the ranks that were asked for'
kill -TERM "${node_pids[1]}"
both_end
expect_equal "$(manifest asked '$.windows[0].ranks')|$(manifest asked '$.windows[1].ranks')" '[0,1,2,3]|[0,1,2,3]'
expect 'files of sockets are left' test -z "$(compgen -G "$work/prof/asked/npuprof_control*")"
expect_nothing_left

behaviour 'a rank that crashes on the other side ends the job here'
linked crash --ranks all --step-start 1 --grace 3 -- "$train" -q --steps 60 --layers 2 --crash-rank 3 --crash-step 4
both_end
expect 'the status is not 0' test "$status" -ne 0
expect_stderr_has 'the application of node 1 ended with status'
expect_nothing_left

behaviour 'a link that is cut is noticed on both sides, which end by themselves and keep what they have'
linked cut --ranks all --step-start 1 --grace 15 -- "$train" -q --steps 100000 --layers 2
expect 'it never began' await 30 profiles cut 4
ip -n "${tag}b" link set "${tag}b" down
start=$SECONDS
both_end
expect "it took $((SECONDS - start)) s" test $((SECONDS - start)) -le 45
expect 'the status is not 0' test "$status" -ne 0
expect 'nor that of the other' test "$status1" -ne 0
expect_stderr_has 'the connection to the launcher of node 1 is lost'
expect 'it is said on the other side' grep -q 'the connection to launcher 0 is lost' "$work/stderr.1"
expect_equal "$(complete cut)" 4
expect 'the manifest tells what happened' grep -q 'node whose launcher was lost\|"raw"' "$work/prof/cut/npuprof_manifest.json"
expect_nothing_left
