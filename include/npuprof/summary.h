/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SUMMARY_H
#define NP_SUMMARY_H

#include "npuprof/bytes.h"
#include "npuprof/run.h"

#include <stdio.h>

/*
 * Summaries: loaded ranks as bytes
 * ================================
 *
 * What np_load_run() leaves of a rank, in a form that can be kept in a file or sent
 * to another process, and from which the same rank is made again: analyses of
 * either give the same bytes. A rank takes a few bytes for each value, as most
 * differ little from their neighbours.
 *
 *	magic, number of the form, length, checksum      of what follows
 *	program and key                                  what it was made from
 *	source                                           where the rank was found
 *	failure                                          why it could not be read, or
 *	texts, rank                                      strings stand once
 *
 * Texts are numbered in the order of their use, not by their ids: equal ranks
 * have equal bytes. Whatever is read is checked: lengths, checksum, ids, indexes
 * and order; bytes that do not hold together are refused with the reason.
 */

/* A change of this number makes all summaries stale: raise it with every change of the form. */
#define NP_SUMMARY_FORM 15

/* What is known about a rank beside what was loaded. */
struct np_summary {
	char *program; /* version that wrote it; never NULL once read */
	uint64_t key;  /* np_summary_key() */
	struct np_source_files source;
	enum np_code failure; /* NP_OK: there is a rank */
	char *failure_text;   /* NULL where there is a rank */
	struct np_rank *rank; /* NULL where it failed, or was not asked for */
};

void np_summary_release(struct np_summary *summary);

/*
 * What the files of a rank looked like (names as found, sizes, times of change),
 * and who read them. Summaries with another key are stale.
 */
uint64_t np_summary_key(const struct np_source_files *source, const char *program);

/* Append the bytes of a summary whose strings are those of `strings`. */
int np_summary_encode(const struct np_summary *summary, const struct np_strtab *strings,
		      struct np_bytes *ret, struct np_err *err) NP_MUST_USE;

/*
 * Make a summary of bytes; `name` is what messages call them. Without `strings`
 * only what stands before the rank is read, without a rank. NP_E_FORMAT when the
 * bytes are no summary, of another form, or damaged.
 */
int np_summary_decode(const uint8_t *bytes, size_t length, const char *name,
		      struct np_strtab *strings, struct np_summary *ret, struct np_err *err)
	NP_MUST_USE;

/* Append magic, form, length and checksum, and then a payload: what np_summary_decode() opens. */
int np_summary_seal(const uint8_t *payload, size_t length, struct np_bytes *ret, struct np_err *err)
	NP_MUST_USE;

/* --- files --------------------------------------------------------------------------------------
 */

/* Where the summary of a source is kept below `directory`; freed by the caller. */
char *np_summary_path(const char *directory, const struct np_source_files *source);

int np_summary_read_file(const char *path, struct np_strtab *strings, struct np_summary *ret,
			 struct np_err *err) NP_MUST_USE;

/* That of a source that has been found, alone in its file or in a part. */
int np_summary_read_source(const struct np_source_files *source, struct np_strtab *strings,
			   struct np_summary *ret, struct np_err *err) NP_MUST_USE;

/* Write it, to a temporary name first. The directory must exist. */
int np_summary_write_file(const char *path, const struct np_summary *summary,
			  const struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * Keep what belongs to no rank: the roots, the notes of a run that was just
 * discovered and its manifest. Makes the directory where it does not exist.
 */
int np_summary_keep_run(const struct np_run *run, const char *directory, struct np_err *err)
	NP_MUST_USE;

/*
 * Find the summaries in `directories`, which may be parts as well or hold some, as np_discover()
 * finds profiles: the run gets their sources, each with the path of its summary. Files that are no
 * summaries or damaged are noted.
 */
struct np_discover_options;
int np_summary_discover(struct np_run *run, const char *const *directories, size_t count,
			const struct np_discover_options *options, struct np_err *err) NP_MUST_USE;

/* --- parts --------------------------------------------------------------------------------------
 */

/*
 * A part is one file that stands for the summaries of many ranks, of a host, a rack or all of a
 * cluster: parts are merged into parts without opening a profile, and every command that
 * reads summaries reads a part. It holds
 *
 *	magic, number of the form
 *	summaries                      the bytes of each, as in a file of its own, by rank
 *	index                          sealed as a summary is: roots, notes, manifest; sources and
 *	                               where their summaries are
 *	where the index is, magic
 *
 * so it is written and read in one go, whatever its size, and an analysis of it is that of the
 * summaries themselves, to the byte. A change of what it holds raises NP_SUMMARY_FORM.
 */
#define NP_PART_SUFFIX ".nppart"

/*
 * Write a run of which the summaries were found (np_summary_discover()). Summaries that turn out
 * to be damaged are left out and noted, in the part too. An np_file_writer whose context is the
 * np_part_job.
 */
struct np_part_job {
	struct np_run *run;
	size_t *ranks;  /* filled: how many were written */
	int64_t *bytes; /* likewise */
};

int np_part_write(const void *job, FILE *stream, struct np_err *err) NP_MUST_USE;

#endif /* NP_SUMMARY_H */
