/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what the hooks see: a device, a communicator, a step, the end of the process.
 */
#include "inject.h"

#include <inttypes.h>
#include <unistd.h>

#include "collect/rank_list.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

/* --- communicators --------------------------------------------------------- */

static const struct np_comm_info *find(const struct np_inject *inject, HcclComm handle)
{
	for (size_t i = inject->comms.count; i-- > 0;)
		if (inject->comms.item[i].handle == handle)
			return &inject->comms.item[i];
	return NULL;
}

static bool has_name(const struct np_inject *inject, const char *name)
{
	for (size_t i = 0; i < inject->comms.count; i++)
		if (strcmp(inject->comms.item[i].name, name) == 0)
			return true;
	return false;
}

/*
 * What a communicator is for: what the application says, or the name it gave without the
 * number behind it: "tp_3" is one of those called "tp".
 */
static void find_role(struct np_comm_info *comm)
{
	size_t length = strlen(comm->given_name);

	if (comm->pg_name[0] || length == 0)
		return;
	while (length > 0 && strchr("0123456789", comm->given_name[length - 1]))
		length--;
	while (length > 0 && strchr("_-:", comm->given_name[length - 1]))
		length--;
	memcpy(comm->pg_name, comm->given_name, length);
	comm->pg_name[length] = '\0';
}

static uint32_t *no_ranks(const struct np_comm_info *comm)
{
	return comm->size > 0 ? calloc(comm->size, sizeof(uint32_t)) : NULL;
}

/* Members that were given as ranks of a communicator whose members are known. */
static void members_of_parent(struct np_comm_info *comm, const struct np_comm_info *parent,
			      const uint32_t *ranks)
{
	uint32_t *list;

	if (!parent || !parent->ranks)
		return;
	for (uint32_t i = 0; i < comm->size; i++)
		if (ranks[i] >= parent->size)
			return;
	list = no_ranks(comm);
	for (uint32_t i = 0; list && i < comm->size; i++)
		list[i] = parent->ranks[ranks[i]];
	comm->ranks = list;
}

/* A communicator as large as the job has everybody in it. */
static void members_everybody(const struct np_inject *inject, struct np_comm_info *comm)
{
	comm->ranks = no_ranks(comm);
	for (uint32_t i = 0; comm->ranks && i < comm->size; i++)
		comm->ranks[i] = i;
	if (!comm->pg_name[0])
		(void)snprintf(comm->pg_name, sizeof(comm->pg_name), "default_group");
	if (inject->rank >= 0 && comm->group_rank != (uint32_t)inject->rank)
		np_control_say(
			inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
			"the rank in the communicator of all is not the rank of the launcher");
}

static void find_members(const struct np_inject *inject, struct np_comm_info *comm,
			 const struct np_comm_info *parent, const uint32_t *ranks)
{
	int32_t world = inject->config.world_size;

	if (ranks) {
		members_of_parent(comm, parent, ranks);
	} else if (world > 0 && comm->size == (uint32_t)world) {
		members_everybody(inject, comm);
	} else if (comm->size == 1 && inject->rank >= 0) {
		comm->ranks = no_ranks(comm);
		if (comm->ranks)
			comm->ranks[0] = (uint32_t)inject->rank;
	}
}

/* Keep a communicator whose members are `ranks` of `parent`, or not known. With the lock held. */
static void add_communicator(struct np_inject *inject, const struct np_comm_info *info,
			     HcclComm parent, const uint32_t *ranks)
{
	char text[2 * HCCL_COMM_NAME_BYTES + 1];
	struct np_comm_info comm = *info;
	struct np_comm_info *slot;

	if (info->size == 0 || has_name(inject, info->name))
		return;
	comm.ranks = NULL;
	find_role(&comm);
	find_members(inject, &comm, find(inject, parent), ranks);
	slot = np_vec_add(&inject->comms, NULL);
	if (!slot) {
		free(comm.ranks);
		return;
	}
	*slot = comm;
	(void)snprintf(text, sizeof(text), "%s\n%s", comm.name, comm.pg_name);
	np_control_say(inject, NP_MSG_COMM, comm.group_rank, comm.size, text);
}

