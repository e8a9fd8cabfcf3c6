/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SAY_H
#define NP_SAY_H

#include "npuprof/buf.h"

/*
 * Sentences for people
 * ====================
 *
 * What a person reads is made of whole sentences with gaps, `{1}` for the first value
 * behind it, `{2}` for the second and so on, so that another language may have them in
 * another order:
 *
 *	np_say(buf, "rank {1} waited {2}, {3} of the step\n", NP_SAID_INT(5), NP_SAID_TIME(ns),
 *	       NP_SAID_SHARE(0.12));
 *
 * A sentence is a constant: it is what a translation is looked up by. Values bring their
 * units; texts are made safe for the terminal, and one that is NULL is "?".
 */
enum np_said_kind {
	NP_SAID_NOTHING,
	NP_SAID_IS_TEXT,
	NP_SAID_IS_MSG,
	NP_SAID_IS_INT,
	NP_SAID_IS_TIME,
	NP_SAID_IS_BYTES,
	NP_SAID_IS_SHARE,
	NP_SAID_IS_REAL,
};

struct np_said {
	enum np_said_kind kind;
	const char *text;
	int64_t number;
	double real;
};

#define NP_SAID_TEXT(what) ((struct np_said){ .kind = NP_SAID_IS_TEXT, .text = (what) })
/* A text of ours that is said in the language of this thread: np_lang_put(). */
#define NP_SAID_MSG(what)   ((struct np_said){ .kind = NP_SAID_IS_MSG, .text = (what) })
#define NP_SAID_INT(what)   ((struct np_said){ .kind = NP_SAID_IS_INT, .number = (int64_t)(what) })
#define NP_SAID_TIME(what)  ((struct np_said){ .kind = NP_SAID_IS_TIME, .number = (what) })
#define NP_SAID_BYTES(what) ((struct np_said){ .kind = NP_SAID_IS_BYTES, .number = (what) })
#define NP_SAID_SHARE(what) ((struct np_said){ .kind = NP_SAID_IS_SHARE, .real = (what) })
/* With one decimal place. */
#define NP_SAID_REAL(what) ((struct np_said){ .kind = NP_SAID_IS_REAL, .real = (what) })

/* Append a sentence; a gap without a value stays as it is. */
#define np_say(buf, ...) NP_SAY(buf, __VA_ARGS__, { 0 })
#define NP_SAY(buf, sentence, ...) \
	np_say_values(buf, sentence, (const struct np_said[]){ __VA_ARGS__ })

/* The values end with one that says nothing. */
void np_say_values(struct np_buf *buf, const char *sentence, const struct np_said *values);

/* "12 %", "0.4 %", "under 0.1 %" of a part of 1; "?" for NaN. */
void np_say_share(struct np_buf *buf, double share);

#endif /* NP_SAY_H */
