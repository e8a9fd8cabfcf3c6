/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_held.h"
#include "statistics.h"

/*
 * One rank from all of its files
 * ------------------------------
 *
 * Several files may tell the same thing. They are asked in the order below and
 * the first that has a quantity wins; the others are compared with it. Files
 * that are large and would only be compared are not read.
 */
typedef int reader(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err);

/* Times are by device as the file has them: every new one adds to the count. */
static void count_devices(struct np_rank *rank)
{
	rank->device_count = 0;
	for (size_t i = 0; i < rank->times.count; i++) {
		bool seen = rank->times.item[i].device < 0;

		for (size_t j = 0; j < i && !seen; j++)
			seen = rank->times.item[j].device == rank->times.item[i].device;
		rank->device_count += !seen;
	}
}

/* Put what a file derived into the form that readers of tasks leave behind. */
static int finish_derived(struct np_rank *rank, const struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_sort_ops(rank, strings, NULL, err);

	if (rc == NP_OK)
		rc = np_load_comm_steps(rank, err);
	count_devices(rank);
	return rc;
}

static int read_rank_db(struct np_rank *rank, const struct np_source_files *source,
			struct np_strtab *strings, struct np_err *err)
{
	np_kernel_origin *origin = source->kernel_origin;

	return np_load_rank_db(rank, source->file[NP_FILE_RANK_DB], !origin, origin, strings, err);
}

static int read_whole_rank_db(struct np_rank *rank, const struct np_source_files *source,
			      struct np_strtab *strings, struct np_err *err)
{
	return np_load_rank_db(rank, source->file[NP_FILE_RANK_DB], false, source->kernel_origin,
			       strings, err);
}

static int read_analysis_db(struct np_rank *rank, const struct np_source_files *source,
			    struct np_strtab *strings, struct np_err *err)
{
	const char *path = source->file[NP_FILE_ANALYSIS_DB];
	int rc = np_load_analysis_db(rank, path, strings, err);

