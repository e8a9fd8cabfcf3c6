#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One analysis on several processes: the same bytes, one voice, no hang.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program mpirun sqlite3 timeout
[[ -e $NPUPROF_BUILD/libnpuprof_mpi.so ]] || skip 'built without Open MPI'
# Containers run tests as root, and machines have fewer processors than tests have processes.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
# Who fails is not waited for, and no network is looked for.
export OMPI_MCA_odls_base_sigkill_timeout=0 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader

small=(--steps 2 --layers 2 --kernels-per-layer 4 --noise 0)
"$synth" -q -o "$work/c" --ranks 7 "${small[@]}" --slow-rank 5:1.5 || exit 1
"$synth" -q -o "$work/text" --ranks 2 "${small[@]}" --format text || exit 1
cd "$work" || exit 1

# together <processes> <argument>...: bounded, as one that hangs fails the test
together() {
	local processes=$1

	shift
	run timeout -k 5 60 mpirun -q -n "$processes" "$npuprof" "$@"
}

# timeless: what stands on stdin without the times that rules took
timeless() {
	sed 's/"elapsed_ns": *[0-9]*//'
}

# dump <output directory>: the merged database as text
dump() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" .dump
}

# same_everywhere <input> <argument>...: 1, 2 and 4 processes give what one program gives
same_everywhere() {
	local input=$1 processes jobs

	shift
	run "$npuprof" cluster "$input" -f json -o one "$@"
	cp stdout one.json
	dump one >one.sql
	for processes in 1 2 4; do
		for jobs in 1 2; do
			rm -rf many
			together "$processes" cluster "$input" -f json -o many -j "$jobs" "$@"
			expect_exit 0
			expect "JSON is the same with $processes processes" cmp stdout one.json
			dump many >many.sql
			expect "the database is the same with $processes processes" cmp many.sql one.sql
		done
	done
}

behaviour 'the result does not depend on the number of processes'
same_everywhere c

behaviour 'nor does that of text files, with more processes than ranks'
same_everywhere text

behaviour 'nor do modes, chosen ranks and steps'
same_everywhere c --ranks 1-5 --steps 11 -m all,compute_op_sum

if [[ -n ${NPUPROF_SHARED:-} && -d $NPUPROF_SHARED/data ]]; then
	behaviour 'nor does that of recorded profiles'
	for input in "$NPUPROF_SHARED"/data/*/; do
		run "$npuprof" cluster "$input" -f json -o one
		[[ $status == 0 || $status == 3 ]] || continue
		cp stdout one.json
		code=$status
		together 2 cluster "$input" -f json -o many
		expect_exit "$code"
		expect "JSON of $input is the same" cmp stdout one.json
	done
fi

behaviour 'other commands work together as well'
for verb in whatif info advisor 'compare text'; do
	# shellcheck disable=SC2086
	run "$npuprof" $verb c -f json
	code=$status
	timeless <stdout >one.json
	# shellcheck disable=SC2086
	together 3 $verb c -f json
	expect_exit "$code"
	timeless <stdout >many.json
	expect "$verb is the same" cmp many.json one.json
	expect "$verb prints something" test -s one.json
done

behaviour 'processes keep and use summaries'
run "$npuprof" cluster c -f json -o one --cache cache1
cp stdout one.json
together 3 cluster c -f json -o many --cache cache3
expect_exit 0
expect 'they are the same' diff -r cache1 cache3
together 2 cluster --from-summaries cache3 -f json -o many
expect_exit 0
expect 'JSON is the same' cmp stdout one.json

behaviour 'one voice: wrong usage is said once, and all end with its status'
together 4 cluster c --ranks 99
expect_exit 2
expect_equal "$(grep -c 'no rank 99' stderr)" 1
expect_no_stdout
together 2 cluster nowhere
expect_exit 2
expect_equal "$(grep -c 'not a directory' stderr)" 1

behaviour 'a rank that another process cannot read costs that rank, with the same words'
for rank in 0 1 2 3 4 5 6; do
	database=$(ls c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$rank.db)
	find "$(dirname "$database")" -name analysis.db -delete
	((rank % 2)) || : >"$database"
done
run "$npuprof" cluster c -f json -o one
expect_exit 3
cp stdout one.json
together 4 cluster c -f json -o many
expect_exit 3
expect 'JSON is the same' cmp stdout one.json

behaviour 'no rank can be read: the first is told, once'
for database in c/*/ASCEND_PROFILER_OUTPUT/*.db; do
	: >"$database"
done
before=$(dump one | sha256sum)
together 3 cluster c -o one
expect_exit 1
expect_equal "$(grep -c 'none of the 7 ranks could be read' stderr)" 1
expect 'the earlier result is still there' test "$(dump one | sha256sum)" = "$before"

behaviour 'a process that is killed ends all, and leaves the old result'
cat >killer <<-'END'
	#!/bin/sh
	# The second process dies before it has done anything.
	[ "$OMPI_COMM_WORLD_RANK" != 1 ] || kill -KILL $$
	exec "$@"
END
chmod +x killer
run timeout -k 5 60 mpirun -q -n 2 ./killer "$npuprof" cluster text -o one
expect 'the status is that of a failure' test "$status" -ne 0 -a "$status" -ne 124
expect 'the earlier result is still there' test "$(dump one | sha256sum)" = "$before"

behaviour 'without the library it is said once, and nothing is done by many at once'
cp "$npuprof" alone
run timeout -k 5 60 mpirun -q -n 2 ./alone cluster text -o nothing
expect_exit 1
expect_equal "$(grep -c 'cannot work on several processes' stderr)" 1
expect 'nothing was written' test ! -e nothing

behaviour 'a plain npuprof neither needs nor loads MPI'
expect 'it is not linked' test -z "$(ldd "$npuprof" | grep -i libmpi)"
if command -v strace >/dev/null; then
	strace -f -e trace=openat -o trace "$npuprof" cluster text -o one -q >/dev/null
	expect 'it is not opened' test -z "$(grep -i 'libmpi\|npuprof_mpi' trace)"
fi
