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
struct adv_rule_reader {
	struct adv_rule_library *library;
	struct adv_rule *rule;
	bool failed;
};

/* A node and where it stands; node is NULL if it is not there. */
struct adv_rule_value {
	const struct np_json *node;
	const struct adv_rule_file *file;
	const char *path;
};

void adv_reader_complain(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			 const char *fmt, ...) NP_PRINTF(3, 4);

/* The path of a member, which lasts as long as the library. */
const char *adv_reader_path(struct adv_rule_reader *reader, const char *path, const char *key);

/* A field of the rule, or of the one it extends. */
struct adv_rule_value adv_reader_field(struct adv_rule_reader *reader, const char *key);

struct adv_rule_value adv_reader_member(struct adv_rule_reader *reader,
					const struct adv_rule_value *object, const char *key);
struct adv_rule_value adv_reader_item(struct adv_rule_reader *reader,
				      const struct adv_rule_value *array, size_t index);
bool adv_value_is(const struct adv_rule_value *value, enum np_json_type type);

/* Only these keys, each once; the list ends with NULL. */
void adv_reader_check_keys(struct adv_rule_reader *reader, const struct adv_rule_value *object,
			   const char *const *keys);

/* Is it a name that SQL takes without quotes? */
bool adv_rule_is_name(const char *text);

/* The same, and that nothing else has. */
bool adv_reader_check_name(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			   const char *name);

/* Is it an object? If not, that is reported. */
bool adv_reader_is_object(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			  const char *what);

/* An optional text: NULL when it is not there or of another kind. */
const char *adv_reader_text(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			    const char *what);

/* Append the texts of an array, or a single text. */
void adv_reader_texts(struct adv_rule_reader *reader, struct adv_rule_value value, const char *what,
		      struct adv_rule_texts *texts);

/* SQL is a text, an array of lines, or a number. */
struct adv_rule_sql adv_reader_sql(struct adv_rule_reader *reader,
				   const struct adv_rule_value *value, const char *what);
struct adv_rule_sql adv_reader_sql_field(struct adv_rule_reader *reader, const char *key,
					 bool needed);

/* A text, or an object of texts by language with English among them. */
rule_text adv_reader_language(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			      const char *what);
rule_text adv_reader_language_field(struct adv_rule_reader *reader, const char *key, bool needed);

/* Add to a vector; NULL, and the rule has failed, when memory runs out. */
#define READER_ADD(reader, vec) \
	__extension__({ \
		__typeof__((vec)->item) added_ = np_vec_add(vec, NULL); \
		if (!added_) \
			(reader)->failed = true; \
		added_; \
	})

#endif /* NP_ADVISOR_RULE_READER_H */
