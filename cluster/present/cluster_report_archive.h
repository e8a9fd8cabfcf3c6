/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_REPORT_ARCHIVE_H
#define NP_CLUSTER_REPORT_ARCHIVE_H

/*
 * The files of a merged run, written while its result is printed
 * ==============================================================
 *
 * What the screen says is known before the files are: a thread of its own writes
 * the merged database, and what else is asked for, while the caller prints. The
 * model is read by both and changed by nobody. What can be known to fail at
 * once (a directory that cannot be written) fails in begin(), before anything is
 * printed; what fails later, in end().
 */

#include "cluster_report_vendor.h"

struct report_archive_options {
	const char *directory;
	bool database;
	bool add;    /* to the database that is there: only the tables of the modes */
	bool csv;    /* every table as a file */
	bool text;   /* files of text profiles */
	bool vendor; /* those of msprof-analyze */
};

struct report_archive;

/* Is this a merged database of these very files, all their ranks and steps, by this program? */
bool report_is_fresh(const char *path, const struct np_run *discovered, const char *version);

/* The report need not stay, what it points to must, until end(). */
int report_archive_begin(const struct cluster_report *report,
			 const struct report_archive_options *options, struct report_archive **ret,
			 struct np_err *err) NP_MUST_USE;

/* Where the database will be when end() succeeds; NULL if none is written. */
const char *report_archive_database(const struct report_archive *archive);

/* Those of msprof-analyze that were written, once waited for. */
const struct report_paths *report_archive_paths(const struct report_archive *archive);

/* Wait for the thread, once; how long it took is added to the timings. */
int report_archive_wait(struct report_archive *archive, struct np_timings *timings,
			struct np_err *err) NP_MUST_USE;

/* Waits too, if nobody has. */
void report_archive_free(struct report_archive *archive);
void report_archive_freep(struct report_archive **archive);

#endif /* NP_CLUSTER_REPORT_ARCHIVE_H */
