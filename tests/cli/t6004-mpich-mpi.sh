#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Launchers of another MPI than Open MPI: one analysis and the same bytes, or one message and nothing written.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program mpiexec.hydra timeout
[[ -e $NPUPROF_BUILD/libnpuprof_mpi-mpich.so ]] || skip 'built without MPICH'
unset SLURM_PROCID SLURM_NTASKS SLURM_STEP_ID SLURM_STEP_NUM_TASKS PMI_RANK PMI_SIZE

"$synth" -q -o "$work/c" --ranks 5 --steps 2 --layers 2 --kernels-per-layer 4 --noise 0 --slow-rank 3:1.5 || exit 1
cd "$work" || exit 1

# dump: the database and the tables that were written, which are then removed
dump() {
	find out -type f ! -name '*.db' | LC_ALL=C sort | xargs -r cat
	sqlite3 out/cluster_analysis_output/cluster_analysis.db .dump
	rm -r out
}

behaviour 'three processes of Hydra are one analysis, and give the same bytes as one'
for format in table json; do
	run "$npuprof" cluster c -f "$format" -o out
	expect_exit 0
	cp stdout one.txt
	dump >one.sql
	run_hydra timeout -k 5 60 mpiexec.hydra -n 3 "$npuprof" cluster c -f "$format" -o out
	expect_exit 0
	expect "$format is the same" cmp stdout one.txt
	dump >three.sql
	expect 'what is written is the same' cmp three.sql one.sql
done
for verb in whatif advisor; do
	run "$npuprof" "$verb" c
	cp stdout one.txt
	expected=$status
	run_hydra timeout -k 5 60 mpiexec.hydra -n 3 "$npuprof" "$verb" c
	expect_exit "$expected"
	expect "$verb is the same" cmp stdout one.txt
done

behaviour 'a status is that of the analysis, and complaints are said once'
run_hydra timeout -k 5 60 mpiexec.hydra -n 3 "$npuprof" cluster nowhere
expect_exit 2
expect_equal "$(grep -c nowhere stderr)" 1
run_hydra timeout -k 5 60 mpiexec.hydra -n 3 "$npuprof" cluster --no-such-option
expect_exit 2
expect_equal "$(grep -c 'no-such-option' stderr)" 1

# refused <words>: the last run said so once, and wrote nothing
refused() {
	expect_exit 1
	expect_stderr_has "$1"
	expect_equal "$(grep -c '^npuprof: ' stderr)" 1
	expect_equal "$(cat stdout)" ''
	expect 'nothing is written' test ! -e out
}

behaviour 'a world of another size than the launcher promised ends before anything is written'
if [[ -e $NPUPROF_BUILD/libnpuprof_mpi-openmpi.so ]]; then
	NPUPROF_MPI=openmpi run_hydra timeout -k 5 60 mpiexec.hydra -n 3 "$npuprof" cluster c -o out
	refused 'mpiexec (Hydra, PMI) started 3 processes, but in the world of MPI (Open MPI'
fi
NPUPROF_MPI=mpich SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 run timeout -k 5 60 "$npuprof" cluster c -o out
refused 'srun started 4 processes, but in the world of MPI (MPICH'
expect_stderr_has 'use srun --mpi=pmix or --mpi=pmi2'
NPUPROF_MPI=lam run_hydra timeout -k 5 60 mpiexec.hydra -n 2 "$npuprof" cluster c -o out
refused "NPUPROF_MPI is 'lam'"

behaviour 'a script of sbatch is one process, whatever the job has'
SLURM_PROCID=0 SLURM_NTASKS=4 run "$npuprof" cluster c -f json
expect_exit 0

behaviour 'a program without the library for this launcher says which MPI is missing'
mkdir alone
ln "$npuprof" alone/npuprof 2>/dev/null || cp "$npuprof" alone/npuprof
run_hydra timeout -k 5 60 mpiexec.hydra -n 2 alone/npuprof cluster c -o out
refused 'cannot work on several processes'
expect_stderr_has 'build npuprof where MPICH is installed'
