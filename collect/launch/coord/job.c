/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher knows of its job, says of it, and where the windows of it are. */
#include "job.h"

#include <inttypes.h>
#include <stdarg.h>

#include "collect/rank_list.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

/* One write for a line: the launchers of a node share their terminal. */
static void say(const char *fmt, va_list args) NP_PRINTF(1, 0);

static void say(const char *fmt, va_list args)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf said = NP_BUF_INIT;
	char text[2048];

	(void)vsnprintf(text, sizeof(text), fmt, args);
	np_buf_add(&safe, "npuprof-collect: ");
	np_lang_put(&said, text);
	np_text_safe(&safe, said.failed ? text : said.text,
		     said.failed ? strlen(text) : said.length);
	np_buf_add(&safe, "\n");
	(void)fputs(safe.text, stderr);
}

void np_job_say(const struct np_job *job, const char *fmt, ...)
{
	va_list args;

	if (job->rank != 0 || job->quiet)
		return;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void np_job_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

bool np_job_selects(const struct np_job *job, int64_t rank)
{
	if (!job->plan.enable)
		return false;
	if (job->chosen)
		return rank >= 0 && rank < job->ranks && job->chosen[rank];
	/* Who is the first of its node is known to the rank alone; it opens a window or does not.
	 */
	return np_rank_list_has(job->plan.ranks, rank, -1, false);
}

struct np_record *np_job_record(struct np_job *job, int64_t rank)
{
	struct np_record *slot;

	for (size_t i = 0; i < job->records.count; i++) {
		if (job->records.item[i].rank == rank)
			return &job->records.item[i];
	}
	if (!job->finds_ranks || rank < 0 || rank > INT32_MAX)
		return NULL;
	slot = np_vec_add(&job->records, NULL);
	if (!slot)
		return NULL;
	np_record_init(slot, (int32_t)rank, np_job_selects(job, rank));
	slot->launcher = job->rank;
	return slot;
}

bool np_job_concerns(const struct np_job *job, int32_t rank, const char *ranks)
{
	bool leader = !job->finds_ranks &&
		      job->layout.hosts[job->layout.ranks[job->rank].host].leader == job->rank;

	return ranks[0] ? np_rank_list_has(ranks, rank, -1, leader) : np_job_selects(job, rank);
}

void np_job_name_window(const struct np_job *job, int32_t number, char *text, size_t size)
{
	if (number == 1 && !job->plan.dynamic)
		(void)snprintf(text, size, "%s", job->root);
	else
		(void)snprintf(text, size, "%.*s/window-%d", NP_RECORD_DIR - 64, job->root,
			       (int)number);
}

int np_job_chosen(const struct np_job *job)
{
	int count = 0;

	if (!job->chosen)
		return 1;
	for (int rank = 0; rank < job->ranks; rank++)
		count += job->chosen[rank] ? 1 : 0;
	return count;
}

/* Append the ranks that are profiled as "0-3,8". */
static void np_job_add_chosen(const struct np_job *job, struct np_buf *buf)
{
	int64_t *ranks;
	size_t count = 0;

	if (!job->chosen) {
		np_buf_add(buf, job->plan.ranks);
		return;
	}
	ranks = calloc((size_t)job->ranks + 1, sizeof(*ranks));
	for (int rank = 0; ranks && rank < job->ranks; rank++) {
		if (job->chosen[rank])
			ranks[count++] = rank;
	}
	if (ranks)
		np_ranges_format(buf, ranks, count);
	free(ranks);
}

int64_t np_job_guess(const struct np_plan *plan)
{
	/* For a step of a thousand kernels; nobody knows better before the first one ran. */
	static const int64_t megabytes[] = {
		[NP_LEVEL_0] = 5,
		[NP_LEVEL_1] = 20,
		[NP_LEVEL_2] = 60,
	};

	return megabytes[plan->level] * 1000000 * (plan->with_memory ? 3 : 1);
}

static void describe_steps(const struct np_plan *plan, struct np_buf *buf)
{
	int64_t count = plan->step_end - plan->step_start;

	if (plan->dynamic)
		np_buf_add(buf, "  steps    on request: npuprof ctl start, or SIGUSR2\n");
	else if (plan->step_source == NP_STEP_TIME && plan->duration < 0)
		np_buf_printf(buf, "  time     from %" PRId64 " s to the end\n", plan->delay);
	else if (plan->step_source == NP_STEP_TIME)
		np_buf_printf(buf, "  time     from %" PRId64 " s for %" PRId64 " s\n", plan->delay,
			      plan->duration);
	else if (plan->backend == NP_BACKEND_TORCH && plan->step_start == 0 && plan->step_end >= 0)
		np_buf_printf(
			buf, "  steps    %" PRId64 ", as soon as torch_npu can be asked for them\n",
			plan->step_end);
	else if (plan->step_end < 0)
		np_buf_printf(buf, "  steps    %" PRId64 " to the end\n", plan->step_start);
	else if (count == 1)
		np_buf_printf(buf, "  steps    %" PRId64 " (1 step)\n", plan->step_start);
	else
		np_buf_printf(buf, "  steps    %" PRId64 "-%" PRId64 " (%" PRId64 " steps)\n",
			      plan->step_start, plan->step_end - 1, count);
}

static void describe_memory(const struct np_plan *plan, struct np_buf *buf)
{
	if (plan->memory_start < 0)
		return;
	if (plan->memory_end < 0)
		np_buf_printf(buf, "  memory   steps %" PRId64 " to the end", plan->memory_start);
	else
		np_buf_printf(buf, "  memory   steps %" PRId64 "-%" PRId64, plan->memory_start,
			      plan->memory_end - 1);
	np_buf_printf(buf, " of ranks %s, stacks %s\n", plan->memory_ranks,
		      np_plan_stacks[plan->memory_stacks]);
}

static void describe_size(const struct np_job *job, struct np_buf *buf)
{
	const struct np_plan *plan = &job->plan;
	int64_t one = np_job_guess(plan);

	np_buf_add(buf, "  size     about ");
	if (plan->step_end < 0 || plan->dynamic) {
		np_text_bytes(buf, one * np_job_chosen(job));
		np_buf_add(buf, job->chosen ? " a step" : " a step and rank");
	} else {
		np_text_bytes(buf, one * np_job_chosen(job) * (plan->step_end - plan->step_start));
	}
	np_buf_add(buf, " of raw data (a guess: 1000 kernels a step and rank)\n");
	if (plan->max_size)
		np_buf_printf(buf, "  limit    %" PRId64 " MB of all ranks together\n",
			      plan->max_size);
}

void np_job_describe(const struct np_job *job, struct np_buf *buf)
{
	const struct np_plan *plan = &job->plan;

	np_buf_add(buf, "  ranks    ");
	np_job_add_chosen(job, buf);
	if (job->chosen)
		np_buf_printf(buf, " (%d of %d, on %d host%s)\n", np_job_chosen(job), job->ranks,
			      job->layout.host_count, job->layout.host_count == 1 ? "" : "s");
	else
		np_buf_printf(buf, " (found when they start, on %d node%s)\n", job->world,
			      job->world == 1 ? "" : "s");
	describe_steps(plan, buf);
	describe_memory(plan, buf);
	if (plan->backend != NP_BACKEND_ACL)
		np_buf_printf(buf, "  backend  %s\n", np_plan_backends[plan->backend]);
	np_buf_printf(buf, "  level    %s", np_plan_levels[plan->level]);
	if (plan->level != NP_LEVEL_0)
		np_buf_printf(buf, ", %s", np_plan_metrics[plan->aic_metrics]);
	if (plan->with_memory)
		np_buf_add(buf, ", memory");
	if (plan->record_shapes)
		np_buf_add(buf, ", shapes");
	np_buf_printf(buf, "\n  output   %s\n", job->root);
	if (plan->export == NP_EXPORT_AFTER)
		np_buf_printf(buf, "  export   %s, when the application has ended\n",
			      np_plan_export_types[plan->export_type]);
	else
		np_buf_printf(buf, "  export   none (later: npuprof export %s)\n", job->root);
	describe_size(job, buf);
	if (job->simulated)
		np_buf_add(buf, "  NPU      simulated\n");
}
