/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_TEMPLATE_H
#define NP_ADVISOR_TEMPLATE_H

#include "npuprof/buf.h"

#include "advisor/engine/data/values.h"

/*
 * Texts with values in them: "{n} kernels take {busy_ns|dur}"
 * ===========================================================
 *
 * {name} stands for a value, {name|format} for one in a form for people; {{ and
 * }} are braces. Formats: int, f1, f2, f3, pct, dur, bytes, bw, list(n), list(n,word), ranks,
 * code, count(one,several). What is not known is "?". {name?text} is the text, which
 * may have values in it, unless the value is NULL, zero or empty; in it there are
 * neither braces nor further such texts.
 */
void adv_template_fill(struct np_buf *buf, const char *text, const struct adv_values *values);

/* Are all values in the text known? */
bool adv_template_is_known(const char *text, const struct adv_values *values);

/* One value in a format; NULL is as it is. */
void adv_template_format(struct np_buf *buf, const struct np_cell *value, const char *format);

/* Is this a format? */
bool adv_template_knows_format(const char *format, size_t length);

/* Check a text: NP_E_FORMAT with what is wrong and the offset of the place. */
int adv_template_check(const char *text, const struct adv_values *values, size_t *ret_offset,
		       struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_TEMPLATE_H */
