/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_OPT_H
#define NP_OPT_H

#include "npuprof/buf.h"
#include "npuprof/err.h"
#include "npuprof/ranges.h"

/*
 * Option tables
 * =============
 *
 * An option is one row: its spelling, what its value is, where the value goes
 * and what -h says about it. Parsing, -h and shell completion all read the
 * rows, so nothing about an option is written twice.
 *
 * Values land in a struct of the command: a row knows the offset of its field
 * inside the struct its group fills, and the group knows where that struct sits
 * inside the command's own. Texts are borrowed from argv and from the table.
 *
 *	-fjson  -f json  --format=json  --format json     the same thing
 *	-f=json                                           too, unless there is a file "=json"
 *	--top_num 5                                       is --top-num 5
 *	-qv                                               flags may share a dash
 *	--                                                the rest are operands
 *
 * A long name must be complete: an abbreviation that works today would change
 * its meaning, or stop working, when an option is added. A separate value may
 * not begin with '-', so that "-d -f json" is an error rather than a directory
 * called "-f"; the attached forms take any value.
 */
enum np_opt_kind {
	NP_OPT_FLAG,    /* bool */
	NP_OPT_COUNT,   /* int, one more each time */
	NP_OPT_INTEGER, /* int64_t within [low, high] */
	NP_OPT_TEXT,    /* const char *, the last one counts */
	NP_OPT_LIST,    /* struct np_opt_list, in order */
	NP_OPT_CHOICE,  /* int, index into choices */
	NP_OPT_CHOICES, /* uint64_t, bit i for choices[i]; separated by commas, all uses count */
	NP_OPT_RANGES,  /* struct np_opt_ranges; "all" is as if it was not given */
	NP_OPT_LANG,    /* no field: the language from here on (npuprof/lang.h) */
	NP_OPT_HELP,    /* no field: parsing stops with NP_OPT_WANTS_HELP */
	NP_OPT_VERSION, /* no field: parsing stops with NP_OPT_WANTS_VERSION */
};

/* What a shell may offer for a value that is not a choice. */
enum np_opt_fill {
	NP_FILL_NONE,
	NP_FILL_DIRECTORY,
	NP_FILL_COMMAND, /* a command of npuprof */
};

struct np_opt_list {
	const char **item;
	size_t count;
	size_t capacity;
};

/* `set` is NULL when the option was not given, which means "all". */
struct np_opt_ranges {
	const char *text;
	struct np_ranges *set;
};

/*
 * One option, or the operand of a command when it has no spelling.
 *
 * `preset` is the value before the command line is read, in the form a user
 * would write it; lists have none. `preset_words` is what -h says of a default
 * that is no value ("one per processor").
 */
struct np_opt {
	char letter;
	enum np_opt_kind kind;
	enum np_opt_fill fill;
	const char *name;
	size_t offset;
	const char *value; /* what -h calls the value: "DIR" */
	/*
	 * The value of an NP_OPT_TEXT that stands alone, at the end or before another
	 * option; NULL where it must have one.
	 */
	const char *alone;
	const char *help;
	const char *preset;
	const char *preset_words;
	const char *const *choices; /* ends with NULL */
	/* Append words that a shell may offer, each after a space; others are allowed. NULL: none.
	 */
	void (*offer)(struct np_buf *words);
	int64_t low;
	int64_t high;
};

/* Rows shown under one heading of -h, filling the struct `base` bytes into the command's. */
struct np_opt_group {
	const char *title;
	const struct np_opt *options;
	size_t count;
	size_t base;
};

/* The bare arguments of a command: as `options[0]` of a group, at most `most` of them. */
struct np_opt_operand {
	struct np_opt option;
	size_t least;
	size_t most;
};

#define NP_OPERANDS_ANY SIZE_MAX

/* All that one command line may hold. A command without operands leaves `operand` NULL. */
struct np_opt_table {
	const struct np_opt_group *groups;
	size_t count;
	const struct np_opt_operand *operand;
};

enum {
	NP_OPT_WANTS_HELP = 1,
	NP_OPT_WANTS_VERSION = 2,
};

/*
 * Set the presets, then read `argv` (without the name of the command) into
 * `target`, a zeroed struct of the kind the table was made for. Returns NP_OK,
 * NP_OPT_WANTS_HELP or NP_OPT_WANTS_VERSION as soon as one is met, or fails with
 * NP_E_USAGE or NP_E_NOMEM. `command` completes messages ("… for cluster") and
 * may be NULL. In every case np_opt_release() is due afterwards.
 */
int np_opt_parse(const struct np_opt_table *table, const char *command, int argc,
		 const char *const *argv, void *target, struct np_err *err) NP_MUST_USE;

/*
 * The same for options that stand before a command: stop at the first operand
 * and give its index, or argc when there is none.
 */
int np_opt_parse_front(const struct np_opt_table *table, int argc, const char *const *argv,
		       void *target, int *ret_next, struct np_err *err) NP_MUST_USE;

/* Free the lists and sets in `target`. */
void np_opt_release(const struct np_opt_table *table, void *target);

/* Does the option take a value? */
bool np_opt_has_value(const struct np_opt *option);

/* Append the groups as -h shows them, in at most `width` columns. */
void np_opt_help(struct np_buf *buf, const struct np_opt_table *table, size_t width);

#endif /* NP_OPT_H */
