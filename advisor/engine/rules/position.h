/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_POSITION_H
#define NP_ADVISOR_POSITION_H

#include "npuprof/err.h"

/*
 * Places in JSON text
 * ===================
 *
 * Where in its file does a value stand? Found by walking the text along a path
 * of keys and indexes, "/rules/3/params/align", when there is something to say
 * about it. The text must have been read as JSON before.
 */
struct adv_position {
	size_t line;   /* both counted from 1 */
	size_t column; /* in characters */
};

/* The byte offset of the value at `path`, or of the nearest one that contains it. */
size_t adv_position_offset(const char *text, size_t length, const char *path);

/*
 * The same of a character inside of a JSON string: `inside` counts bytes of what
 * the string means. An array of strings counts as their text joined by line ends.
 */
size_t adv_position_offset_inside(const char *text, size_t length, const char *path, size_t inside);

struct adv_position adv_position_of(const char *text, size_t offset);

/* Number of keys written in all objects together; doubles count twice. */
size_t adv_position_count_all_keys(const char *text, size_t length);

/* Number of keys written in the object at `path`; doubles count twice. */
size_t adv_position_count_keys(const char *text, size_t length, const char *path);

#endif /* NP_ADVISOR_POSITION_H */
