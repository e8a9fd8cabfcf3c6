/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TEXT_H
#define NP_TEXT_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * Text helpers: numbers as text without a double in between, units for people,
 * and making foreign text safe to show.
 */

bool np_text_begins(const char *text, const char *with);
bool np_text_ends(const char *text, const char *with);

/* What follows the last slash of a path. */
const char *np_text_last_part(const char *path);

/* The whole of `text` as a decimal integer; false on anything else, on overflow and NP_UNKNOWN. */
bool np_text_to_int(const char *text, size_t length, int64_t *ret);

/*
 * Decimal text ("1736405443881410.320") times 10^`shift`, rounded half away
 * from zero to an integer: shift 3 reads microseconds as nanoseconds exactly.
 * White space around the number is ignored. False on anything that is not a
 * plain decimal (exponents included: "1.69512E+15" has lost its digits) and on
 * overflow.
 */
bool np_text_to_scaled(const char *text, size_t length, unsigned shift, int64_t *ret);

/*
 * A double that stands for a decimal number of ms, µs or MB as a whole number
 * of ns or bytes: value × scale, rounded. NP_UNKNOWN when it is not finite or
 * out of range.
 */
int64_t np_double_to_scaled(double value, double scale);

/* `value` rounded to `digits` >= 0 decimal places, its exact value half to even, as Python does. */
double np_round(double value, int digits);

/* Append a time for people in three digits: "950 ns", "1.23 ms", "12.3 s"; "?" if unknown. */
void np_text_duration(struct np_buf *buf, np_ns time);

/* Append bytes for people in powers of 10: "61.2 MB"; "?" if unknown. */
void np_text_bytes(struct np_buf *buf, int64_t bytes);

/*
 * Append text from an input so that a terminal shows it harmlessly: control
 * characters, escape sequences and invalid UTF-8 become \xNN.
 */
void np_text_safe(struct np_buf *buf, const char *text, size_t length);

/* Append a path so that it can be pasted into a shell: in quotes if it is not plain; made safe. */
void np_text_quoted(struct np_buf *buf, const char *path);

/* Columns a terminal needs for UTF-8 text (wide characters count two, combining ones none). */
size_t np_text_width(const char *text, size_t length);

/*
 * Append what fits into `width` columns of a text that is wider, with "…" where some is left
 * out: at its end, or in the middle, for names often differ at their ends. Return the columns.
 */
size_t np_text_cut(struct np_buf *buf, const char *text, size_t length, size_t width,
		   bool keep_end);

/*
 * Append `text` broken at spaces, or beside characters of two columns, and a line end. The first
 * line is already at column `indent`; those that follow are indented to it, and all end before
 * column `width` unless a single word is longer; a number and its unit are one
 * word. The text must be safe.
 */
void np_text_wrap(struct np_buf *buf, const char *text, size_t indent, size_t width);

/* Each line of a text, made safe, indented, and wrapped to the width; what is wrapped by `hang`
 * more. Words that are longer than a line are cut in the middle if `cut` is set. */
void np_text_lines(struct np_buf *buf, const char *text, size_t indent, size_t hang, size_t width,
		   bool cut);

/* Length of the valid UTF-8 sequence at `text`, or 0 if the byte there starts none. */
size_t np_utf8_length(const char *text, size_t length);

/*
 * The candidate closest to `word` by edit distance, or NULL if none is close
 * enough to be what was meant. For "did you mean".
 */
const char *np_text_closest(const char *word, const char *const *candidates, size_t count);

#endif /* NP_TEXT_H */