/* --- the process ----------------------------------------------------------- */

/* A step a launcher need not know about: they come faster than this. */
#define TELL_INTERVAL ((np_ns)20 * 1000000)

_Thread_local int np_inside __attribute__((tls_model("initial-exec")));

static np_ns read_clock(clockid_t id)
{
	struct timespec now = { 0 };

	(void)clock_gettime(id, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

np_ns np_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct np_moment np_moment_now(void)
{
	struct np_moment now = { .realtime = np_realtime_ns() };

	now.monotonic_raw = read_clock(CLOCK_MONOTONIC_RAW);
	return now;
}

static void find_host(struct np_inject *inject)
{
	const char *simulated = np_realtime_host();

	if (inject->config.host[0])
		(void)snprintf(inject->host, sizeof(inject->host), "%s", inject->config.host);
	else if (simulated)
		(void)snprintf(inject->host, sizeof(inject->host), "%s", simulated);
	else if (gethostname(inject->host, sizeof(inject->host)) < 0)
		(void)snprintf(inject->host, sizeof(inject->host), "unknown");
	inject->host[sizeof(inject->host) - 1] = '\0';
}

/* A time window is the one step 0, given by the clock. */
static void plan_window(struct np_inject *inject)
{
	const struct np_inject_config *config = &inject->config;

	if (!config->selected)
		return;
	if (config->source == NP_STEP_TIME)
		np_profile_window_want(inject, 0, config->duration_ms < 0 ? -1 : 1, NULL);
	else
		np_profile_window_want(inject, config->step_start, config->step_end, NULL);
}

/* Tell the hooks, which do not have the lock, what is worth looking at. */
static void update_attention(struct np_inject *inject)
{
	unsigned listening = 0;

	for (unsigned i = 0; i < NP_STEP_SOURCES; i++)
		if (np_steps_listens(&inject->steps, (enum np_step_source)i))
			listening |= 1U << i;
	atomic_store(&inject->listening, listening);
	if (listening & 1U << NP_STEP_HCCL)
		atomic_fetch_or(&inject->attention, NP_ATTENTION_CADENCE);
	else
		atomic_fetch_and(&inject->attention, ~(unsigned)NP_ATTENTION_CADENCE);
	if (listening & 1U << NP_STEP_SYNC)
		atomic_fetch_or(&inject->attention, NP_ATTENTION_SYNC);
}

/* The first of these variables that is a number, or -1. */
static int64_t from_environment(const char *const *names, size_t count)
{
	int64_t value;

	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe) */

		if (text && np_text_to_int(text, strlen(text), &value) && value >= 0)
			return value;
	}
	return -1;
}

/* Where the launcher does not know the ranks, those who started them have given each its own. */
static void find_place(struct np_inject *inject)
{
	static const char *const worlds[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					      "SLURM_NTASKS" };
	static const char *const locals[] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
					      "MPI_LOCALRANKID", "SLURM_LOCALID" };
	struct np_inject_config *config = &inject->config;

	inject->rank = config->rank >= 0 ? config->rank : (int32_t)np_realtime_rank();
	if (config->world_size < 0)
		config->world_size = (int32_t)from_environment(worlds, NP_COUNT(worlds));
	if (config->ranks[0])
		config->selected =
			np_rank_list_has(config->ranks, inject->rank, config->world_size,
					 from_environment(locals, NP_COUNT(locals)) == 0);
}

void np_inject_init(struct np_inject *inject, const struct np_inject_config *config)
{
	(void)pthread_mutex_init(&inject->lock, NULL);
	inject->config = *config;
	find_place(inject);
	find_host(inject);
	inject->device = -1;
	inject->due_open = NP_UNKNOWN;
	inject->due_close = NP_UNKNOWN;
	inject->last_step_told = -NP_NS_MAX;
	np_steps_init(&inject->steps, config->source);
	plan_window(inject);
	update_attention(inject);
	atomic_store(&inject->on, true);
}

