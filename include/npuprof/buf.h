/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BUF_H
#define NP_BUF_H

#include "npuprof/err.h"

/*
 * Growing text
 * ============
 *
 * A buffer collects text and remembers if memory ran out on the way: the
 * functions below return nothing, and the one who uses the result asks
 * np_buf_check() once. After a failed growth further text is dropped.
 *
 * `text` is always NUL-terminated ("" when empty).
 */
struct np_buf {
	char *text;
	size_t length;
	size_t capacity;
	bool failed;
};

/* NP_BUF_INIT needs no memory; "" stands in until the first byte arrives. */
extern char np_buf_empty[1];
#define NP_BUF_INIT ((struct np_buf){ .text = np_buf_empty })

void np_buf_release(struct np_buf *buf);

/* Make it empty but keep the memory. That memory ran out once is remembered until release. */
void np_buf_clear(struct np_buf *buf);

void np_buf_add(struct np_buf *buf, const char *text);
void np_buf_add_bytes(struct np_buf *buf, const char *bytes, size_t length);
void np_buf_add_char(struct np_buf *buf, char c);
void np_buf_add_repeated(struct np_buf *buf, char c, size_t times);
void np_buf_printf(struct np_buf *buf, const char *fmt, ...) NP_PRINTF(2, 3);

/*
 * Room for `most` bytes behind the text, for one who writes them himself and then
 * says how many they were with np_buf_take(). NULL when out of memory.
 */
char *np_buf_reserve(struct np_buf *buf, size_t most);
void np_buf_take(struct np_buf *buf, size_t length);

/* NP_OK, or NP_E_NOMEM if any of the above ran out of memory. */
int np_buf_check(const struct np_buf *buf, struct np_err *err) NP_MUST_USE;

#endif /* NP_BUF_H */
