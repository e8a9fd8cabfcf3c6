/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_GZIP_H
#define SYN_GZIP_H

#include "npuprof/base.h"

/*
 * Compressed files (RFC 1951, 1952), made without the library that the analysis
 * reads them with: repeated text becomes references, all in one block of fixed
 * codes. Larger than what gzip makes of a trace, and as valid.
 */
struct syn_gzip;

struct syn_gzip *syn_gzip_new(void) NP_MUST_USE;
void syn_gzip_free(struct syn_gzip *gzip);

/* Compress more bytes, at most SYN_GZIP_PIECE at a time, or complete the file. */
#define SYN_GZIP_PIECE ((size_t)48 << 10)
void syn_gzip_add(struct syn_gzip *gzip, const char *bytes, size_t length);
void syn_gzip_end(struct syn_gzip *gzip);

/* What is ready to be written, until syn_gzip_taken(). */
const char *syn_gzip_bytes(const struct syn_gzip *gzip);
size_t syn_gzip_length(const struct syn_gzip *gzip);
void syn_gzip_taken(struct syn_gzip *gzip);

#endif /* SYN_GZIP_H */
