/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank each capture is of, and which of several captures of a rank is used. */
#include "discover_ranks.h"

#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/buf.h"
#include "npuprof/json.h"
#include "npuprof/notes.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

/* --- what names say -------------------------------------------------------------------------- */

static const char *last_part(const struct naming *naming)
{
	return np_text_last_part(naming->path);
}

/* The part of a name in front of the time: equal for the captures of one process. */
static size_t identity_of(const char *name, const struct capture_name *facts)
{
	const char *end = NULL;

	/* The worker of a trace of Kineto is its host and process. */
	if (facts->form == CAPTURE_KINETO)
		return facts->worker.length;
	if (facts->pid < 0)
		return 0;
	if (facts->form == CAPTURE_VERL) {
		const char *at = strstr(name, "pid");

		return at ? (size_t)(at - name) + strcspn(at, "_") : 0;
	}
	if (facts->form == CAPTURE_MSMONITOR) {
		end = strchr(name + strlen("msmonitor_"), '_');
	} else {
		for (const char *at = name; (at = strstr(at, "_ascend_")); at++)
			end = at;
		while (end && end > name && end[-1] >= '0' && end[-1] <= '9')
			end--;
	}
	return end ? (size_t)(end - name) : 0;
}

/* Processes of two hosts may have the same id. */
static bool same_process(const struct naming *a, const struct naming *b)
{
	return a->process > 0 && a->process == b->process && a->host && b->host &&
	       strcmp(a->host, b->host) == 0;
}

/* SGLang names no process: who has the same part of the model in the same server is one. */
static bool same_part_of_server(const struct naming *a, const struct naming *b)
{
	const struct capture_name *x = &a->name;
	const struct capture_name *y = &b->name;

	return x->form == CAPTURE_SGLANG && y->form == CAPTURE_SGLANG && x->tp == y->tp &&
	       x->dp == y->dp && x->pp == y->pp && x->ep == y->ep;
}

bool discover_same_maker(const struct naming *a, const struct naming *b)
{
	if (same_process(a, b) || same_part_of_server(a, b))
		return true;
	return a->identity > 0 && a->identity == b->identity &&
	       memcmp(last_part(a), last_part(b), a->identity) == 0;
}

static int read_name(struct namings *all, size_t index, struct np_err *err)
{
	struct np_source_files *source = &all->run->sources.item[index];
	struct naming *naming = &all->list[index];
	const struct capture_name *name = &naming->name;
	int rc;

	/* A summary is of a profile that need not be here. */
	naming->path = realpath(source->dir, NULL);
	if (!naming->path)
		naming->path = strdup(source->dir);
	if (!naming->path)
		return np_fail_nomem(err, source->dir);
	rc = capture_name_read(all->names, last_part(naming), &naming->name, err);
	if (rc < 0)
		return rc;
	naming->identity = identity_of(last_part(naming), name);
	if (name->time >= 0 && (name->form == CAPTURE_SGLANG || name->form == CAPTURE_VERL))
		source->stamp = name->time;
	naming->process = source->process;
	naming->host = source->host;
	source->place =
		(struct np_named_place){ .known = name->dp >= 0 || name->pp >= 0 || name->tp >= 0 ||
						  name->cp >= 0 || name->ep >= 0,
					 .dp = name->dp,
					 .pp = name->pp,
					 .tp = name->tp,
					 .cp = name->cp,
					 .ep = name->ep };
	return NP_OK;
}

/* Where the components below (and with) the root begin. */
static void find_root(const struct np_run *run, struct naming *naming)
{
	for (size_t i = 0; i < run->roots.count; i++) {
		char *root = realpath(run->roots.item[i], NULL);
		size_t length = root ? strlen(root) : 0;

		if (length > 1 && strncmp(root, naming->path, length) == 0 &&
		    (naming->path[length] == '/' || naming->path[length] == '\0')) {
			while (length > 0 && naming->path[length - 1] != '/')
				length--;
			if (length > naming->root)
				naming->root = length;
		}
		free(root);
	}
	if (naming->root == 0)
		naming->root = (size_t)(last_part(naming) - naming->path);
}

/* Does another capture without a rank stand below this directory? Then its name is no rank's. */
static bool shared(const struct namings *all, size_t index, size_t length)
{
	const struct naming *own = &all->list[index];

	for (size_t i = 0; i < all->run->sources.count; i++) {
		const struct naming *other = &all->list[i];

		if (i != index && all->run->sources.item[i].rank < 0 &&
		    !discover_same_maker(own, other) &&
		    strncmp(own->path, other->path, length) == 0 && other->path[length] == '/')
			return true;
	}
	return false;
}