	if (rc == NP_OK && rank->times.count == 0 && rank->ops.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s' holds neither step times nor operators",
			     path);
	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static int read_kernels(struct np_rank *rank, const struct np_source_files *source,
			struct np_strtab *strings, struct np_err *err)
{
	return np_load_kernels(rank, source->file[NP_FILE_KERNELS], strings, err);
}

static int read_step_trace(struct np_rank *rank, const struct np_source_files *source,
			   struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_step_trace(rank, source->file[NP_FILE_STEP_TRACE], strings, err);

	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static int read_communication(struct np_rank *rank, const struct np_source_files *source,
			      struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_communication(rank, source->file[NP_FILE_COMM],
				       source->file[NP_FILE_COMM_MATRIX], strings, err);

	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static const struct {
	enum np_file file;
	reader *read;
	bool large;    /* read only where something is missing */
	reader *again; /* where the first one failed; NULL for nobody */
} readers[] = {
	{ NP_FILE_RANK_DB, read_rank_db, true, read_whole_rank_db },
	{ NP_FILE_ANALYSIS_DB, read_analysis_db, false, NULL },
	{ NP_FILE_TRACE, np_load_trace, true, NULL },
	{ NP_FILE_GPU_TRACE, np_load_gpu_trace, true, NULL },
	{ NP_FILE_KERNELS, read_kernels, true, NULL },
	{ NP_FILE_STEP_TRACE, read_step_trace, false, NULL },
	{ NP_FILE_COMM, read_communication, false, NULL },
};

/* --- joining --------------------------------------------------------------------------------- */

/* A reader that saw the tasks saw the operators too: if it found none there are none. */
static bool saw_tasks(const struct np_rank *rank)
{
	return rank->step_source == NP_FROM_RANK_DB || rank->step_source == NP_FROM_TRACE;
}

static bool lacks_something(const struct np_rank *rank)
{
	if (rank->times.count == 0)
		return true;
	if (rank->ops.count == 0)
		return !saw_tasks(rank);
	return rank->exposed_source == NP_FROM_NOTHING;
}

/* Indexes of `from` in terms of `to`: steps by id, communicators by hash. */
struct places {
	uint32_t *step;
	uint32_t *group;
};

static void release_places(struct places *places)
{
	free(places->step);
	free(places->group);
}

/* Where the steps of a rank are, by id. */
static int index_steps(const struct np_rank *rank, struct np_idmap **ret, struct np_err *err)
{
	int rc = NP_OK;

	*ret = np_idmap_new();
	if (!*ret)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < rank->steps.count && rc == NP_OK; i++)
		rc = np_idmap_set(*ret, rank->steps.item[i].id, (uint32_t)i, err);
	return rc;
}

static int place_step(struct np_rank *to, struct np_idmap *known, const struct np_step *step,
		      uint32_t *ret, struct np_err *err)
{
	struct np_step *slot;

	*ret = np_idmap_get(known, step->id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	slot = np_vec_add(&to->steps, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *step;
	*ret = (uint32_t)(to->steps.count - 1);
	return np_idmap_set(known, step->id, *ret, err);
}

/* Let `to` have all steps of `from`. */
static int add_steps_of(struct np_rank *to, const struct np_rank *from, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = NULL;
	uint32_t index;
	int rc = index_steps(to, &known, err);

	for (size_t i = 0; i < from->steps.count && rc == NP_OK; i++)
		rc = place_step(to, known, &from->steps.item[i], &index, err);
	return rc;
}

static int find_places(struct np_rank *to, const struct np_rank *from, bool add_steps,
		       struct places *ret, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = NULL;
	int rc = index_steps(to, &known, err);

	if (rc < 0)
		return rc;
	ret->step = malloc((from->steps.count + 1) * sizeof(uint32_t));
	ret->group = malloc((from->groups.count + 1) * sizeof(uint32_t));
	if (!ret->step || !ret->group)
		return np_fail_nomem(err, "a rank");
	for (size_t i = 0; i < from->steps.count && rc == NP_OK; i++) {
		/* NP_IDMAP_NONE is NP_NO_STEP */
		ret->step[i] = np_idmap_get(known, from->steps.item[i].id);
		if (add_steps)
			rc = place_step(to, known, &from->steps.item[i], &ret->step[i], err);
	}
	for (size_t i = 0; i < from->groups.count && rc == NP_OK; i++)
		rc = np_rank_group(to, from->groups.item[i].hash, &ret->group[i], err);
	return rc;
}

/* Move one array, renumbering the places of its entries; macros because C has no generic field. */
#define MOVE_STEPS(list, places) \
	for (size_t i_ = 0; i_ < (list).count; i_++) \
	(list).item[i_].step = (list).item[i_].step == NP_NO_STEP \
				       ? NP_NO_STEP \
				       : (places).step[(list).item[i_].step]
#define MOVE_GROUPS(list, places) \
	for (size_t i_ = 0; i_ < (list).count; i_++) \
	(list).item[i_].group = (places).group[(list).item[i_].group]
#define TAKE(to, from) \
	do { \
		np_vec_release(&(to)); \
		memcpy(&(to), &(from), sizeof(to)); \
		memset(&(from), 0, sizeof(from)); \
	} while (0)

static int take_times(struct np_rank *to, struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, true, &places, err);

	if (rc == NP_OK) {
		MOVE_STEPS(from->times, places);
		TAKE(to->times, from->times);
		to->step_source = from->step_source;
		to->device = from->device;
		to->device_count = from->device_count;
	}
	release_places(&places);
	return rc;
}

/* Operators, their bandwidth and links go together: they refer to each other. */
static int take_ops(struct np_rank *to, struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, true, &places, err);

	if (rc == NP_OK) {
		MOVE_STEPS(from->ops, places);
		MOVE_GROUPS(from->ops, places);
		MOVE_STEPS(from->links, places);
		MOVE_GROUPS(from->links, places);
		MOVE_STEPS(from->transfers, places);
		MOVE_GROUPS(from->transfers, places);
		MOVE_STEPS(from->experts, places);
		MOVE_STEPS(from->comm_steps, places);
		MOVE_GROUPS(from->comm_steps, places);
		TAKE(to->ops, from->ops);
		TAKE(to->vendor_times, from->vendor_times);
		TAKE(to->long_times, from->long_times);
		TAKE(to->bands, from->bands);
		TAKE(to->links, from->links);
		TAKE(to->transfers, from->transfers);
		TAKE(to->experts, from->experts);
		TAKE(to->comm_steps, from->comm_steps);
		to->comm_source = from->comm_source;
		to->exposed_source = from->exposed_source;
		to->sizes_known = from->sizes_known;
	}
	release_places(&places);
	return rc;
}

/* How much of each communicator computing hides, from a reader that saw both. */
static int take_exposed(struct np_rank *to, const struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, false, &places, err);

	for (size_t i = 0; i < from->comm_steps.count && rc == NP_OK; i++) {
		const struct np_comm_step *source = &from->comm_steps.item[i];

		for (size_t j = 0; j < to->comm_steps.count; j++) {
			struct np_comm_step *sum = &to->comm_steps.item[j];

			if (sum->group != places.group[source->group] ||
			    sum->step != places.step[source->step] || sum->ops != source->ops ||
			    source->exposed == NP_UNKNOWN)
				continue;
			sum->exposed = source->exposed;
			sum->overlapped = source->overlapped;
			to->exposed_source = from->exposed_source;
		}
	}
	release_places(&places);
	return rc;
}

static void take_group_names(struct np_rank *to, const struct np_rank *from)
{
	for (size_t i = 0; i < to->groups.count; i++) {
		for (size_t j = 0; j < from->groups.count; j++) {
			if (to->groups.item[i].hash == from->groups.item[j].hash &&
			    to->groups.item[i].name == NP_STR_NONE)
				to->groups.item[i].name = from->groups.item[j].name;
		}
	}
}

/* The one communicator of `from` with these last three digits, or NULL. */
static const struct np_group *group_ending(const struct np_rank *from, uint64_t digits)
{
	const struct np_group *found = NULL;

	for (size_t i = 0; i < from->groups.count; i++) {
		if (from->groups.item[i].hash < 1000 || from->groups.item[i].hash % 1000 != digits)
			continue;
		if (found)
			return NULL;
		found = &from->groups.item[i];
	}
	return found;
}

/*
 * Traces name a communicator by the last three digits of its hash, other files
 * by all of them. Both must get the same, whichever was read first.
 */
static void complete_hashes(struct np_rank *rank, const struct np_rank *from)
{
	for (size_t i = 0; i < rank->groups.count; i++) {
		struct np_group *group = &rank->groups.item[i];
		const struct np_group *full;

		if (group->hash >= 1000 || group->name != NP_STR_NONE)
			continue;
		full = group_ending(from, group->hash);
		if (full)
			group->hash = full->hash;
	}
}

/* Traces of one device do not say which it is. */
static void take_device(struct np_rank *to, const struct np_rank *from)
{
	if (to->device >= 0 || from->device < 0 || to->device_count > 1)
		return;
	to->device = from->device;
	for (size_t i = 0; i < to->times.count; i++)
		to->times.item[i].device = to->device;
	for (size_t i = 0; i < to->ops.count; i++)
		to->ops.item[i].device = np_device_of(to->device);
	for (size_t i = 0; i < to->comm_steps.count; i++)
		to->comm_steps.item[i].device = to->device;
}

/* A table of kernels has the times of operators, but nothing of what they moved. */
static bool has_better_ops(const struct np_rank *rank, const struct np_rank *fresh)
{
	return fresh->ops.count > 0 &&
	       (rank->ops.count == 0 ||
		(rank->comm_source == NP_FROM_KERNELS && fresh->comm_source == NP_FROM_TEXT));
}

static int join(struct np_rank *rank, struct np_rank *fresh, const char *path,
		const struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *kernels = NULL;
	bool times = rank->times.count == 0 && fresh->times.count > 0;
	bool ops = has_better_ops(rank, fresh);
	int rc;

	np_load_check(rank, fresh, path, strings);
	take_device(rank, fresh);
	rc = np_load_join_activity(rank, fresh, times, ops, err);
	if (rc == NP_OK && times)
		rc = take_times(rank, fresh, err);
	if (rc == NP_OK && ops) {
		/* Keep what computing hides: only the kernels tell. */
		kernels = np_rank_new(rank->id, rank->path);
		if (!kernels)
			return np_fail_nomem(err, path);
		kernels->exposed_source = rank->exposed_source;
		TAKE(kernels->comm_steps, rank->comm_steps);
		rc = take_ops(rank, fresh, err);
		for (size_t i = 0; i < rank->groups.count && rc == NP_OK; i++) {
			uint32_t index;

			rc = np_rank_group(kernels, rank->groups.item[i].hash, &index, err);
		}
		if (rc == NP_OK)
			rc = add_steps_of(kernels, rank, err);
		if (rc == NP_OK)
			rc = take_exposed(rank, kernels, err);
	}
	if (rc == NP_OK && rank->exposed_source == NP_FROM_NOTHING)
		rc = take_exposed(rank, fresh, err);
	take_group_names(rank, fresh);
	np_notes_move(&rank->notes, &fresh->notes);
	return rc;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A rank to read a further file into: it knows the communicators that the metadata names. */
static struct np_rank *sibling(const struct np_rank *rank, struct np_err *err)
{
	struct np_rank *fresh = np_rank_new(rank->id, rank->path);

	if (!fresh) {
		(void)np_fail_nomem(err, rank->path);
		return NULL;
	}
	for (size_t i = 0; i < rank->groups.count; i++) {
		struct np_group *group = np_vec_add(&fresh->groups, err);

		if (!group) {
			np_rank_free(fresh);
			return NULL;
		}
		/* Members stay in the arena of the first rank, which lives longer. */
		*group = rank->groups.item[i];
	}
	return fresh;
}

static void adopt_metadata(struct np_rank *rank, struct np_rank *fresh)
{
	if (!rank->parallel.known)
		rank->parallel = fresh->parallel;
	if (rank->host_uid == NP_STR_NONE) {
		rank->host_uid = fresh->host_uid;
		rank->host_name = fresh->host_name;
	}
	if (rank->schema_version == NP_STR_NONE)
		rank->schema_version = fresh->schema_version;
	if (rank->level == NP_STR_NONE)
		rank->level = fresh->level;
	rank->contents |= fresh->contents;
	if (!rank->kernel_sums)
		rank->kernel_sums = NP_STEAL(fresh->kernel_sums);
	if (rank->kernels.count == 0)
		TAKE(rank->kernels, fresh->kernels);
	if (rank->calls.count == 0)
		TAKE(rank->calls, fresh->calls);
	if (rank->memory.count == 0) {
		TAKE(rank->memory, fresh->memory);
		TAKE(rank->memory_steps, fresh->memory_steps);
	}
}

/* Members that a file brought live in its own arena: copy those that are new. */
static int adopt_members(struct np_rank *rank, const struct np_rank *fresh, struct np_err *err)
{
	for (size_t i = 0; i < fresh->groups.count; i++) {
		const struct np_group *from = &fresh->groups.item[i];
		struct np_group *group;
		uint32_t index;
		int rc = np_rank_group(rank, from->hash, &index, err);

		if (rc < 0)
			return rc;
		group = &rank->groups.item[index];
		if (group->pg_name == NP_STR_NONE)
			group->pg_name = from->pg_name;
		if (group->members || !from->members)
			continue;
		group->members = np_arena_array(rank->arena, from->member_count, sizeof(int32_t));
		if (!group->members)
			return np_fail_nomem(err, "members of a communicator");
		memcpy(group->members, from->members, from->member_count * sizeof(int32_t));
		group->member_count = from->member_count;
		group->group_rank = from->group_rank;
	}
	return NP_OK;
}

static int read_file(struct np_rank *rank, size_t index, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *problem, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *fresh = sibling(rank, err);
	const char *path = source->file[readers[index].file];
	int rc;

	if (!fresh)
		return NP_E_NOMEM;
	rc = readers[index].read(fresh, source, strings, problem);
	if (rc < 0 && rc != NP_E_NOMEM && readers[index].again) {
		*problem = NP_ERR_INIT;
		np_rank_freep(&fresh);
		fresh = sibling(rank, err);
		if (!fresh)
			return NP_E_NOMEM;
		rc = readers[index].again(fresh, source, strings, problem);
	}
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem->text);
	if (rc < 0)
		return NP_OK;
	/* A table that is not there has left its words, but it is no problem. */
	*problem = NP_ERR_INIT;
	adopt_metadata(rank, fresh);
	complete_hashes(rank, fresh);
	complete_hashes(fresh, rank);
	rc = adopt_members(rank, fresh, err);
	return rc < 0 ? rc : join(rank, fresh, path, strings, err);
}

static bool has_something(const struct np_rank *rank)
{
	return rank->times.count > 0 || rank->ops.count > 0;
}

/* What could not be read matters less if another file told the same; both are said. */
static void note_problems(struct np_rank *rank, const struct np_source_files *source,
			  const struct np_err *problems)
{
	for (size_t i = 0; i < NP_COUNT(readers); i++) {
		enum np_file file = readers[i].file;

		if (problems[i].code == NP_OK)
			continue;
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, source->file[file],
			    np_file_name(file), "%s; used instead: %s", problems[i].text,
			    np_source_name(rank->step_source != NP_FROM_NOTHING
						   ? rank->step_source
						   : rank->comm_source));
	}
}

