/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_RULE_H
#define NP_ADVISOR_RULE_H

#include "npuprof/arena.h"
#include "npuprof/buf.h"
#include "npuprof/json.h"
#include "npuprof/vec.h"

/*
 * Rules and their files
 * =====================
 *
 * A rule is data: SQL over views, and texts. rules/README.md describes the format.
 * Everything here is read only once loaded and may be shared between threads;
 * texts live in the library's arena or in the documents of its files.
 */
struct adv_rule_file {
	char *path;
	char *text; /* for places */
	size_t length;
	struct np_json *doc;
	const char *pack;
	bool doubled; /* somewhere a key is written twice */
};

struct adv_rule_texts {
	const char **item;
	size_t count;
	size_t capacity;
};

/* A piece of SQL, and where it stands. */
struct adv_rule_sql {
	const char *text; /* NULL when it is not given */
	const struct adv_rule_file *file;
	const char *path;
};

/* A text in several languages: an object by language, or plain English; NULL if not given. */
typedef const struct np_json *rule_text;

enum adv_rule_language {
	RULE_EN,
	RULE_ZH,
};

enum adv_severity {
	SEVERITY_INFO,
	SEVERITY_LOW,
	SEVERITY_MEDIUM,
	SEVERITY_HIGH,
	SEVERITY_COUNT,
};

const char *adv_severity_name(enum adv_severity severity);

enum adv_rule_bound {
	BOUND_ESTIMATE,
	BOUND_UPPER,
	BOUND_REPLAY,
};

const char *adv_bound_name(enum adv_rule_bound bound);

struct adv_rule_param {
	const char *name;
	const struct np_json *value; /* an object by chip when per_chip */
	bool per_chip;
	const char *unit; /* may be NULL */
	double low;       /* NaN without one */
	double high;
	const char *set; /* by the user, instead of the value; NULL if not */
};

struct adv_rule_named {
	const char *name;
	struct adv_rule_sql sql;
	bool over_query; /* of summaries: over all rows rather than those kept */
};

/* A column made of a group of the pattern. */
struct adv_rule_capture {
	const char *name;
	int64_t group;
};

/* A column made by looking another one up. */
struct adv_rule_lookup {
	const char *name;
	const char *from;
	const struct np_json *values;
};

struct adv_rule_match {
	const char *column;
	struct adv_rule_sql regex;
	NP_VEC(struct adv_rule_capture) captures;
	NP_VEC(struct adv_rule_lookup) lookups;
};

struct adv_rule_advice {
	struct adv_rule_sql condition;
	rule_text text;
};

struct adv_rule_column {
	const char *column;
	rule_text title;
	const char *format;   /* NULL: as it is */
	const char *language; /* of its texts: people who read another one do not get it; or NULL */
};

struct adv_rule_need {
	const char *view;
	struct adv_rule_texts columns;
};

struct adv_rule {
	const char *id;
	int64_t version;
	bool enabled;
	const struct adv_rule_file *file;
	const char *path; /* in the file, for places */
	const struct np_json *json;
	const struct adv_rule *base; /* that it extends, or NULL */

	rule_text title;
	rule_text about; /* why it matters, for --explain; may be NULL */
	const char *dimension;
	struct adv_rule_texts tags;
	struct adv_rule_sql when;
	int64_t level;
	NP_VEC(struct adv_rule_need) needs;

	bool over_cluster;
	struct adv_rule_texts per; /* columns of the query beside the rank of rules over ranks */
	struct adv_rule_sql focus;

