/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_OUT_H
#define SYN_OUT_H

#include "npuprof/err.h"

/*
 * Writing text fast
 * =================
 *
 * Text files are far larger than databases of the same run, so numbers are
 * formatted here rather than by printf, and bytes go through one buffer. A
 * failed write is remembered and reported when the file is closed; the
 * functions between return nothing.
 *
 * A spool is a file without a name that collects a part of the text until its
 * turn comes.
 */
struct syn_gzip;

struct syn_out {
	char *text;
	size_t length;
	int fd;
	int write_errno; /* of the first write that failed, or 0 */
	char *path;
	struct syn_gzip *gzip;
};

#define SYN_OUT_INIT ((struct syn_out){ .fd = -1 })

int syn_out_open(struct syn_out *out, const char *path, bool gzip, struct np_err *err) NP_MUST_USE;
int syn_out_spool(struct syn_out *out, const char *dir, struct np_err *err) NP_MUST_USE;

/* Complete the file and release everything, also if it was never opened. Gives `rc` or a failure
 * to write. */
int syn_out_close(struct syn_out *out, int rc, struct np_err *err) NP_MUST_USE;

/* Move what a spool has collected to the end of another file; the spool is then empty. */
int syn_out_move(struct syn_out *to, struct syn_out *spool, struct np_err *err) NP_MUST_USE;

void syn_put_bytes(struct syn_out *out, const char *bytes, size_t length);
void syn_put(struct syn_out *out, const char *text);
void syn_put_char(struct syn_out *out, char c);
void syn_put_int(struct syn_out *out, int64_t value);

/* Nanoseconds as microseconds: "1736408883704643.212", with three digits always. */
void syn_put_us(struct syn_out *out, np_ns time);

/* The same as Python shows a float: "53.741", "5.0". */
void syn_put_us_float(struct syn_out *out, np_ns time);

/* A double as Python shows it: the shortest text that reads back the same, and always a float. */
void syn_put_real(struct syn_out *out, double value);

/* A cell of a csv file, quoted where it has to be. */
void syn_put_cell(struct syn_out *out, const char *text);

/* A literal, whose length the compiler knows. */
#define SYN_PUT(out, literal) syn_put_bytes((out), "" literal, sizeof(literal) - 1)

/* Nanoseconds as a double of microseconds, as a reader of syn_put_us() gets it. */
double syn_us(np_ns time);

#endif /* SYN_OUT_H */
