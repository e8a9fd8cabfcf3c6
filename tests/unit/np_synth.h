/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SYNTH_H
#define NP_SYNTH_H

/*
 * Simulated runs as inputs of tests, written by the generator's own library:
 *
 *	synth_write(below("run"), (const char *const[]){ "--ranks", "2", "--format", "text", NULL
 *}); run = synth_load(below("run"));
 */
#include "np_fixture.h"

#include "sim/synth/plan/options.h"
#include "sim/synth/world/timeline.h"
#include "sim/synth/write/backend.h"

#include "npuprof/discover.h"
#include "npuprof/load_run.h"
#include "npuprof/run.h"

static inline void np_synth_rank(const struct syn_timeline *timeline, int32_t rank)
{
	struct syn_rank_info info = syn_rank_info_of(timeline, rank);
	NP_CLEANUP(np_buf_release) struct np_buf dir = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf output = NP_BUF_INIT;
	struct syn_sink *sinks[SYN_BACKENDS];
	const struct syn_backend *opened[SYN_BACKENDS];
	struct np_err err = NP_ERR_INIT;
	size_t count = 0;
	int rc;

	assert_ok(syn_make_rank_dirs(&info, &dir, &output, &err), err);
	info.dir = dir.text;
	info.output = output.text;
	for (size_t i = 0; i < SYN_BACKENDS; i++) {
		if (!syn_backends[i]->is_wanted(&info))
			continue;
		assert_ok(syn_backends[i]->open(&info, &sinks[count], &err), err);
		opened[count++] = syn_backends[i];
	}
	rc = syn_stream_rank(timeline, rank, sinks, count, &err);
	for (size_t i = 0; i < count; i++)
		rc = opened[i]->close(sinks[i], rc, &err);
	assert_ok(rc, err);
}

/* Write a run with these options of npuprof-synth, ended by NULL. */
static inline void synth_write(const char *out, const char *const *options)
{
	struct syn_timeline timeline = { 0 };
	struct syn_config config;
	struct np_err err = NP_ERR_INIT;
	enum syn_action action;
	char *argv[32] = { NULL };
	int argc = 2;

	argv[0] = strdup("npuprof-synth");
	argv[1] = strdup(out);
	while (options[argc - 2]) {
		argv[argc] = strdup(options[argc - 2]);
		argc++;
	}
	make_dirs(out);
	syn_config_init(&config);
	assert_ok(syn_options_parse(argc, argv, &config, &action, &err), err);
	assert_ok(syn_config_complete(&config, &err), err);
	assert_ok(syn_timeline_run(&timeline, &config, &err), err);
	for (int32_t rank = 0; rank < config.ranks; rank++)
		np_synth_rank(&timeline, rank);
	syn_timeline_release(&timeline);
	syn_config_release(&config);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
}

/* Find and load all ranks below a directory, with their kernels summed unless `framework_op` is
 * NULL. */
static inline struct np_run *synth_load_sums(const char *dir, np_kernel_framework_op *framework_op)
{
	const struct np_load_options how = { .procs = &np_procs_serial,
					     .workers = { .threads = 1 },
					     .kernel_framework_op = framework_op };
	const struct np_discover_options all = { 0 };
	const char *dirs[] = { dir };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;

	assert_non_null(run);
	assert_ok(np_discover(run, dirs, 1, &all, &err), err);
	assert_ok(np_load_run(run, &how, &err), err);
	return run;
}

static inline struct np_run *synth_load(const char *dir)
{
	return synth_load_sums(dir, NULL);
}

#endif /* NP_SYNTH_H */