void np_inject_release(struct np_inject *inject)
{
	for (size_t i = 0; i < inject->comms.count; i++)
		free(inject->comms.item[i].ranks);
	np_vec_release(&inject->comms);
	np_profile_window_release(&inject->window);
	(void)pthread_mutex_destroy(&inject->lock);
}

static void lock(struct np_inject *inject)
{
	(void)pthread_mutex_lock(&inject->lock);
	np_inside++;
}

static void unlock(struct np_inject *inject)
{
	np_inside--;
	(void)pthread_mutex_unlock(&inject->lock);
}

static void ask_versions(struct np_inject *inject)
{
	const struct np_acl *acl = &inject->acl;
	const char *soc = acl->soc_name ? acl->soc_name() : NULL;
	char package[] = "runtime";
	int32_t major;
	int32_t minor;
	int32_t patch;

	if (soc)
		(void)snprintf(inject->soc, sizeof(inject->soc), "%s", soc);
	if (acl->package_version &&
	    acl->package_version(package, inject->cann_version) != ACL_SUCCESS)
		inject->cann_version[0] = '\0';
	if (acl->version && acl->version(&major, &minor, &patch) == ACL_SUCCESS)
		(void)snprintf(inject->acl_version, sizeof(inject->acl_version),
			       "%" PRId32 ".%" PRId32 ".%" PRId32, major, minor, patch);
}

/* Find AscendCL early, so that what is missing is reported before the window is due. */
static void bind_early(struct np_inject *inject)
{
	struct np_err err = NP_ERR_INIT;

	if (!inject->bound && np_acl_bind(&inject->acl, NP_ACL_NEXT, &err) < 0) {
		np_control_say(inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN, err.text);
		return;
	}
	inject->bound = true;
	ask_versions(inject);
}

static void plan_time(struct np_inject *inject)
{
	const struct np_inject_config *config = &inject->config;

	if (config->source != NP_STEP_TIME || !config->selected)
		return;
	inject->due_open = np_monotonic_ns() + config->delay_ms * 1000000;
	if (config->duration_ms >= 0)
		inject->due_close = inject->due_open + config->duration_ms * 1000000;
}

static void attach(struct np_inject *inject, int32_t device)
{
	inject->device = device;
	if (inject->config.selected)
		bind_early(inject);
	plan_time(inject);
	np_control_say(inject, NP_MSG_ATTACHED,
		       inject->config.world_size >= 0 ? inject->config.world_size : NP_UNKNOWN,
		       device, inject->soc);
	np_control_start(inject);
}

void np_inject_device_set(struct np_inject *inject, int32_t device)
{
	lock(inject);
	if (!atomic_exchange(&inject->attached, true))
		attach(inject, device);
	else if (inject->window.state != NP_WINDOW_OPEN)
		inject->device = device;
	unlock(inject);
}

void np_inject_ending(struct np_inject *inject, int32_t device, const char *why)
{
	lock(inject);
	if (device < 0 || device == inject->device)
		np_profile_window_close(inject, why, true);
	unlock(inject);
}

void np_inject_finish(struct np_inject *inject)
{
	lock(inject);
	np_profile_window_close(inject, "the application ended", true);
	inject->finished = true;
	np_control_say(inject, NP_MSG_DONE, inject->steps.current, np_control_dropped(), "exit");
	unlock(inject);
	atomic_store(&inject->on, false);
}

void np_inject_cadence_lost(struct np_inject *inject)
{
	lock(inject);
	if (inject->steps.chosen == NP_STEP_HCCL)
		np_profile_window_close(inject, "the order of the collectives changed", false);
	else if (inject->steps.chosen == NP_STEP_SYNC)
		np_profile_window_close(inject, "the order of the host's waits changed", false);
	unlock(inject);
}