	NP_VEC(struct adv_rule_param) params;
	NP_VEC(struct adv_rule_named) with;
	struct adv_rule_sql query;
	struct adv_rule_sql filter;
	NP_VEC(struct adv_rule_match) matches;
	NP_VEC(struct adv_rule_named) summary;
	struct adv_rule_sql fire;
	struct adv_rule_sql severity[SEVERITY_COUNT];
	enum adv_severity otherwise;
	struct adv_rule_sql confidence;
	struct adv_rule_sql gain;
	bool gain_per_step; /* else over the whole capture */
	enum adv_rule_bound bound;
	rule_text basis;
	const char *repair; /* a template; NULL if none */
	const char *cause;  /* likewise: what findings of one cause share; NULL: the repair */
	bool symptom;       /* its findings are shown below others of the same cause */
	bool first;         /* its findings head the report: others may be wrong because of them */
	struct adv_rule_texts
		yields; /* rules that explain what it finds on the same ranks better */
	const char *group;
	rule_text message;
	NP_VEC(struct adv_rule_advice) advice;
	struct adv_rule_texts docs;
	NP_VEC(struct adv_rule_column) evidence;
	const char *order;
	int64_t top_text;
	int64_t top_json;
	const char *stack; /* column of the evidence with a call stack; NULL if none */
	const char *op;    /* column that names the operator; NULL if none */
	NP_VEC(struct adv_rule_sql) fingerprint;
	int64_t timeout_ms;
	const struct np_json *tests;
};

/* What is wrong with a file or a rule. */
struct adv_problem {
	char *file;
	size_t line; /* 0 when not known */
	size_t column;
	char *rule; /* NULL when it is about the file */
	char *text;
	bool warning; /* the rule works nevertheless */
};

struct adv_problems {
	NP_VEC(struct adv_problem) list;
	size_t errors;
	bool lost; /* memory ran out for one */
};

void adv_problems_release(struct adv_problems *problems);

/* Add one at a value of a file; `inside` is an offset in its text, or SIZE_MAX. */
void adv_problem_add(struct adv_problems *problems, const struct adv_rule_file *file,
		     const char *rule, const char *path, size_t inside, bool warning,
		     const char *fmt, ...) NP_PRINTF(7, 8);

/* "rules/a.json:3:7: comm.x: reason": append one line, without a line end. */
void adv_problem_format(struct np_buf *buf, const struct adv_problem *problem);

struct adv_rule_library {
	struct np_arena *arena;
	NP_VEC(struct adv_rule_file *) files;
	NP_VEC(struct adv_rule *) rules; /* by id */
	struct adv_problems problems;
};

struct adv_rule_library *adv_rule_library_new(void) NP_MUST_USE;
void adv_rule_library_free(struct adv_rule_library *library);
void adv_rule_library_freep(struct adv_rule_library **library);

/*
 * Read one rule file, or all *.json of a directory in order of name. What is
 * wrong with rules becomes problems, and the other rules are used; fails only if
 * the path cannot be read or memory runs out.
 */
int adv_rule_library_read(struct adv_rule_library *library, const char *path, struct np_err *err)
	NP_MUST_USE;

/* Resolve `extends`, refuse ids that occur twice, sort. After the last read. */
int adv_rule_library_finish(struct adv_rule_library *library, struct np_err *err) NP_MUST_USE;

/*
 * Where rules come from: NPUPROF_RULES if it is set, else the rules that came
 * with the program, which lie beside it (in a build tree) or in
 * ../share/npuprof/rules, or are in it (rule_packs.h); and, after them, the directories
 * and files that the user names.
 */
int adv_rules_read_all(struct adv_rule_library *library, const char *const *more, size_t count,
		       struct np_err *err) NP_MUST_USE;

/* Append the ids of all rules that come with the program, each after a space; none if unreadable.
 */
void adv_rules_offer(struct np_buf *words);

const struct adv_rule *adv_rule_library_find(const struct adv_rule_library *library,
					     const char *id);

/* NP_E_USAGE: there is no rule with this id, or pattern of ids; with the one that may be meant. */
int adv_rule_library_missing(const struct adv_rule_library *library, const char *id,
			     struct np_err *err) NP_MUST_USE;

/* "id.param=value" of the user's. NP_E_USAGE with what is wrong and what was meant. */
int adv_rule_library_set(struct adv_rule_library *library, const char *assignment,
			 struct np_err *err) NP_MUST_USE;

/* Read one rule whose file and json are set; false when something is wrong with it. */
bool adv_rule_parse(struct adv_rule_library *library, struct adv_rule *rule);

/* The text in a language, else in English; NULL if there is none. */
const char *adv_rule_text_in(rule_text text, enum adv_rule_language language);

#endif /* NP_ADVISOR_RULE_H */
