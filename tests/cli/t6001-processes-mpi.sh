#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One analysis on several processes: the same bytes, one voice, no hang.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program mpirun sqlite3 timeout
[[ -e $NPUPROF_BUILD/libnpuprof_mpi-openmpi.so ]] || skip 'built without Open MPI'
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
	run timeout -k 5 60 mpirun -q -n "$processes" "${program:-$npuprof}" "$@"
}

# Notes which files the first process opens.
cat >traced <<-END
	#!/bin/sh
	[ "\$OMPI_COMM_WORLD_RANK" = 0 ] || exec $npuprof "\$@"
	exec strace -f -e trace=openat,open -o first.trace $npuprof "\$@"
END
chmod +x traced

# timeless: what stands on stdin without the times that rules took
timeless() {
	sed 's/"elapsed_ns": *[0-9]*//'
}

# dump <output directory>: the merged database as text
dump() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" .dump
}

# result: what the last run printed, its status, and the database and tables that it wrote
result() {
	timeless <stdout
	echo "status $status"
	if [[ -d out ]]; then
		[[ ! -e out/cluster_analysis_output/cluster_analysis.db ]] || dump out
		find out -name '*.csv' | LC_ALL=C sort | xargs -r cat
		rm -r out
	fi
}

# same_everywhere <processes>... -- <command> <argument>...: one thread, two threads and these
# numbers of processes give the same bytes and the same status
same_everywhere() {
	local numbers=() processes

	while [[ $1 != -- ]]; do
		numbers+=("$1")
		shift
	done
	shift
	run "$npuprof" "$@" -f json -o out -j 1
	expect "$1 is done" test "$status" = 0 -o "$status" = 3
	result >one.txt
	expect "$1 prints something" test -s one.txt
	run "$npuprof" "$@" -f json -o out -j 2
	result >many.txt
	expect "$1 is the same with two threads" cmp many.txt one.txt
	for processes in "${numbers[@]}"; do
		together "$processes" "$@" -f json -o out -j $((processes == 2 ? 2 : 1))
		result >many.txt
		expect "$1 is the same with $processes processes" cmp many.txt one.txt
	done
}

# Every mode of one run; those that find nothing they need say so.
modes=$("$npuprof" cluster c -m nothing 2>&1 | sed -n 's/.*it is one of //p' |
	sed 's/ or /,/; s/ //g; s/,cluster_time_compare_summary//')
expect 'there are modes' test "${#modes}" -gt 100

behaviour 'the result does not depend on the number of threads and processes, whatever the command'
same_everywhere 1 2 4 -- cluster c
same_everywhere 1 2 4 -- cluster c -m "$modes" --ranks 1-5 --steps 11
same_everywhere 1 2 4 -- whatif c --fix frequency
same_everywhere 1 2 4 -- info c
same_everywhere 1 2 4 -- advisor c --base text
same_everywhere 1 2 4 -- compare text c --view kernel,communication,operator,module

behaviour 'the screen is the same too, without colours that nobody asked for'
run "$npuprof" cluster c -o out -m all,hccl_sum
cp stdout one.txt
together 2 cluster c -o out -m all,hccl_sum
expect 'the screen is the same with 2 processes' cmp stdout one.txt
rm -r out

behaviour 'nor does the result depend on whether ranks are text, with more processes than ranks'
same_everywhere 4 -- cluster text -m "$modes"
same_everywhere 2 -- advisor text

if [[ -n ${NPUPROF_SHARED:-} && -d $NPUPROF_SHARED/data ]]; then
	behaviour 'nor does that of recorded profiles'
	for input in "$NPUPROF_SHARED"/data/resnet-2of8/{db,text}; do
		same_everywhere 2 -- cluster "$input" -m "$modes"
		same_everywhere 2 -- advisor "$input"
	done
	same_everywhere 1 2 4 -- cluster "$NPUPROF_SHARED/data/llm-pp2dp2" -m "$modes"
	for command in advisor whatif info; do
		same_everywhere 1 2 4 -- "$command" "$NPUPROF_SHARED/data/llm-pp2dp2"
	done
	same_everywhere 1 2 4 -- compare "$NPUPROF_SHARED/data/resnet-2of8"/{db,text}
fi

behaviour 'who loaded a rank reads its details: the first process opens its own ranks alone'
if command -v strace >/dev/null; then
	for command in 'cluster c -m compute_op_sum' 'advisor c' 'compare c c'; do
		# shellcheck disable=SC2086
		program=./traced together 2 $command -o out -q
		opened=$(grep -o 'profiler_[0-9]\.db' first.trace | sort -u | wc -l)
		expect "$command: some, not all: $opened of 7" test "$opened" -gt 0 -a "$opened" -lt 5
	done
	rm -rf out
fi

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
OMPI_MCA_odls_base_sigkill_timeout=1 run timeout -k 5 60 mpirun -q -n 2 ./alone cluster text -o nothing
expect_exit 1
expect_equal "$(grep -c 'cannot work on several processes' stderr)" 1
expect 'nothing was written' test ! -e nothing

behaviour 'one of several processes merges, to the same bytes'
run "$npuprof" cluster -q --no-db --cache sums -d c
run "$npuprof" merge sums -o alone.nppart
together 3 merge sums -o together.nppart
expect_exit 0
expect_equal "$(grep -c '7 ranks of 1 inputs' stdout)" 1
expect 'the part is the same' cmp alone.nppart together.nppart

behaviour 'a plain npuprof neither needs nor loads MPI'
expect 'it is not linked' test -z "$(ldd "$npuprof" | grep -i libmpi)"
if command -v strace >/dev/null; then
	strace -f -e trace=openat -o trace "$npuprof" cluster text -o one -q >/dev/null
	expect 'it is not opened' test -z "$(grep -i 'libmpi\|npuprof_mpi' trace)"
fi