/* "rank3" in the name of a directory above the capture, the nearest first; -1 without one. */
static int rank_above(struct namings *all, size_t index, int32_t *ret, struct np_err *err)
{
	struct naming *naming = &all->list[index];
	size_t end = (size_t)(last_part(naming) - naming->path);
	int rc = NP_OK;

	*ret = -1;
	while (rc == NP_OK && *ret < 0 && end > naming->root) {
		struct capture_name facts;
		size_t begin = end - 1;
		char *part;

		while (begin > naming->root && naming->path[begin - 1] != '/')
			begin--;
		part = strndup(naming->path + begin, end - 1 - begin);
		if (!part)
			return np_fail_nomem(err, naming->path);
		rc = capture_name_read(all->names, part, &facts, err);
		if (rc == NP_OK && facts.rank >= 0 && !shared(all, index, end - 1))
			*ret = facts.rank;
		free(part);
		end = begin;
	}
	return rc;
}

/* distributed_args of the metadata may say the rank that wrote them. */
static void read_metadata(struct np_source_files *source)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int64_t rank;

	if (!source->file[NP_FILE_METADATA] ||
	    np_json_read_file(source->file[NP_FILE_METADATA], NP_METADATA_MAX_BYTES, &doc, NULL) <
		    0)
		return;
	if (np_json_integer(np_json_member(np_json_member(doc, "distributed_args"), "rank"),
			    &rank) &&
	    rank >= 0 && rank <= INT32_MAX)
		source->rank = (int32_t)rank;
}

static int name_rank(struct namings *all, size_t index, struct np_err *err)
{
	struct np_source_files *source = &all->run->sources.item[index];
	int32_t rank = all->list[index].name.rank;
	int rc = NP_OK;

	if (source->rank < 0)
		discover_read_db(source);
	if (source->rank < 0)
		discover_read_kineto(source);
	if (source->rank < 0)
		read_metadata(source);
	if (source->rank >= 0)
		return NP_OK;
	if (rank < 0)
		rc = rank_above(all, index, &rank, err);
	if (rc < 0 || rank < 0)
		return rc;
	source->rank = rank;
	source->rank_from = NP_RANK_FROM_NAME;
	return NP_OK;
}

/* --- replicas of data parallelism ------------------------------------------------------------ */

/* Sizes of the dimensions that names have, each one more than the largest coordinate. */
static int32_t size_of(const struct np_run *run,
		       int32_t (*coordinate)(const struct np_named_place *))
{
	int32_t most = -1;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_named_place *place = &run->sources.item[i].place;

		if (place->known && coordinate(place) > most)
			most = coordinate(place);
	}
	return most + 1;
}

static int32_t tp_of(const struct np_named_place *place)
{
	return place->tp;
}

static int32_t pp_of(const struct np_named_place *place)
{
	return place->pp;
}

/*
 * Do tp and pp alone tell the captures apart that have no rank? Where attention alone is
 * replicated, the replica is one of the parts of tp (SGLang), and no dimension of its own.
 */
static bool places_differ(const struct np_run *run)
{
	bool replicas = false;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *a = &run->sources.item[i];

		for (size_t j = 0; j < i && a->rank < 0 && a->place.known; j++) {
			const struct np_source_files *b = &run->sources.item[j];

			if (b->rank >= 0 || !b->place.known)
				continue;
			if (b->place.tp == a->place.tp && b->place.pp == a->place.pp)
				return false;
			replicas = replicas || b->place.dp != a->place.dp;
		}
	}
	return replicas;
}

/* A name with coordinates and no rank: tp runs fastest, then pp, then dp. */
static void place_unranked(struct np_run *run)
{
	int64_t tp = size_of(run, tp_of);
	int64_t pp = size_of(run, pp_of);
	bool differ = places_differ(run);

	for (size_t i = 0; i < run->sources.count; i++) {
		struct np_source_files *source = &run->sources.item[i];
		const struct np_named_place *at = &source->place;
		int64_t rank = at->tp < 0 ? 0 : at->tp;

		if (source->rank >= 0 || !at->known || at->tp < 0)
			continue;
		rank += tp * (at->pp < 0 ? 0 : at->pp);
		if (!differ)
			rank += tp * (pp < 1 ? 1 : pp) * (at->dp < 0 ? 0 : at->dp);
		if (rank < 0 || rank > INT32_MAX)
			continue;
		source->rank = (int32_t)rank;
		source->rank_from = NP_RANK_FROM_NAME;
	}
}

