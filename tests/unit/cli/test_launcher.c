/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cli/command/launcher.c: who started this process, and whether MPI keeps what was
 * promised. */
#include "cli/command/launcher.h"

#include "np_test.h"

/* All variables that are looked at, so that those of the machine do not matter. */
static const char *const names[] = {
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_SIZE",
	"PMIX_RANK",
	"PMIX_NAMESPACE",
	"PMI_RANK",
	"PMI_SIZE",
	"PMI_JOBID",
	"MPI_LOCALNRANKS",
	"SLURM_PROCID",
	"SLURM_NTASKS",
	"SLURM_STEP_NUM_TASKS",
	"SLURM_STEP_ID",
	"SLURM_STEPID",
	"SLURM_JOB_ID",
	"NPUPROF_MPI",
};

/* The environment is these words and nothing else that counts. */
static void set(const char *words)
{
	char copy[300];
	char *rest = NULL;

	for (size_t i = 0; i < NP_COUNT(names); i++)
		(void)unsetenv(names[i]);
	(void)snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		(void)setenv(word, equals + 1, 1);
	}
}

static void a_launcher_is_known_by_its_variables(void **state)
{
	static const struct {
		const char *words;
		struct np_launcher launcher;
		bool many;
	} cases[] = {
		{ "", { NP_LAUNCHER_NONE, -1, -1, -1 }, false },
		{ "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_RANK=2",
		  { NP_LAUNCHER_OPENMPI, 2, 4, 2 },
		  true },
		{ "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1",
		  { NP_LAUNCHER_OPENMPI, 0, 1, -1 },
		  false },
		{ "PMI_RANK=1 PMI_SIZE=3 MPI_LOCALNRANKS=3", { NP_LAUNCHER_PMI, 1, 3, 3 }, true },
		{ "PMI_RANK=0 PMI_SIZE=1", { NP_LAUNCHER_PMI, 0, 1, -1 }, false },
		{ "PMIX_RANK=0", { NP_LAUNCHER_PMIX, 0, -1, -1 }, true },
		{ "PMIX_RANK=1 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=8",
		  { NP_LAUNCHER_PMIX, 1, 8, -1 },
		  true },
		{ "SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=8",
		  { NP_LAUNCHER_SLURM, 5, 8, -1 },
		  true },
		/* A script of sbatch, and the shell of an allocation. */
		{ "SLURM_PROCID=0 SLURM_NTASKS=16", { NP_LAUNCHER_NONE, -1, -1, -1 }, false },
		{ "SLURM_STEP_ID=9 SLURM_PROCID=0 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=1",
		  { NP_LAUNCHER_NONE, -1, -1, -1 },
		  false },
		{ "PMI_RANK=x OMPI_COMM_WORLD_RANK=-1", { NP_LAUNCHER_NONE, -1, -1, -1 }, false },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_launcher launcher;

		set(cases[i].words);
		np_launcher_read(&launcher);
		assert_int_equal(launcher.kind, cases[i].launcher.kind);
		assert_int_equal(launcher.rank, cases[i].launcher.rank);
		assert_int_equal(launcher.size, cases[i].launcher.size);
		assert_int_equal(launcher.local_size, cases[i].launcher.local_size);
		assert_int_equal(np_launcher_has_many(&launcher), cases[i].many);
	}
}

static void a_world_of_another_size_is_refused(void **state)
{
	const struct np_launcher hydra = { NP_LAUNCHER_PMI, 0, 3, 3 };
	const struct np_launcher slurm = { NP_LAUNCHER_SLURM, 0, 2, -1 };
	const struct np_launcher first = { NP_LAUNCHER_PMIX, 0, -1, -1 };
	const struct np_launcher second = { NP_LAUNCHER_PMIX, 1, -1, -1 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_launcher_check(&hydra, 3, "X", &err), NP_OK);
	assert_int_equal(np_launcher_check(&hydra, 1, "Open MPI v4", &err), NP_E_IO);
	assert_string_equal(err.text,
			    "mpiexec (Hydra, PMI) started 3 processes, but in the world of "
			    "MPI (Open MPI v4) there is 1: nothing was done; use the launcher of "
			    "that MPI, or build npuprof where MPICH is installed");
	assert_int_equal(np_launcher_check(&slurm, 1, "X", &err), NP_E_IO);
	assert_non_null(strstr(err.text, "srun --mpi=pmix"));
	/* PMIx does not say how many: the second of them cannot be alone. */
	assert_int_equal(np_launcher_check(&first, 1, "X", &err), NP_OK);
	assert_int_equal(np_launcher_check(&second, 2, "X", &err), NP_OK);
	assert_int_equal(np_launcher_check(&second, 1, "X", &err), NP_E_IO);
}

static void a_job_has_the_name_its_launcher_gave_it(void **state)
{
	static const struct {
		const char *words;
		const char *name;
	} cases[] = {
		{ "PMIX_NAMESPACE=prte-7@1 PMI_JOBID=3", "prte-7@1" },
		{ "PMI_RANK=0 PMI_SIZE=2 PMI_JOBID=3.1", "3.1" },
		{ "SLURM_JOB_ID=12 SLURM_STEP_ID=4", "12.4" },
		{ "PMI_RANK=0 PMI_SIZE=2", NULL },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_launcher launcher;
		char *name;

		set(cases[i].words);
		np_launcher_read(&launcher);
		name = np_launcher_job(&launcher);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
		free(name);
	}
}

static void an_unknown_mpi_is_not_looked_for(void **state)
{
	struct np_launcher launcher;
	struct np_err err = NP_ERR_INIT;
	void *address;

	(void)state;
	set("PMI_RANK=0 PMI_SIZE=2 NPUPROF_MPI=lam");
	np_launcher_read(&launcher);
	assert_int_equal(np_launcher_backend(&launcher, "x", &address, &err), NP_E_NOTFOUND);
	assert_string_equal(err.text, "NPUPROF_MPI is 'lam': openmpi or mpich");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launcher_is_known_by_its_variables),
		cmocka_unit_test(a_world_of_another_size_is_refused),
		cmocka_unit_test(a_job_has_the_name_its_launcher_gave_it),
		cmocka_unit_test(an_unknown_mpi_is_not_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
