/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_COVERAGE_H
#define NP_LOAD_COVERAGE_H

/*
 * Is a file of a rank whole?
 * ==========================
 *
 * A table of kernels, a trace or a database that was cut short looks like a rank that
 * did little. What such a file holds is compared with what other files of the rank say:
 * the vendor's step times, the statistic of kernels, the communication files, and where
 * there are none, with what it says itself (calls that launched nothing). Whole files
 * agree; the one that holds less is partial, unless a third agrees with it.
 *
 * Computing and communication are compared over all steps together: where windows of
 * steps meet, files differ in the step that they count something in, and databases count
 * it in both.
 */

#include "npuprof/rank.h"
#include "npuprof/run.h"

struct load_coverage {
	struct np_seen *seen[NP_FILE_COUNT]; /* NULL for a file that was not read */
	bool unreadable[NP_FILE_COUNT];
	bool timeless[NP_FILE_COUNT]; /* read, but without times of steps */
	uint32_t read;                /* bits of files that were read for more than this */
	np_ns twice[2];  /* computing and communication that a database counts in two steps */
	np_ns statistic; /* Σ of kernels by op_statistic.csv; NP_UNKNOWN */
	int64_t statistic_count;
};

void load_coverage_release(struct load_coverage *coverage);

/* A file was read into a rank of its own, which is joined to others afterwards. */
int load_coverage_see(struct load_coverage *coverage, enum np_file file, struct np_rank *fresh,
		      const struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * All files were read: fill rank->coverage with those that are not whole, and note them.
 * The bits of *ret_drop are the files whose intervals must not be used.
 */
int load_coverage_judge(const struct load_coverage *coverage, const struct np_source_files *source,
			struct np_strtab *strings, struct np_rank *rank, struct np_notes *notes,
			uint32_t *ret_drop, struct np_err *err) NP_MUST_USE;

#endif /* NP_LOAD_COVERAGE_H */
