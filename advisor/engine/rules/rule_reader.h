/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_RULE_READER_H
#define NP_ADVISOR_RULE_READER_H

#include "rule.h"

/*
 * Reading the fields of a rule
 * ============================
 *
 * What is wrong is reported at its place, and reading goes on, so that all mistakes of
 * a rule are reported at once. Private to rule_parse.c.
 */

/* One rule being read. */
struct rule_reader {
	struct rule_library *library;
	struct rule *rule;
	bool failed;
};

/* A node and where it stands; node is NULL if it is not there. */
struct rule_value {
	const struct np_json *node;
	const struct rule_file *file;
	const char *path;
};

void reader_complain(struct rule_reader *reader, const struct rule_value *value, const char *fmt,
		     ...) NP_PRINTF(3, 4);

/* The path of a member, which lasts as long as the library. */
const char *reader_path(struct rule_reader *reader, const char *path, const char *key);

/* A field of the rule, or of the one it extends. */
struct rule_value reader_field(struct rule_reader *reader, const char *key);

struct rule_value reader_member(struct rule_reader *reader, const struct rule_value *object,
				const char *key);
struct rule_value reader_item(struct rule_reader *reader, const struct rule_value *array,
			      size_t index);
bool value_is(const struct rule_value *value, enum np_json_type type);

/* Only these keys, each once; the list ends with NULL. */
void reader_check_keys(struct rule_reader *reader, const struct rule_value *object,
		       const char *const *keys);

/* Is it a name that SQL takes without quotes? */
bool rule_is_name(const char *text);

/* The same, and that nothing else has. */
bool reader_check_name(struct rule_reader *reader, const struct rule_value *value,
		       const char *name);

/* Is it an object? If not, that is reported. */
bool reader_is_object(struct rule_reader *reader, const struct rule_value *value, const char *what);

/* An optional text: NULL when it is not there or of another kind. */
const char *reader_text(struct rule_reader *reader, const struct rule_value *value,
			const char *what);

/* Append the texts of an array, or a single text. */
void reader_texts(struct rule_reader *reader, struct rule_value value, const char *what,
		  struct rule_texts *texts);

/* SQL is a text, an array of lines, or a number. */
struct rule_sql reader_sql(struct rule_reader *reader, const struct rule_value *value,
			   const char *what);
struct rule_sql reader_sql_field(struct rule_reader *reader, const char *key, bool needed);

/* A text, or an object of texts by language with English among them. */
rule_text reader_language(struct rule_reader *reader, const struct rule_value *value,
			  const char *what);
rule_text reader_language_field(struct rule_reader *reader, const char *key, bool needed);

/* Add to a vector; NULL, and the rule has failed, when memory runs out. */
#define READER_ADD(reader, vec) \
	__extension__({ \
		__typeof__((vec)->item) added_ = np_vec_add(vec, NULL); \
		if (!added_) \
			(reader)->failed = true; \
		added_; \
	})

#endif /* NP_ADVISOR_RULE_READER_H */
