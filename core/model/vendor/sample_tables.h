/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SAMPLE_TABLES_H
#define NP_SAMPLE_TABLES_H

/*
 * Tables of samples
 * =================
 *
 * Counters and rates that the profiler reads at intervals: of ports, links and memories of a
 * device, and of the host. All have a time; what else they have is told here once, so that one
 * reader serves them all. A table of a newer version may lack some of the columns.
 */

#include <stddef.h>

enum vendor_sample_kind {
	VENDOR_SAMPLE_DIFFERENCE, /* what was counted since the last sample */
	VENDOR_SAMPLE_RISING,     /* what was counted since the start, in 32 bits */
	VENDOR_SAMPLE_LEVEL,      /* a rate or a share */
};

/* Columns of a sample table in a batch: these three, then the quantities. */
enum {
	SAMPLE_DEVICE,
	SAMPLE_INSTANCE, /* a port, unit or core of which there are several; its name is no text */
	SAMPLE_OF, /* STRING_IDS: what the row is of, as "read"; part of the quantity's name */
	SAMPLE_VALUES,
};

#define SAMPLE_MOST_VALUES 13

struct vendor_sample_table {
	const char *name;
	enum vendor_sample_kind kind;
	const char *instance; /* NULL: there is one */
	const char *of;       /* NULL: all rows are of the same */
	const char *of_names; /* a table of names of its numbers; NULL: STRING_IDS */
	const char *values[SAMPLE_MOST_VALUES];
};

extern const struct vendor_sample_table vendor_sample_tables[];
extern const size_t vendor_sample_table_count;

#endif /* NP_SAMPLE_TABLES_H */