void np_inject_self_profiling(struct np_inject *inject, const char *call)
{
	lock(inject);
	if (!inject->standing_down) {
		char reason[120];

		(void)snprintf(reason, sizeof(reason), "the application profiles itself (%s)",
			       call);
		np_profile_window_close(inject, reason, false);
		inject->standing_down = true;
		np_control_say(inject, NP_MSG_SELF_PROFILING, NP_UNKNOWN, NP_UNKNOWN, call);
	}
	unlock(inject);
}

void np_inject_communicator(struct np_inject *inject, const struct np_comm_info *info,
			    HcclComm parent, const uint32_t *ranks)
{
	lock(inject);
	add_communicator(inject, info, parent, ranks);
	unlock(inject);
}

/* A device that was set behind our back, by a library that found aclrtSetDevice() by itself. */
static void look_for_device(struct np_inject *inject)
{
	int32_t device;

	if (!inject->config.selected)
		return;
	bind_early(inject);
	if (inject->bound && inject->acl.get_device &&
	    inject->acl.get_device(&device) == ACL_SUCCESS &&
	    !atomic_exchange(&inject->attached, true))
		attach(inject, device);
}

static void report_step(struct np_inject *inject)
{
	np_ns now = np_monotonic_ns();

	if (now - inject->last_step_told < TELL_INTERVAL)
		return;
	inject->last_step_told = now;
	np_control_say(inject, NP_MSG_STEP, inject->steps.current, inject->steps.chosen, "");
}

/*
 * Before the window opens or closes the device must be idle. The lock is not held while
 * waiting for that: if a peer has died it takes forever, and the launcher's STOP must get through.
 */
static void wait_for_device(struct np_inject *inject)
{
	aclError (*wait)(void) = inject->acl.synchronize_device;
	int32_t code;

	if (!inject->bound || !wait || !np_profile_window_turns(inject, inject->steps.current))
		return;
	(void)pthread_mutex_unlock(&inject->lock);
	code = wait();
	(void)pthread_mutex_lock(&inject->lock);
	inject->waited = true;
	inject->waited_code = code;
}

/* With the lock held. */
static void step_begins(struct np_inject *inject, enum np_step_source source, int64_t number,
			const char *detail)
{
	enum np_step_source before = inject->steps.chosen;
	bool first = inject->steps.current == NP_UNKNOWN;

	if (!np_steps_begin(&inject->steps, source, number))
		return;
	if (first || before != inject->steps.chosen) {
		(void)snprintf(inject->step_detail, sizeof(inject->step_detail), "%s", detail);
		np_control_say(inject, NP_MSG_SOURCE, inject->steps.current, source, detail);
		update_attention(inject);
		if (!atomic_load(&inject->attached))
			look_for_device(inject);
	}
	if (!inject->standing_down)
		wait_for_device(inject);
	if (!inject->standing_down && !inject->finished)
		np_profile_window_step(inject, inject->steps.current);
	inject->waited = false;
	if (inject->window.first_step == inject->steps.current)
		update_attention(inject);
	report_step(inject);
}

void np_inject_step(struct np_inject *inject, enum np_step_source source, int64_t number,
		    const char *detail)
{
	lock(inject);
	if (!inject->finished)
		step_begins(inject, source, number, detail);
	unlock(inject);
}

void np_inject_attend(struct np_inject *inject, bool own_thread)
{
	np_ns now = np_monotonic_ns();

	if (pthread_mutex_trylock(&inject->lock) != 0)
		return;
	np_inside++;
	if (own_thread && inject->bound && inject->acl.set_device)
		(void)inject->acl.set_device(inject->device);
	if (!inject->finished && inject->due_open != NP_UNKNOWN && now >= inject->due_open) {
		inject->due_open = NP_UNKNOWN;
		step_begins(inject, NP_STEP_TIME, 0, "delay and duration");
	} else if (!inject->finished && inject->due_open == NP_UNKNOWN &&
		   inject->due_close != NP_UNKNOWN && now >= inject->due_close) {
		inject->due_close = NP_UNKNOWN;
		step_begins(inject, NP_STEP_TIME, 1, "delay and duration");
	}
	if (inject->due_open == NP_UNKNOWN && inject->due_close == NP_UNKNOWN)
		atomic_fetch_and(&inject->attention, ~(unsigned)NP_ATTENTION_DUE);
	unlock(inject);
}

