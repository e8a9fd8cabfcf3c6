/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a job: captures of one rank that are not the same thing twice
 * ---------------------------------------------------------------------------
 *
 * Frameworks of reinforcement learning keep a directory for each role (and step), and profilers
 * with a schedule write a capture for each window. So captures of one rank in different directories
 * are of different phases, named by the components that differ; captures of one process in the same
 * directory are windows, counted in the order of time. A few ranks that are there twice among many
 * that are not are no phases: somebody has left an old capture there.
 */
#include "discover_ranks.h"

#include "npuprof/buf.h"

/* Deeper components do not tell phases apart. */
#define MOST_PARTS 12

/* The directories above a capture, from the root on. */
struct parts {
	struct {
		const char *text;
		size_t length;
	} item[MOST_PARTS];
	size_t count;
};

/* What is found out about a capture; by the index of its source. */
struct captured {
	struct parts parts;
	size_t key;    /* of the directories that differ: in phasing.keys */
	size_t window; /* captures by the same process in the same place that came before */
	bool outdated; /* another process made a later one of the rank in the same place */
};

struct phase_key {
	char *text;
	size_t ranks;
	size_t last_window;
};

/* A source, to be sorted. */
struct rank_place {
	int32_t rank;
	size_t index;
};

struct phasing {
	const struct namings *all;
	struct np_run *run;
	struct captured *list;
	struct rank_place *by_rank; /* those of one rank together */
	NP_VEC(struct phase_key) keys;
	bool differs[MOST_PARTS];
	bool replicas_collide;
};

/*
 * Where files stand side by side their names say it: SGLang has a prefix for what was measured, and
 * may profile prefill and decode apart; verl has role, stage and step.
 */
static void split_name(const struct capture_name *name, const char *text, struct parts *ret)
{
	const struct name_part parts[] = { name->worker, name->role, name->stage };

	for (size_t i = 0; i < NP_COUNT(parts) && ret->count < MOST_PARTS; i++) {
		ret->item[ret->count].text = text + parts[i].begin;
		ret->item[ret->count++].length = parts[i].length;
	}
}

static void split(const struct naming *naming, struct parts *ret)
{
	const char *at = naming->path + naming->root;
	const char *slash;

	while ((slash = strchr(at, '/')) && ret->count < MOST_PARTS) {
		ret->item[ret->count].text = at;
		ret->item[ret->count++].length = (size_t)(slash - at);
		at = slash + 1;
	}
	if (naming->name.form == CAPTURE_SGLANG || naming->name.form == CAPTURE_VERL)
		split_name(&naming->name, at, ret);
}

/* "agent_loop_rollout_replica_3" without its number: the length of what the replicas share. */
static size_t without_replica(const char *text, size_t length)
{
	static const char word[] = "_replica";
	size_t at = length;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == length || at < strlen(word) + 1 || text[at - 1] != '_' ||
	    memcmp(text + at - 1 - strlen(word), word, strlen(word)) != 0)
		return length;
	return at - 1 - strlen(word);
}

static bool same_part(const struct parts *a, const struct parts *b, size_t at)
{
	if (at >= a->count || at >= b->count)
		return at >= a->count && at >= b->count;
	return a->item[at].length == b->item[at].length &&
	       memcmp(a->item[at].text, b->item[at].text, a->item[at].length) == 0;
}

/* Is it called as the directory that it is in? */
static bool repeats(const struct parts *parts, size_t at)
{
	return parts->item[at].length == parts->item[at - 1].length &&
	       memcmp(parts->item[at].text, parts->item[at - 1].text, parts->item[at].length) == 0;
}

static int32_t rank_at(const struct phasing *phasing, size_t place)
{
	return phasing->by_rank[place].rank;
}

/* The end of the captures of the rank at this place of by_rank. */
static size_t end_of_rank(const struct phasing *phasing, size_t from)
{
	size_t to = from;

	while (to < phasing->run->sources.count && rank_at(phasing, to) == rank_at(phasing, from))
		to++;
	return to;
}

/* For every two captures of one rank. */
typedef void each_pair(struct phasing *phasing, size_t a, size_t b);

static void for_pairs(struct phasing *phasing, each_pair *act)
{
	for (size_t from = 0, to; from < phasing->run->sources.count; from = to) {
		to = end_of_rank(phasing, from);
		/* Captures without a rank are not of the same one. */
		for (size_t i = from; i < to && rank_at(phasing, from) >= 0; i++) {
			for (size_t j = from; j < to; j++) {
				if (i != j)
					act(phasing, phasing->by_rank[i].index,
					    phasing->by_rank[j].index);
			}
		}
	}
}

