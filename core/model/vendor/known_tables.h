/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_KNOWN_TABLES_H
#define NP_KNOWN_TABLES_H

/*
 * Which tables and columns of a rank database have we heard of? More than are read: a
 * name that is not among these came with a newer version, and somebody should look at it.
 */

#include <stdbool.h>

bool vendor_knows_table(const char *table);

/* A column of a table that is known. */
bool vendor_knows_column(const char *table, const char *column);

#endif /* NP_KNOWN_TABLES_H */