/* From our own thread, which has no device yet. */
static void stop(struct np_inject *inject, int64_t step)
{
	if (step >= 0) {
		if ((inject->window.state == NP_WINDOW_OPEN ||
		     inject->window.state == NP_WINDOW_WANTED) &&
		    (inject->window.end < 0 || step < inject->window.end))
			inject->window.end = step;
		return;
	}
	if (inject->window.state == NP_WINDOW_OPEN && inject->acl.set_device)
		(void)inject->acl.set_device(inject->device);
	np_profile_window_close(inject, "the launcher said stop", true);
	if (inject->window.state == NP_WINDOW_WANTED)
		inject->window.state = NP_WINDOW_NONE;
}

/* "<directory>[\n<level>]": a window of its own level has the counters of that level. */
static void take_place_and_level(struct np_inject *inject, const char *text, char *dir, size_t size)
{
	size_t length = strcspn(text, "\n");
	int64_t level;

	(void)snprintf(dir, size, "%.*s", (int)length, text);
	if (!text[length] ||
	    !np_text_to_int(text + length + 1, strlen(text + length + 1), &level) || level < 0 ||
	    level > NP_PROF_LEVEL_2 || (int64_t)inject->config.options.level == level)
		return;
	inject->config.options.level = (enum np_prof_level)level;
	inject->config.options.aic_metrics[0] = '\0';
}

static const char *why_not(const struct np_inject *inject)
{
	if (inject->standing_down)
		return "the application profiles itself";
	if (inject->window.state == NP_WINDOW_OPEN || inject->window.state == NP_WINDOW_WARM)
		return "a window is open";
	if (inject->window.state == NP_WINDOW_WANTED)
		return "a window is planned already";
	return NULL;
}

static void start(struct np_inject *inject, const struct np_message *message)
{
	int64_t current = inject->steps.current == NP_UNKNOWN ? -1 : inject->steps.current;
	int64_t first = message->step >= 0 ? message->step : current + 1;
	const char *refusal = why_not(inject);
	char dir[sizeof(inject->window.base)];

	if (refusal) {
		np_control_say(inject, NP_MSG_REFUSED, NP_UNKNOWN, NP_UNKNOWN, refusal);
		return;
	}
	if (first <= current) {
		np_control_say(inject, NP_MSG_TOO_LATE, current, NP_UNKNOWN, "");
		return;
	}
	take_place_and_level(inject, message->text, dir, sizeof(dir));
	np_profile_window_want(inject, first, message->value > 0 ? first + message->value : -1,
			       dir);
	np_control_say(inject, NP_MSG_ACCEPTED, first, message->value, "");
}

static void cancel(struct np_inject *inject, const char *base)
{
	if (strcmp(inject->window.base, base) != 0)
		return;
	if (inject->window.state == NP_WINDOW_WANTED)
		inject->window.state = NP_WINDOW_NONE;
	else
		stop(inject, -1);
}

void np_inject_message(struct np_inject *inject, const struct np_message *message)
{
	lock(inject);
	if (inject->finished)
		;
	else if (message->type == NP_MSG_STOP)
		stop(inject, message->step);
	else if (message->type == NP_MSG_START)
		start(inject, message);
	else if (message->type == NP_MSG_CANCEL)
		cancel(inject, message->text);
	else if (message->type == NP_MSG_PING)
		np_control_say(inject, NP_MSG_PONG, message->step, message->value, "");
	unlock(inject);
}
