/* SPDX-License-Identifier: Apache-2.0 */
/* npuprof-synth: makes profiles of a simulated run, with the truth beside them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "npuprof/workers.h"
#include "sim/synth/account/truth.h"
#include "sim/synth/out/io.h"
#include "sim/synth/plan/options.h"
#include "sim/synth/world/size.h"
#include "sim/synth/write/backend.h"
#include "sim/synth/write/manifest.h"

/* What the threads that write ranks share. */
struct writing {
	const struct syn_timeline *timeline;
	struct syn_truth *truths;
	struct np_err *errs;
};

static int stream_to_backends(const struct syn_timeline *timeline, const struct syn_rank_info *info,
			      struct syn_truth *truth, struct np_err *err)
{
	struct syn_sink *sinks[SYN_BACKENDS + 1] = { &truth->base };
	const struct syn_backend *opened[SYN_BACKENDS + 1] = { NULL };
	size_t count = 1;
	int rc = NP_OK;

	for (size_t i = 0; i < SYN_BACKENDS && rc == NP_OK; i++) {
		const struct syn_backend *backend = syn_backends[i];

		if (!backend->is_wanted(info))
			continue;
		rc = backend->open(info, &sinks[count], err);
		opened[count] = backend;
		count += rc == NP_OK ? 1 : 0;
	}
	if (rc == NP_OK)
		rc = syn_stream_rank(timeline, info->place.rank, sinks, count, err);
	for (size_t i = 1; i < count; i++)
		rc = opened[i]->close(sinks[i], rc, err);
	return rc;
}

static int write_rank(const struct writing *writing, int32_t rank, struct np_err *err)
{
	struct syn_rank_info info = syn_rank_info_of(writing->timeline, rank);
	NP_CLEANUP(np_buf_release) struct np_buf dir = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf output = NP_BUF_INIT;
	int rc;

	rc = syn_make_rank_dirs(&info, &dir, &output, err);
	info.dir = dir.text;
	info.output = output.text;
	if (rc == NP_OK)
		rc = stream_to_backends(writing->timeline, &info, &writing->truths[rank], err);
	return rc;
}

static void write_job(void *context, size_t index)
{
	struct writing *writing = context;

	if (syn_is_written(writing->timeline->config, (int32_t)index))
		(void)!write_rank(writing, (int32_t)index, &writing->errs[index]);
}

static int write_ranks(const struct syn_timeline *timeline, struct syn_truth *truths,
		       struct np_err *err)
{
	size_t count = (size_t)timeline->config->ranks;
	struct np_workers workers = { .threads = (size_t)timeline->config->threads };
	struct writing writing = { timeline, truths, calloc(count, sizeof(struct np_err)) };
	int rc = NP_OK;

	if (!writing.errs)
		return np_fail_nomem(err, "the ranks");
	np_workers_run(&workers, count, write_job, &writing);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (writing.errs[i].code != NP_OK)
			rc = np_fail(err, writing.errs[i].code, "rank %zu: %s", i,
				     writing.errs[i].text);
	}
	free(writing.errs);
	return rc;
}

/* Only an empty directory, or one that does not exist yet, is ours to fill. */
static int check_out(const struct syn_config *config, struct np_err *err)
{
	DIR *dir = opendir(config->out);
	const struct dirent *entry;
	bool empty = true;

	if (!dir && errno == ENOENT)
		return syn_make_dirs(config->out, err);
	if (!dir)
		return syn_io_fail(err, "use", config->out);
	/* Nobody else reads this directory stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(dir);
	if (!empty && !config->force)
		return np_fail(err, NP_E_USAGE, "'%s' is not empty; use --force to write into it",
			       config->out);
	return NP_OK;
}

static int generate(const struct syn_config *config, struct np_err *err)
{
	size_t count = (size_t)config->ranks;
	struct syn_truth *truths = calloc(count, sizeof(*truths));
	struct syn_timeline timeline = { 0 };
	int rc = truths ? syn_make_dirs(config->out, err) : np_fail_nomem(err, "the truth");

	for (size_t i = 0; truths && i < count; i++)
		syn_truth_init(&truths[i], config, (int32_t)i);
	if (rc == NP_OK)
		rc = syn_timeline_run(&timeline, config, err);
	if (rc == NP_OK)
		rc = write_ranks(&timeline, truths, err);
	if (rc == NP_OK)
		rc = syn_truth_write(&timeline, truths, err);
	if (rc == NP_OK && config->manifest)
		rc = syn_manifest_write(&timeline, err);
	for (size_t i = 0; truths && i < count; i++)
		syn_truth_release(&truths[i]);
	free(truths);
	syn_timeline_release(&timeline);
	return rc;
}

/* A run for each part of the layout, of the same job but with other chance and a later time. */
static int generate_parts(const struct syn_config *config, struct np_err *err)
{
	const char *const *parts = syn_layout_of(config)->parts;
	int rc = check_out(config, err);

	for (int64_t i = 0; parts[i] && rc == NP_OK; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf out = NP_BUF_INIT;
		struct syn_config part = *config;

		np_buf_printf(&out, "%s%s%s", config->out, *parts[i] ? "/" : "", parts[i]);
		rc = np_buf_check(&out, err);
		part.out = out.text;
		part.part = i;
		part.seed += (uint64_t)i * UINT64_C(1000003);
		part.first_step += i * config->steps;
		if (rc == NP_OK)
			rc = generate(&part, err);
	}
	return rc;
}

static int run(int argc, char **argv, struct syn_config *config, struct np_err *err)
{
	enum syn_action action;
	int rc = syn_options_parse(argc, argv, config, &action, err);

	if (rc < 0)
		return rc;
	if (action == SYN_ACT_HELP) {
		syn_options_help();
		return NP_OK;
	}
	if (action == SYN_ACT_VERSION) {
		(void)printf("npuprof-synth %s\n", NP_VERSION);
		return NP_OK;
	}
	rc = syn_config_complete(config, err);
	if (rc == NP_OK)
		rc = syn_size_fit(config, err);
	if (rc == NP_OK)
		rc = generate_parts(config, err);
	if (rc == NP_OK && !config->quiet)
		(void)fprintf(stderr,
			      "npuprof-synth: %" PRId64 " ranks, %" PRId64
			      " steps (simulated) in '%s'\n",
			      config->ranks, config->steps, config->out);
	return rc;
}

int main(int argc, char **argv)
{
	struct np_err err = NP_ERR_INIT;
	struct syn_config config;
	int rc;

	syn_config_init(&config);
	rc = run(argc, argv, &config, &err);
	syn_config_release(&config);
	if (rc == NP_OK)
		return 0;
	(void)fprintf(stderr, "npuprof-synth: %s\n", err.text);
	return rc == NP_E_USAGE ? 2 : 1;
}
