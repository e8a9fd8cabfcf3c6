/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WATCHING_H
#define NP_WATCHING_H

/*
 * Following a directory into which windows arrive
 * ===============================================
 *
 * What `npuprof watch` does, for other commands that know where windows come from (ctl watch):
 * every new window is analysed when it is whole, added to the history, and told.
 */
#include "cli/command/common.h"

struct np_cmd;

struct np_watch_options {
	struct np_common common; /* .format; its directories are not looked at */
	const char *store;       /* NULL: NPUPROF_HISTORY of the environment */
	const char *job;         /* NULL: the name of the directory */
	const char *lines;
	const char *metrics;
	const char *on_verdict;
	int64_t interval; /* s; 0: as the help says */
	int64_t settle;   /* s; -1: likewise */
	int64_t keep;     /* windows; -1: likewise */
	bool once;
};

#define NP_WATCH_OPTIONS_INIT ((struct np_watch_options){ .settle = -1, .keep = -1 })

enum {
	NP_WATCH_ROWS = 10,
};

/* --store --job --interval --settle --keep --once --lines --metrics --on-verdict -f */
extern const struct np_opt np_watch_rows[NP_WATCH_ROWS];

/* clang-format off */
#define NP_GROUP_WATCHING(type, member) \
	{ NP_MSG("Watching"), np_watch_rows, NP_WATCH_ROWS, offsetof(type, member) }
/* clang-format on */

/* The first of these options that was given; NULL: none was. */
const char *np_watch_given(const struct np_watch_options *options);

/* Seconds without a change after which a window is whole. */
int64_t np_watch_settle(const struct np_watch_options *options);

/* Who brings windows. */
struct np_watch_guide {
	/* Before every look; `ret_more` false: nothing comes after what is there now. */
	int (*prepare)(void *context, bool *ret_more, struct np_err *err);
	void *context;
};

/* Follow a directory until a signal, or the guide, ends it: the exit status of the command. */
int np_watch_follow(const struct np_cmd *cmd, const char *dir,
		    const struct np_watch_options *options, const struct np_watch_guide *guide);

#endif /* NP_WATCHING_H */