/* Do captures of one rank stand in two replicas of a rollout? Then each numbers its own. */
static void find_replicas(struct phasing *phasing, size_t a, size_t b)
{
	const struct parts *one = &phasing->list[a].parts;
	const struct parts *other = &phasing->list[b].parts;

	for (size_t k = 0; k < one->count && k < other->count; k++) {
		size_t x = without_replica(one->item[k].text, one->item[k].length);
		size_t y = without_replica(other->item[k].text, other->item[k].length);

		if (!same_part(one, other, k) && x < one->item[k].length && x == y &&
		    memcmp(one->item[k].text, other->item[k].text, x) == 0)
			phasing->replicas_collide = true;
	}
}

/* Replicas whose ranks differ are one role. */
static void join_replicas(struct phasing *phasing)
{
	for (size_t i = 0; i < phasing->run->sources.count; i++) {
		struct parts *parts = &phasing->list[i].parts;

		for (size_t k = 0; k < parts->count; k++)
			parts->item[k].length =
				without_replica(parts->item[k].text, parts->item[k].length);
	}
}

/* Mark the places at which they differ. */
static void find_differences(struct phasing *phasing, size_t a, size_t b)
{
	for (size_t k = 0; k < MOST_PARTS; k++) {
		if (!same_part(&phasing->list[a].parts, &phasing->list[b].parts, k))
			phasing->differs[k] = true;
	}
}

static int find_key(struct phasing *phasing, const char *text, size_t *ret, struct np_err *err)
{
	struct phase_key *key;

	for (size_t i = 0; i < phasing->keys.count; i++) {
		if (strcmp(phasing->keys.item[i].text, text) == 0) {
			*ret = i;
			return NP_OK;
		}
	}
	key = np_vec_add(&phasing->keys, err);
	if (!key || !(key->text = strdup(text)))
		return np_fail_nomem(err, "phases");
	*ret = phasing->keys.count - 1;
	return NP_OK;
}

static int make_keys(struct phasing *phasing, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < phasing->run->sources.count && rc == NP_OK; i++) {
		const struct parts *parts = &phasing->list[i].parts;
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

		np_buf_add(&text, "");
		for (size_t k = 0; k < parts->count; k++) {
			/* A role may be in the name of the directory and of the file. */
			if (phasing->differs[k] && parts->item[k].length > 0 &&
			    !(k > 0 && repeats(parts, k)))
				np_buf_printf(&text, "%s%.*s", text.length > 0 ? "/" : "",
					      (int)parts->item[k].length, parts->item[k].text);
		}
		rc = np_buf_check(&text, err);
		if (rc == NP_OK)
			rc = find_key(phasing, text.text, &phasing->list[i].key, err);
	}
	return rc;
}

/* Is an earlier capture of the rank, in the order of by_rank, in the same place? */
static bool seen_key(const struct phasing *phasing, size_t from, size_t at)
{
	for (size_t i = from; i < at; i++) {
		if (phasing->list[phasing->by_rank[i].index].key ==
		    phasing->list[phasing->by_rank[at].index].key)
			return true;
	}
	return false;
}

/* Count the ranks of each key, and those that two keys share. */
static void count_shared(struct phasing *phasing, size_t *shared)
{
	size_t keys = phasing->keys.count;

	for (size_t from = 0, to; from < phasing->run->sources.count; from = to) {
		to = end_of_rank(phasing, from);
		/* Captures without a rank are not of the same one. */
		for (size_t i = from; i < to && rank_at(phasing, from) >= 0; i++) {
			size_t key = phasing->list[phasing->by_rank[i].index].key;

			if (seen_key(phasing, from, i))
				continue;
			phasing->keys.item[key].ranks++;
			for (size_t j = from; j < i; j++) {
				size_t other = phasing->list[phasing->by_rank[j].index].key;

				if (!seen_key(phasing, from, j))
					shared[key < other ? key * keys + other
							   : other * keys + key]++;
			}
		}
	}
}

/* Directories that share most of the ranks of the smaller one hold phases. */
static int keys_are_phases(struct phasing *phasing, bool *ret, struct np_err *err)
{
	size_t keys = phasing->keys.count;
	size_t *shared = calloc(keys * keys + 1, sizeof(*shared));
	size_t shared_all = 0;
	size_t least_all = 0;

	if (!shared)
		return np_fail_nomem(err, "phases");
	count_shared(phasing, shared);
	for (size_t i = 0; i < keys * keys; i++) {
		size_t a = phasing->keys.item[i / keys].ranks;
		size_t b = phasing->keys.item[i % keys].ranks;

		if (shared[i] == 0)
			continue;
		shared_all += shared[i];
		least_all += a < b ? a : b;
	}
	free(shared);
	*ret = least_all > 0 && 2 * shared_all >= least_all;
	return NP_OK;
}

/* All are in the same place. */
static void drop_keys(struct phasing *phasing)
{
	phasing->keys.item[0].text[0] = '\0';
	for (size_t i = 0; i < phasing->run->sources.count; i++)
		phasing->list[i].key = 0;
}

