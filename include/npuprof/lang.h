/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LANG_H
#define NP_LANG_H

#include "npuprof/buf.h"

/*
 * The language of what people read
 * ================================
 *
 * Texts are written in English and looked up in a table that the build makes of po/zh.po: it
 * needs no locale and no files. What programs read (JSON, CSV, databases) is English.
 *
 * Each thread has its language. That is English but for the one that calls np_lang_set(),
 * which is the one that prints.
 */
enum np_lang {
	NP_LANG_EN,
	NP_LANG_ZH,
};

enum np_lang np_lang(void);

/* Speak another language; returns the one before. */
enum np_lang np_lang_set(enum np_lang lang);

/*
 * Did the user ask for the language, and not the environment alone? What programs read and has
 * sentences for people in it follows only the user.
 */
bool np_lang_asked(void);
void np_lang_set_asked(void);

/* "en", "zh" or "cn"; false for others. */
bool np_lang_parse(const char *word, enum np_lang *ret);

/* The language of LC_ALL, LC_MESSAGES or LANG, the first that is set and not empty. */
enum np_lang np_lang_of_environment(void);

/*
 * The language that a command line asks for with --lang, before it is read as a whole; else that
 * of the environment. What is no language is refused later.
 */
enum np_lang np_lang_of_line(int argc, const char *const *argv);

/* The text in the language of this thread; itself where that has none. */
const char *np_lang_text(const char *text);

/*
 * A text that is shown somewhere else, in a table or after others were put around it: for
 * tools/po/po_check.py, which looks for texts without a translation. Arguments of functions that
 * show them, such as np_say(), need no mark.
 */
#define NP_MSG(text) text

/*
 * Append a sentence whose gaps are filled already, as reasons of notes are, in the language of
 * this thread: by the entry with gaps that it is an instance of, and what is in the gaps likewise,
 * but not in gaps between quotes: those are names. Where there is none, what stands before and
 * behind "; " or ": " by itself; else as it is.
 */
void np_lang_put(struct np_buf *buf, const char *text);

/* The same with every line of a text. */
void np_lang_put_lines(struct np_buf *buf, const char *text);

/* The same with a text of several sentences, each but the first beginning with "; ". */
void np_lang_put_parts(struct np_buf *buf, const char *text);

#endif /* NP_LANG_H */
