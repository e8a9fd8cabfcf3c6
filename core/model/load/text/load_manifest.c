/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of hosts and faults of captures from the manifest that the collector leaves. */
#include "npuprof/manifest.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/buf.h"
#include "npuprof/json.h"

#include <sys/stat.h>

#define MANIFEST_SCHEMA "npuprof.manifest/1"

/* A clock further off than this is a mistake: 10 years. */
#define MOST_OFFSET ((np_ns)10 * 365 * 24 * 3600 * 1000000000)

static void np_manifest_free(struct np_manifest *manifest)
{
	if (!manifest)
		return;
	for (size_t i = 0; i < manifest->hosts.count; i++) {
		free(manifest->hosts.item[i].host);
		free(manifest->hosts.item[i].knots);
	}
	np_vec_release(&manifest->hosts);
	np_vec_release(&manifest->ranks);
	for (size_t i = 0; i < manifest->faults.count; i++) {
		free(manifest->faults.item[i].dir);
		free(manifest->faults.item[i].reason);
	}
	np_vec_release(&manifest->faults);
	free(manifest->path);
	free(manifest);
}

void np_manifest_freep(struct np_manifest **manifest)
{
	np_manifest_free(*manifest);
	*manifest = NULL;
}

static int by_local(const void *left, const void *right)
{
	const struct np_clock_knot *a = left;
	const struct np_clock_knot *b = right;

	return (a->local > b->local) - (a->local < b->local);
}

static bool in_range(int64_t value, int64_t limit)
{
	return value >= -limit && value <= limit;
}

/*
 * Samples are (time of the reference, offset). A line between two of them is a
 * line over the local time as well, so they are kept by local time.
 */
static int take_samples(struct np_manifest_host *host, const struct np_json *clock,
			size_t *unusable, struct np_err *err)
{
	size_t count = np_json_count(clock);

	if (np_json_type(clock) != NP_JSON_ARRAY || count == 0)
		return NP_OK;
	host->knots = calloc(count, sizeof(*host->knots));
	if (!host->knots)
		return np_fail_nomem(err, NP_MANIFEST_NAME);
	for (size_t i = 0; i < count; i++) {
		const struct np_json *sample = np_json_item(clock, i);
		int64_t at;
		int64_t offset;
		int64_t uncertainty = 0;

		if (!np_json_integer(np_json_member(sample, "at_ns"), &at) ||
		    !np_json_integer(np_json_member(sample, "offset_ns"), &offset) ||
		    !in_range(at, NP_NS_MAX / 2) || !in_range(offset, MOST_OFFSET)) {
			++*unusable;
			continue;
		}
		host->knots[host->knot_count].local = at + offset;
		host->knots[host->knot_count++].offset = offset;
		(void)np_json_integer(np_json_member(sample, "uncertainty_ns"), &uncertainty);
		if (uncertainty > host->uncertainty && uncertainty <= MOST_OFFSET)
			host->uncertainty = uncertainty;
	}
	if (host->knot_count > 0)
		qsort(host->knots, host->knot_count, sizeof(host->knots[0]), by_local);
	return NP_OK;
}

static int take_host(struct np_manifest *manifest, const struct np_json *node, struct np_err *err)
{
	struct np_manifest_host *host = np_vec_add(&manifest->hosts, err);
	const char *name = np_json_text(np_json_member(node, "host"));
	double ppm = 0;

	if (!host)
		return NP_E_NOMEM;
	host->host = strdup(name ? name : "");
	if (!host->host)
		return np_fail_nomem(err, NP_MANIFEST_NAME);
	/* Of the reference's time; over the local time it is less by nothing that matters. */
	if (np_json_real(np_json_member(node, "drift_ppm"), &ppm) && ppm > -1e5 && ppm < 1e5)
		host->drift = ppm * 1e-6;
	return take_samples(host, np_json_member(node, "clock"), &manifest->unusable_clocks, err);
}

/* Was there a capture of it when the manifest was written? */
static bool is_collected(const struct np_json *node)
{
	const char *state = np_json_text(np_json_member(node, "state"));
	bool selected = false;

	return np_json_bool(np_json_member(node, "selected"), &selected) && selected && state &&
	       (strcmp(state, "raw") == 0 || strcmp(state, "exported") == 0);
}

static int take_rank(struct np_manifest *manifest, const struct np_json *node, struct np_err *err)
{
	const char *name = np_json_text(np_json_member(node, "host"));
	struct np_manifest_rank *rank;
	int64_t id;

	if (!name || !np_json_integer(np_json_member(node, "rank"), &id) || id < 0 ||
	    id > INT32_MAX) {
		manifest->unusable++;
		return NP_OK;
	}
	for (size_t i = 0; i < manifest->hosts.count; i++) {
		if (strcmp(manifest->hosts.item[i].host, name) != 0)
			continue;
		rank = np_vec_add(&manifest->ranks, err);
		if (!rank)
			return NP_E_NOMEM;
		rank->rank = (int32_t)id;
		rank->host = (uint32_t)i;
		rank->collected = is_collected(node);
		return NP_OK;
	}
	manifest->unusable++;
	return NP_OK;
}

