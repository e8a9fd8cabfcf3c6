/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CMD_H
#define NP_CMD_H

#include "opt.h"

/*
 * Commands
 * ========
 *
 * A command is one descriptor, exported by the file that implements it and
 * listed in the array of commands.c. Help, completion and dispatch read it.
 * To add a command "foo":
 *
 *	1. <folder>/cmd_foo.c: a struct for its options, the table that fills it,
 *	   cmd_foo() and `const struct np_cmd np_cmd_foo`
 *	2. cli/commands.c: one row
 *	3. doc/npuprof-foo.1; tests/cli/t0003-manual.sh fails without it
 *	4. tests/cli/tNNNN-foo.sh
 *
 * cmd_foo() reads its options with np_cmd_options(), calls the stages and prints
 * the result:
 *
 *	static int cmd_foo(int argc, const char *const *argv)
 *	{
 *		struct foo_options options = { 0 };
 *		int status;
 *
 *		if (np_cmd_options(&np_cmd_foo, argc, argv, &options, &status))
 *			status = foo(&options);
 *		np_opt_release(&np_cmd_foo.options, &options);
 *		return status;
 *	}
 */

/* What the shell gets of the process. */
enum np_exit {
	NP_EXIT_DONE = 0,
	NP_EXIT_FAILED = 1,
	NP_EXIT_USAGE = 2,
	NP_EXIT_PARTIAL = 3,
	NP_EXIT_GATE = 4,
	NP_EXIT_COUNT,
};

struct np_err;

/* The status of a command whose files could not be written: what is printed is a part, unless
 * another process has them. */
int np_exit_unwritten(const struct np_err *err);

/* The statuses every command can end with, and more, as bits of np_cmd.statuses. */
#define NP_EXITS_PLAIN   (1U << NP_EXIT_DONE | 1U << NP_EXIT_FAILED | 1U << NP_EXIT_USAGE)
#define NP_EXITS_PARTIAL (NP_EXITS_PLAIN | 1U << NP_EXIT_PARTIAL)
#define NP_EXITS_GATE    (NP_EXITS_PARTIAL | 1U << NP_EXIT_GATE)

struct np_cmd {
	const char *name;
	const char *topic;    /* heading under which npuprof -h lists it; rows of a topic adjoin */
	const char *synopsis; /* what follows the name: "[options] DIR..." */
	const char *summary;  /* one line, for lists */
	const char *about;    /* a paragraph, for -h */
	/* `argv` is what follows the name; returns one of enum np_exit. */
	int (*run)(int argc, const char *const *argv);
	struct np_opt_table options;
	unsigned statuses;
	/* It loads ranks: several processes share the work (cli/prepare/processes.h). */
	bool distributed;
	/* What kernels are summed by (kernel_sums.h), also by processes that only load; NULL: they
	 * are not. */
	bool (*kernel_framework_op)(const char *name);
};

/*
 * Read the options of a command into its zeroed struct. True: go on. False:
 * there is nothing more to do (help was printed, or a complaint about the
 * options), and the status to return is in `ret_status`. Either way
 * np_opt_release() is due.
 */
bool np_cmd_options(const struct np_cmd *cmd, int argc, const char *const *argv, void *options,
		    int *ret_status) NP_MUST_USE;

/* Say what is wrong with the command line and where help is; returns NP_EXIT_USAGE. */
int np_cmd_usage(const struct np_cmd *cmd, const char *fmt, ...) NP_PRINTF(2, 3);

/* Print what -h shows for a command; np_cmd_print_version() what -V shows. */
int np_cmd_print_help(const struct np_cmd *cmd);
int np_cmd_print_version(void);

/* Append the meaning of each status in the set: the end of every help text. */
void np_cmd_add_statuses(struct np_buf *buf, unsigned statuses);

#endif /* NP_CMD_H */
