/* SPDX-License-Identifier: Apache-2.0 */
/* Files that get their name when they are complete, and leave nothing behind otherwise. */
#include "npuprof/temporary.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/*
 * A handler may call next to nothing, so names stand in a table of fixed size:
 * an entry is the name itself while its file may exist. More files at once than
 * it has entries are written all the same. The handler runs while others go on:
 * a name that is freed just then must not be read, so names live on until the end
 * of the program once a signal came.
 */
#define ENTRIES 256

static _Atomic(const char *) names[ENTRIES];
static atomic_bool ending;

char *np_temporary_new(const char *path)
{
	char *name;

	/* Two threads may write the same file: the last one wins, as a whole. */
	if (asprintf(&name, "%s.tmp%d", path, (int)gettid()) < 0)
		return NULL;
	np_temporary_add(name);
	return name;
}

void np_temporary_add(char *name)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const char *nobody = NULL;

		if (atomic_compare_exchange_strong(&names[i], &nobody, name))
			break;
	}
}

void np_temporary_free(char *name)
{
	for (size_t i = 0; name && i < ENTRIES; i++) {
		const char *own = name;

		if (atomic_compare_exchange_strong(&names[i], &own, NULL))
			break;
	}
	if (!atomic_load(&ending))
		free(name);
}

static int fail_to_write(const char *path, struct np_err *err)
{
	return np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
}

static int write_temporary(const char *temporary, const char *path, np_file_writer *write,
			   const void *context, struct np_err *err)
{
	FILE *stream = fopen(temporary, "we");
	int rc;

	if (!stream)
		return fail_to_write(path, err);
	rc = write(context, stream, err);
	if (fclose(stream) != 0 && rc == NP_OK)
		rc = fail_to_write(path, err);
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = fail_to_write(path, err);
	if (rc < 0)
		(void)unlink(temporary);
	return rc;
}

int np_write_file(const char *path, np_file_writer *write, const void *context, struct np_err *err)
{
	char *temporary = np_temporary_new(path);
	int rc;

	if (!temporary)
		return np_fail_nomem(err, path);
	rc = write_temporary(temporary, path, write, context, err);
	np_temporary_free(temporary);
	return rc;
}

static void remove_files(int signal_number)
{
	atomic_store(&ending, true);
	for (size_t i = 0; i < ENTRIES; i++) {
		const char *name = atomic_load(&names[i]);

		if (name)
			(void)unlink(name);
	}
	/* By now it has its old meaning again. */
	(void)raise(signal_number);
}

void np_temporary_guard(void)
{
	static const int endings[] = { SIGHUP, SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = remove_files,
					  .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < NP_COUNT(endings); i++) {
		struct sigaction before;

		/* One that is ignored, as by nohup, stays so. */
		if (sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			(void)sigaction(endings[i], &action, NULL);
	}
}
