/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of an application: who it is in the job, and which libraries go into it. */
#include "session_environment.h"

#include <inttypes.h>
#include <unistd.h>

#include "collect/launch/coord/mpi_address.h"
#include "collect/protocol.h"

struct rank_variable {
	const char *name;
	const char *value;
	bool always;
};

/* Where the application's own rendezvous listens: agreed by all, chosen on rank 0. */
static int set_ranks(struct np_env *env, const struct np_job *job, const char *master_port,
		     struct np_err *err)
{
	const struct np_job_layout_rank *position = &job->layout.ranks[job->rank];
	char rank[16];
	char world[16];
	char local[16];
	char local_world[16];
	const struct rank_variable variables[] = {
		{ "RANK", rank, false },
		{ "LOCAL_RANK", local, false },
		{ "WORLD_SIZE", world, false },
		{ "LOCAL_WORLD_SIZE", local_world, false },
		{ "MASTER_ADDR", job->layout.first_address, false },
		{ "MASTER_PORT", master_port, false },
		{ "RANK_ID", rank, true }, /* CANN writes it into the profile */
	};

	(void)snprintf(rank, sizeof(rank), "%d", job->rank);
	(void)snprintf(world, sizeof(world), "%d", job->world);
	(void)snprintf(local, sizeof(local), "%d", position->local);
	(void)snprintf(local_world, sizeof(local_world), "%d",
		       job->layout.hosts[position->host].ranks);
	for (size_t i = 0; i < NP_COUNT(variables); i++) {
		const struct rank_variable *variable = &variables[i];
		int rc;

		/* Launchers that do not know each other yet know no more than the ranks. */
		if (job->mode == NP_MODE_INAPP && !variable->always && variable->value != rank &&
		    variable->value != world)
			continue;
		if (!variable->always && !job->plan.force_env && np_env_get(env, variable->name))
			continue;
		rc = np_env_set(env, variable->name, variable->value, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

/* What AscendCL may keep of one rank, which is at least 200 MB: a second net below --max-size. */
static int64_t storage_limit(const struct np_job *job)
{
	int64_t share = job->plan.max_size / np_job_chosen(job);

	return job->plan.max_size == 0 ? 0 : share < 200 ? 200 : share;
}

static void fill_config(const struct np_job *job, struct np_inject_config *config)
{
	const struct np_plan *plan = &job->plan;
	const struct np_job_layout_host *host =
		&job->layout.hosts[job->layout.ranks[job->rank].host];

	*config = NP_INJECT_CONFIG_INIT;
	(void)snprintf(config->job, sizeof(config->job), "%s", plan->job);
	(void)snprintf(config->host, sizeof(config->host), "%s", host->name);
	(void)snprintf(config->host_uid, sizeof(config->host_uid), "%s", host->uid);
	(void)snprintf(config->dir, sizeof(config->dir), "%s", job->root);
	config->rank = job->finds_ranks ? -1 : job->rank;
	config->world_size = job->finds_ranks ? -1 : job->world;
	config->selected = !plan->dynamic && job->chosen && job->chosen[job->rank];
	if (job->finds_ranks && !plan->dynamic)
		(void)snprintf(config->ranks, sizeof(config->ranks), "%.*s",
			       (int)sizeof(config->ranks) - 1, plan->ranks);
	config->source = (enum np_step_source)plan->step_source;
	(void)snprintf(config->pattern, sizeof(config->pattern), "%s", plan->step_mstx);
	config->delay_ms = plan->delay * 1000;
	config->duration_ms = plan->duration < 0 ? -1 : plan->duration * 1000;
	config->step_start = plan->step_start;
	config->step_end = plan->step_end;
	config->grace_ms = plan->grace * 1000;
	config->options.level = (enum np_prof_level)(NP_PROF_LEVEL_0 + plan->level);
	config->options.memory = plan->with_memory;
	config->options.record_shapes = plan->record_shapes;
	config->options.storage_limit_mb = storage_limit(job);
	if (plan->level != NP_LEVEL_0)
		(void)snprintf(config->options.aic_metrics, sizeof(config->options.aic_metrics),
			       "%s", np_plan_metrics[plan->aic_metrics]);
}

/* Our library's, and that of MPI programs through which launchers find each other; either may be.
 */
static int set_preload(struct np_env *env, const struct np_job *job, const char *inject,
		       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf preload = NP_BUF_INIT;
	const char *others = np_env_get(env, "LD_PRELOAD");
	const char *const paths[] = { inject, job->mode == NP_MODE_INAPP ? job->mpi_library : NULL,
				      others };
	int rc;

	for (size_t i = 0; i < NP_COUNT(paths); i++) {
		if (paths[i])
			np_buf_printf(&preload, "%s%s", preload.length ? ":" : "", paths[i]);
	}
	rc = np_buf_check(&preload, err);
	return rc == NP_OK ? np_env_set(env, "LD_PRELOAD", preload.text, err) : rc;
}

static int set_libraries(struct np_env *env, const struct np_job *job, const char *inject,
			 const char *socket, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_inject_config config;
	int rc = set_preload(env, job, inject, err);

	if (rc == NP_OK)
		rc = np_env_set(env, NP_ENV_SOCKET, socket, err);
	if (rc < 0 || !inject)
		return rc;
	fill_config(job, &config);
	rc = np_inject_config_format(&config, &text, err);
	return rc == NP_OK ? np_env_set(env, NP_ENV_CONFIG, text.text, err) : rc;
}

int np_session_environment(struct np_env *env, const struct np_job *job, const char *inject,
			   const char *socket, const char *master_port, struct np_err *err)
{
	bool is_mpi = job->mode == NP_MODE_HELPER || job->mode == NP_MODE_INAPP;
	int rc = np_env_inherit(env, environ, is_mpi, err);

	if (rc == NP_OK && !job->finds_ranks)
		rc = set_ranks(env, job, master_port, err);
	/* Another program has used MPI under this launcher before (mode.h). */
	if (rc == NP_OK && job->mode == NP_MODE_HELPER)
		rc = np_env_set(env, "PMIX_MCA_gds", "hash", err);
	if (rc == NP_OK && job->mode == NP_MODE_INAPP)
		rc = np_env_set(env, NP_ENV_ADDRESS, job->mpi_address, err);
	if (rc == NP_OK && (inject || job->mode == NP_MODE_INAPP))
		rc = set_libraries(env, job, inject, socket, err);
	return rc;
}
