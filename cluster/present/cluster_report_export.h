/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_REPORT_EXPORT_H
#define NP_CLUSTER_REPORT_EXPORT_H

/*
 * The merged result as text
 * =========================
 *
 * Four files with the names and the nesting of the vendor's own text output,
 * which MindStudio Insight reads where it finds no database. The figures are
 * those of the database: step times and links are rows of its tables; of the
 * operators, which the tables list by rank and the file by name, only an index
 * is sorted, so that memory does not grow with what is written of each.
 *
 * The two files of communicators are nested alike:
 *
 *	{ "(0, 1)": { "step50": { "<operator>@<hash>": { ... } } } }
 */

#include "cluster_report.h"

#include "npuprof/jsonout.h"

struct text_export {
	const struct np_analysis *analysis;
	bool times; /* of operators, and links: what was asked for */
	bool links;
	const struct np_cluster *cluster;
	const struct np_run *run;
	uint32_t
		*keys; /* by communicator: order of its observed ranks among all, equal for equal */
};

/* Where an operator or a link stands in its file. */
struct export_position {
	uint32_t key;
	uint32_t step; /* index in np_cluster.steps */
	uint32_t communicator;
};

/* Entries sorted by position, each a struct that begins with one. */
struct export_entries {
	const struct text_export *export;
	void *item;
	size_t size;
	size_t count;
	/* Write those of one step, of communicators with the same ranks. */
	int (*put_step)(struct np_jsonout *out, const struct export_entries *entries, size_t from,
			size_t to, struct np_err *err);
	const void *context;
};

int export_by_position(const struct export_position *a, const struct export_position *b);

/* Write entries as a file; if there are none, remove an older one. */
int export_write_entries(const struct export_entries *entries, const char *path, struct np_err *err)
	NP_MUST_USE;

/* "step50", or "step" for the pseudo step. */
void export_step_label(const struct text_export *export, uint32_t step, char *ret, size_t size);

/* The index of the communicator with this hash; NONE for one that no operator uses. */
#define EXPORT_NONE UINT32_MAX
uint32_t export_communicator(const struct text_export *export, uint64_t hash);

/* Open the object "name@hash", or "name#2@hash" for `nth` 1. `buf` is for the key. */
void export_open_op(struct np_jsonout *out, const struct text_export *export, struct np_buf *buf,
		    const char *name, uint32_t nth, uint32_t communicator);

/* For sinks that have nothing to do at the ends of a table. */
int export_sink_begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err);
int export_sink_end(struct np_sink *sink, struct np_err *err);

/* cluster_communication.json */
int export_ops(const struct text_export *export, const char *path, struct np_err *err) NP_MUST_USE;

/* cluster_communication_matrix.json */
int export_links(const struct text_export *export, const char *path, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_CLUSTER_REPORT_EXPORT_H */