/* vLLM numbers the workers of each replica from 0: is that so here? */
static bool replicas_collide(const struct np_run *run)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *a = &run->sources.item[i];

		for (size_t j = 0; j < i && a->place.known && a->place.dp >= 0 && a->rank >= 0;
		     j++) {
			const struct np_source_files *b = &run->sources.item[j];

			if (b->rank == a->rank && b->place.known && b->place.dp >= 0 &&
			    b->place.dp != a->place.dp)
				return true;
		}
	}
	return false;
}

static void number_replicas(struct np_run *run)
{
	int64_t width = 0;

	if (!replicas_collide(run))
		return;
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		if (source->place.known && source->place.dp >= 0 && source->rank >= width)
			width = (int64_t)source->rank + 1;
	}
	for (size_t i = 0; i < run->sources.count; i++) {
		struct np_source_files *source = &run->sources.item[i];
		int64_t rank = source->rank + width * source->place.dp;

		if (!source->place.known || source->place.dp < 0 || source->rank < 0 ||
		    rank > INT32_MAX)
			continue;
		source->rank = (int32_t)rank;
		source->rank_from = NP_RANK_FROM_NAME;
	}
	np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], "ranks",
		    "replicas of data parallelism repeat their ranks: numbered as dp × %lld + rank",
		    (long long)width);
}

static void note_named(struct np_run *run)
{
	size_t named = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		named += run->sources.item[i].rank_from == NP_RANK_FROM_NAME;
	if (named > 0)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], "ranks",
			    "no file says the rank of %zu capture%s: it is taken from the name",
			    named, named == 1 ? "" : "s");
}

/* --- captures without a rank ----------------------------------------------------------------- */

static int by_host_and_device(const struct np_source_files *a, const struct np_source_files *b)
{
	int order = strcmp(a->host ? a->host : "", b->host ? b->host : "");

	if (order)
		return order;
	return a->device < b->device ? -1 : a->device > b->device;
}

/* Are these the same device of the same host, or the same process? */
static bool same_rank(const struct namings *all, size_t i, size_t j)
{
	const struct np_source_files *a = &all->run->sources.item[i];
	const struct np_source_files *b = &all->run->sources.item[j];

	if (discover_same_maker(&all->list[i], &all->list[j]))
		return true;
	return a->host && b->host && a->device >= 0 && by_host_and_device(a, b) == 0;
}

/* Nothing but their order tells these two apart. */
static bool alike(const struct namings *all, size_t i, size_t j)
{
	const struct np_source_files *a = &all->run->sources.item[i];
	const struct np_source_files *b = &all->run->sources.item[j];

	return a->device < 0 || b->device < 0 || by_host_and_device(a, b) == 0;
}

/* The number of the captures in front of this one, each process counted once; or that of its own.
 */
static int32_t number_of(const struct namings *all, const size_t *order, size_t at)
{
	int32_t next = 0;

	for (size_t i = 0; i < at; i++) {
		if (same_rank(all, order[i], order[at]))
			return all->run->sources.item[order[i]].rank;
		if (all->run->sources.item[order[i]].rank >= next)
			next = all->run->sources.item[order[i]].rank + 1;
	}
	return next;
}

static bool comes_before(const struct namings *all, size_t i, size_t j)
{
	const struct np_source_files *a = &all->run->sources.item[i];
	const struct np_source_files *b = &all->run->sources.item[j];
	int order = by_host_and_device(a, b);

	return order ? order < 0 : strcmp(a->dir, b->dir) < 0;
}

/* By host, device and name: a few captures, so the simplest of sorts. */
static void sort_unnamed(const struct namings *all, size_t *order, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t j = i; j > 0 && comes_before(all, order[j], order[j - 1]); j--) {
			size_t other = order[j];

			order[j] = order[j - 1];
			order[j - 1] = other;
		}
	}
}

static void note_unnamed(struct namings *all, size_t ranks, bool provisional)
{
	struct np_run *run = all->run;

	if (ranks == 1) {
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->sources.item[0].dir,
			    "ranks", "nothing names its rank: 0 is assumed");
		return;
	}
	if (!provisional) {
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], "ranks",
			    "no profile names its rank (RANK_ID was not set): numbered by host and"
			    " device");
		return;
	}
	for (size_t i = 0; i < run->sources.count; i++)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->sources.item[i].dir,
			    "rank number",
			    "nothing names its rank, and nothing tells it from the others: %d is a"
			    " provisional number",
			    run->sources.item[i].rank);
}