/* One reason is of collecting, one of exporting; both may be there. */
static int take_fault(struct np_manifest *manifest, const struct np_json *node, const char *key,
		      bool exporting, struct np_err *err)
{
	const char *reason = np_json_text(np_json_member(node, key));
	const char *dir = np_json_text(np_json_member(node, "dir"));
	struct np_manifest_fault *fault;
	int64_t id;

	if (!reason || !*reason || !np_json_integer(np_json_member(node, "rank"), &id) || id < 0 ||
	    id > INT32_MAX)
		return NP_OK;
	fault = np_vec_add(&manifest->faults, err);
	if (!fault)
		return NP_E_NOMEM;
	*fault = (struct np_manifest_fault){ .rank = (int32_t)id,
					     .exporting = exporting,
					     .dir = strdup(dir ? dir : ""),
					     .reason = strdup(reason) };
	return fault->dir && fault->reason ? NP_OK : np_fail_nomem(err, NP_MANIFEST_NAME);
}

static int take_manifest(struct np_manifest *manifest, const struct np_json *doc,
			 struct np_err *err)
{
	const struct np_json *hosts = np_json_member(doc, "hosts");
	const struct np_json *ranks = np_json_member(doc, "ranks");
	const char *schema = np_json_text(np_json_member(doc, "schema"));
	int64_t world;
	int rc = NP_OK;

	if (!schema || strcmp(schema, MANIFEST_SCHEMA) != 0)
		return np_fail(err, NP_E_FORMAT, "'%s' is not of schema %s", manifest->path,
			       MANIFEST_SCHEMA);
	if (np_json_integer(np_json_member(doc, "world_size"), &world) && world > 0 &&
	    world <= INT32_MAX)
		manifest->world = (int32_t)world;
	for (size_t i = 0; i < np_json_count(hosts) && rc == NP_OK; i++)
		rc = take_host(manifest, np_json_item(hosts, i), err);
	for (size_t i = 0; i < np_json_count(ranks) && rc == NP_OK; i++) {
		const struct np_json *rank = np_json_item(ranks, i);

		rc = take_rank(manifest, rank, err);
		if (rc == NP_OK)
			rc = take_fault(manifest, rank, "reason", false, err);
		if (rc == NP_OK)
			rc = take_fault(manifest, rank, "export_reason", true, err);
	}
	return rc;
}

/* From the file, or from its text where that was kept. */
static int read_at(const char *root, const char *text, struct np_manifest **ret, struct np_err *err)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = calloc(1, sizeof(*manifest));
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int rc;

	if (!manifest || asprintf(&manifest->path, "%s/" NP_MANIFEST_NAME, root) < 0) {
		if (manifest)
			manifest->path = NULL;
		return np_fail_nomem(err, NP_MANIFEST_NAME);
	}
	rc = text ? np_json_parse(text, strlen(text), manifest->path, &doc, err)
		  : np_json_read_file(manifest->path, NP_METADATA_MAX_BYTES, &doc, err);
	if (rc == NP_OK)
		rc = take_manifest(manifest, doc, err);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(manifest);
	return NP_OK;
}

int np_load_manifest(const struct np_run *run, struct np_manifest **ret, struct np_err *err)
{
	if (run->manifest)
		return read_at(run->roots.item[0], run->manifest, ret, err);
	for (size_t i = 0; i < run->roots.count && !run->summarised; i++) {
		int rc = read_at(run->roots.item[i], NULL, ret, err);

		if (rc != NP_E_NOTFOUND)
			return rc;
	}
	return np_fail(err, NP_E_NOTFOUND, "no " NP_MANIFEST_NAME);
}

static bool is_here(const struct np_run *run, int32_t rank)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->sources.item[i].rank == rank)
			return true;
	}
	return false;
}

/* A link to nothing is not what nobody has written. */
static bool is_dangling(const struct np_run *run)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct stat link;

	np_buf_printf(&path, "%s/" NP_MANIFEST_NAME, run->roots.item[0]);
	return np_buf_check(&path, NULL) == NP_OK && lstat(path.text, &link) == 0;
}

void np_manifest_note(struct np_run *run)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = NULL;
	struct np_err problem = NP_ERR_INIT;
	int rc = np_load_manifest(run, &manifest, &problem);

	if (rc < 0 && (rc != NP_E_NOTFOUND || is_dangling(run)))
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    NP_MANIFEST_NAME, "%s", problem.text);
	for (size_t i = 0; rc == NP_OK && i < manifest->faults.count; i++) {
		const struct np_manifest_fault *fault = &manifest->faults.item[i];

		np_note_add(&run->notes, NP_NOTE_SKIPPED, fault->rank,
			    *fault->dir ? fault->dir : manifest->path,
			    fault->exporting ? "export" : "capture", "%s", fault->reason);
	}
	if (rc == NP_OK && manifest->unusable > 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, manifest->path,
			    NP_MANIFEST_NAME, "%zu of its ranks have no number, or no host of it",
			    manifest->unusable);
	if (rc == NP_OK && manifest->unusable_clocks > 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, manifest->path,
			    NP_MANIFEST_NAME,
			    "%zu of its samples of clocks cannot be: they are left out",
			    manifest->unusable_clocks);
}

bool np_manifest_lost(const struct np_run *run)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = NULL;

	if (np_load_manifest(run, &manifest, NULL) < 0)
		return false;
	/* Of several phases each has the ranks that it has. */
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->sources.item[i].phase)
			return false;
	}
	for (size_t i = 0; i < manifest->ranks.count; i++) {
		if (manifest->ranks.item[i].collected &&
		    !is_here(run, manifest->ranks.item[i].rank))
			return true;
	}
	return false;
}