static void find_windows(struct phasing *phasing, size_t a, size_t b)
{
	const struct np_source_files *own = &phasing->run->sources.item[a];
	const struct np_source_files *other = &phasing->run->sources.item[b];
	bool same = discover_same_maker(&phasing->all->list[a], &phasing->all->list[b]);

	if (phasing->list[a].key != phasing->list[b].key)
		return;
	phasing->list[a].window += same && other->stamp < own->stamp;
	phasing->list[a].outdated |= !same && other->stamp > own->stamp;
}

static void count_windows(struct phasing *phasing)
{
	for (size_t i = 0; i < phasing->run->sources.count; i++) {
		const struct captured *each = &phasing->list[i];
		struct phase_key *key = &phasing->keys.item[each->key];

		if (!each->outdated && each->window > key->last_window)
			key->last_window = each->window;
	}
}

/* A capture of an older run competes with the newest window, and loses. */
static int name_phase(struct phasing *phasing, size_t index, struct np_err *err)
{
	struct np_source_files *source = &phasing->run->sources.item[index];
	const struct captured *each = &phasing->list[index];
	const struct phase_key *key = &phasing->keys.item[each->key];
	int length;

	if (key->last_window > 0)
		length = asprintf(&source->phase, "%s-%zu", *key->text ? key->text : "window",
				  (each->outdated ? key->last_window : each->window) + 1);
	else
		length = asprintf(&source->phase, "%s", *key->text ? key->text : "main");
	if (length < 0) {
		source->phase = NULL;
		return np_fail_nomem(err, "phases");
	}
	return NP_OK;
}

static int by_version(const void *left, const void *right)
{
	return strverscmp(*(char *const *)left, *(char *const *)right);
}

static int list_phases(struct np_run *run, struct np_err *err)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		bool seen = false;
		char **slot;

		for (size_t j = 0; j < run->phases.count && !seen; j++)
			seen = strcmp(run->phases.item[j], run->sources.item[i].phase) == 0;
		if (seen)
			continue;
		slot = np_vec_add(&run->phases, err);
		if (!slot || !(*slot = strdup(run->sources.item[i].phase)))
			return np_fail_nomem(err, "phases");
	}
	qsort(run->phases.item, run->phases.count, sizeof(run->phases.item[0]), by_version);
	return NP_OK;
}

/* One phase is none. */
static void forget_phases(struct np_run *run)
{
	if (run->phases.count > 1)
		return;
	for (size_t i = 0; i < run->phases.count; i++)
		free(run->phases.item[i]);
	run->phases.count = 0;
	for (size_t i = 0; i < run->sources.count; i++) {
		free(run->sources.item[i].phase);
		run->sources.item[i].phase = NULL;
	}
}

static int by_rank_then_index(const void *left, const void *right)
{
	const struct rank_place *a = left;
	const struct rank_place *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool ranks_repeat(const struct phasing *phasing)
{
	for (size_t i = 1; i < phasing->run->sources.count; i++) {
		if (rank_at(phasing, i) >= 0 && rank_at(phasing, i) == rank_at(phasing, i - 1))
			return true;
	}
	return false;
}

static int find_phases(struct phasing *phasing, struct np_err *err)
{
	struct np_run *run = phasing->run;
	bool phases = false;
	int rc;

	for (size_t i = 0; i < run->sources.count; i++)
		phasing->by_rank[i] = (struct rank_place){ run->sources.item[i].rank, i };
	qsort(phasing->by_rank, run->sources.count, sizeof(*phasing->by_rank), by_rank_then_index);
	if (!ranks_repeat(phasing))
		return NP_OK;
	for (size_t i = 0; i < run->sources.count; i++)
		split(&phasing->all->list[i], &phasing->list[i].parts);
	for_pairs(phasing, find_replicas);
	if (!phasing->replicas_collide)
		join_replicas(phasing);
	for_pairs(phasing, find_differences);
	rc = make_keys(phasing, err);
	if (rc == NP_OK)
		rc = keys_are_phases(phasing, &phases, err);
	if (rc < 0)
		return rc;
	if (!phases)
		drop_keys(phasing);
	for_pairs(phasing, find_windows);
	count_windows(phasing);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
		rc = name_phase(phasing, i, err);
	if (rc == NP_OK)
		rc = list_phases(run, err);
	if (rc == NP_OK)
		forget_phases(run);
	return rc;
}

int discover_find_phases(const struct namings *all, struct np_err *err)
{
	struct phasing phasing = { .all = all, .run = all->run };
	size_t count = all->run->sources.count;
	int rc;

	phasing.list = calloc(count + 1, sizeof(*phasing.list));
	phasing.by_rank = calloc(count + 1, sizeof(*phasing.by_rank));
	rc = phasing.list && phasing.by_rank ? find_phases(&phasing, err)
					     : np_fail_nomem(err, "phases");
	for (size_t i = 0; i < phasing.keys.count; i++)
		free(phasing.keys.item[i].text);
	np_vec_release(&phasing.keys);
	free(phasing.list);
	free(phasing.by_rank);
	return rc;
}