/*
 * When no capture has a rank they are numbered by host and device, as other tools do; where these
 * are not known, or equal, the numbers are provisional.
 */
static int number_unnamed(struct namings *all, struct np_err *err)
{
	struct np_run *run = all->run;
	size_t count = run->sources.count;
	bool provisional = false;
	int32_t most = 0;
	size_t *order;

	for (size_t i = 0; i < count; i++) {
		if (run->sources.item[i].rank >= 0)
			return NP_OK;
	}
	order = malloc((count + 1) * sizeof(*order));
	if (!order)
		return np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	sort_unnamed(all, order, count);
	for (size_t i = 0; i < count; i++) {
		struct np_source_files *source = &run->sources.item[order[i]];

		for (size_t j = 0; j < i; j++)
			provisional = provisional || (alike(all, order[i], order[j]) &&
						      !same_rank(all, order[i], order[j]));
		source->rank = number_of(all, order, i);
		if (source->rank > most)
			most = source->rank;
	}
	for (size_t i = 0; i < count; i++)
		run->sources.item[i].rank_from =
			provisional ? NP_RANK_PROVISIONAL : NP_RANK_ASSUMED;
	note_unnamed(all, (size_t)most + 1, provisional);
	free(order);
	return NP_OK;
}

int discover_name_ranks(struct np_run *run, const struct np_discover_options *options,
			struct np_err *err)
{
	struct namings all = { .run = run };
	int rc = capture_names_new(&all.names, err);

	all.list = calloc(run->sources.count + 1, sizeof(*all.list));
	if (rc == NP_OK && !all.list)
		rc = np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		rc = read_name(&all, i, err);
		if (rc == NP_OK)
			find_root(run, &all.list[i]);
	}
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
		rc = name_rank(&all, i, err);
	if (rc == NP_OK) {
		place_unranked(run);
		rc = discover_count_names(run, err);
	}
	if (rc == NP_OK) {
		number_replicas(run);
		note_named(run);
		rc = number_unnamed(&all, err);
	}
	/* Who picks among captures of one rank takes them for the same. */
	if (rc == NP_OK && options->pick_count == 0)
		rc = discover_drop_copies(&all, err);
	if (rc == NP_OK && options->pick_count == 0)
		rc = discover_find_phases(&all, err);
	for (size_t i = 0; all.list && i < run->sources.count; i++)
		free(all.list[i].path);
	free(all.list);
	capture_names_free(all.names);
	return rc;
}

/* --- which captures are used ----------------------------------------------------------------- */

static int by_rank_newest_first(const void *left, const void *right)
{
	const struct np_source_files *a = left;
	const struct np_source_files *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->stamp != b->stamp)
		return a->stamp > b->stamp ? -1 : 1;
	return strcmp(a->dir, b->dir);
}

/* Is `path` the directory `dir`, or above it? Both are resolved, for people give either form. */
static bool holds(const char *path, const char *dir)
{
	char *above = realpath(path, NULL);
	char *below = realpath(dir, NULL);
	size_t length = above ? strlen(above) : 0;
	bool found = above && below && strncmp(above, below, length) == 0 &&
		     (below[length] == '\0' || below[length] == '/');

	free(above);
	free(below);
	return found;
}

static bool is_picked(const struct np_source_files *source,
		      const struct np_discover_options *options)
{
	for (size_t i = 0; i < options->pick_count; i++) {
		if (holds(options->picks[i], source->dir))
			return true;
	}
	return false;
}

/* The candidate of one rank that is used; candidates are sorted, the newest first. */
static size_t choose(const struct np_source_files *candidates, size_t count,
		     const struct np_discover_options *options)
{
	for (size_t i = 0; i < count && count > 1; i++) {
		if (is_picked(&candidates[i], options))
			return i;
	}
	return 0;
}

static void note_duplicates(struct np_run *run, const struct np_source_files *candidates,
			    size_t count, size_t chosen)
{
	for (size_t i = 0; i < count; i++) {
		if (i == chosen)
			continue;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, candidates[i].rank, candidates[i].dir,
			    "rank", "'%s' holds the same rank and is %s", candidates[chosen].dir,
			    chosen == 0 ? "newer (--pick chooses another)" : "picked");
	}
}