/* Nothing could be read: say of every file why. */
static int fail_with_all(const struct np_err *problems, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf all = NP_BUF_INIT;
	enum np_code code = NP_OK;

	for (size_t i = 0; i < NP_COUNT(readers); i++) {
		if (problems[i].code == NP_OK)
			continue;
		np_buf_printf(&all, "%s%s", code == NP_OK ? "" : "; ", problems[i].text);
		if (code == NP_OK)
			code = problems[i].code;
	}
	if (code == NP_OK)
		return np_fail(err, NP_E_NOTFOUND, "no file of a profile");
	return np_fail(err, code, "%s", all.text);
}

static int read_files(struct np_rank *rank, const struct np_source_files *source,
		      struct np_strtab *strings, struct np_err *err)
{
	struct np_err problems[NP_COUNT(readers)] = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(readers) && rc == NP_OK; i++) {
		if (!source->file[readers[i].file] || (readers[i].large && !lacks_something(rank)))
			continue;
		rc = read_file(rank, i, source, strings, &problems[i], err);
	}
	if (rc < 0)
		return rc;
	if (!has_something(rank))
		return fail_with_all(problems, err);
	note_problems(rank, source, problems);
	if (source->file[NP_FILE_MEMORY_RECORD] || source->file[NP_FILE_OPERATOR_MEMORY] ||
	    source->file[NP_FILE_MODULE_MEMORY])
		rank->contents |= NP_HAS_MEMORY;
	return NP_OK;
}

static int take_host(struct np_rank *rank, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *err)
{
	int rc;

	if (rank->device < 0)
		rank->device = np_device_of(source->device);
	if (rank->host_uid != NP_STR_NONE || !source->host)
		return NP_OK;
	rc = np_strtab_add(strings, source->host, strlen(source->host), &rank->host_uid, err);
	rank->host_name = rank->host_uid;
	return rc;
}

int np_load_rank(const struct np_source_files *source, struct np_strtab *strings,
		 struct np_rank **ret, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(source->rank, source->dir);
	int rc;

	if (!rank)
		return np_fail_nomem(err, source->dir);
	rc = np_load_metadata(rank, source, strings, err);
	if (rc == NP_OK)
		rc = read_files(rank, source, strings, err);
	if (rc == NP_OK)
		rc = np_load_statistics(rank, source, strings, err);
	if (rc == NP_OK)
		rc = np_load_memory(rank, source, strings, err);
	if (rc == NP_OK)
		rc = np_load_experts(rank, source, strings, err);
	if (rc == NP_OK)
		rc = take_host(rank, source, strings, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(rank);
	return NP_OK;
}