/* Keep one directory for each rank. */
static void drop_duplicates(struct np_run *run, const struct np_discover_options *options)
{
	struct np_source_files *list = run->sources.item;
	size_t count = run->sources.count;
	size_t kept = 0;

	for (size_t from = 0, to = 0; from < count; from = to) {
		size_t chosen;
		struct np_source_files winner;

		while (to < count && list[to].rank == list[from].rank)
			to++;
		chosen = choose(&list[from], to - from, options);
		note_duplicates(run, &list[from], to - from, chosen);
		winner = list[from + chosen];
		for (size_t i = from; i < to; i++) {
			if (i != from + chosen)
				np_source_files_release(&list[i]);
		}
		list[kept++] = winner;
	}
	run->sources.count = kept;
}

/* Forget the source at `index`, keeping the order of the others. */
static void drop_source(struct np_run *run, size_t index)
{
	np_source_files_release(&run->sources.item[index]);
	memmove(&run->sources.item[index], &run->sources.item[index + 1],
		(run->sources.count - index - 1) * sizeof(run->sources.item[0]));
	run->sources.count--;
}

/* A profile of a single card has no rank; beside numbered ranks it cannot be placed. */
static void drop_unnumbered(struct np_run *run)
{
	while (run->sources.count > 1 && run->sources.item[0].rank < 0) {
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->sources.item[0].dir,
			    "rank",
			    "nothing names its rank (profiler_info_N.json, the number in the"
			    " database's name, RANK_ID), and other ranks are numbered");
		drop_source(run, 0);
	}
}

static int keep_ranks(struct np_run *run, const struct np_ranges *ranks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int64_t *known;
	int64_t unknown = 0;
	bool bad;

	if (!ranks)
		return NP_OK;
	known = malloc((run->sources.count + 1) * sizeof(*known));
	if (!known)
		return np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < run->sources.count; i++)
		known[i] = run->sources.item[i].rank;
	bad = np_ranges_first_unknown(ranks, known, run->sources.count, &unknown);
	np_ranges_format(&list, known, run->sources.count);
	free(known);
	if (bad)
		return np_fail(err, NP_E_USAGE, "no rank %lld in this run; there are ranks %s",
			       (long long)unknown, list.text);
	for (size_t i = run->sources.count; i-- > 0;) {
		if (!np_ranges_has(ranks, run->sources.item[i].rank))
			drop_source(run, i);
	}
	return NP_OK;
}

static int no_such_phase(const struct np_run *run, const char *wanted, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;

	for (size_t i = 0; i < run->phases.count; i++)
		np_buf_printf(&list, "%s%s", i > 0 ? ", " : "", run->phases.item[i]);
	if (run->phases.count == 0)
		return np_fail(err, NP_E_USAGE,
			       "no phase '%s' in this run; there is only one, without a name",
			       wanted);
	return np_fail(err, NP_E_USAGE, "no phase '%s' in this run; there are %s", wanted,
		       list.text ? list.text : "");
}

/* Of several phases only one is a run. */
static int keep_phase(struct np_run *run, const char *wanted, struct np_err *err)
{
	const char *kept = NULL;
	size_t count = 0;

	for (size_t i = 0; i < run->phases.count && !kept; i++) {
		if (!wanted || strcmp(run->phases.item[i], wanted) == 0)
			kept = run->phases.item[i];
	}
	if (!kept && wanted)
		return no_such_phase(run, wanted, err);
	for (size_t i = 0; kept && i < run->sources.count; i++) {
		struct np_source_files *source = &run->sources.item[i];

		if (source->phase && strcmp(source->phase, kept) == 0)
			run->sources.item[count++] = *source;
		else
			np_source_files_release(source);
	}
	if (kept)
		run->sources.count = count;
	return NP_OK;
}

int discover_choose(struct np_run *run, const struct np_discover_options *options,
		    struct np_err *err)
{
	bool none = run->summarised || (options->phase_if_any && run->phases.count == 0);
	int rc = none ? NP_OK : keep_phase(run, options->phase, err);

	if (rc < 0)
		return rc;
	qsort(run->sources.item, run->sources.count, sizeof(run->sources.item[0]),
	      by_rank_newest_first);
	drop_duplicates(run, options);
	drop_unnumbered(run);
	return keep_ranks(run, options->ranks, err);
}
