/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JSON_RELAXED_H
#define NP_JSON_RELAXED_H

#include "npuprof/err.h"

/*
 * JSON as people keep it: with comments and with a comma after the last element
 *
 * Both are replaced by blanks in place, so that what is left is plain JSON and a
 * complaint about it still names the right line and column. Comments run from
 * two slashes to the end of the line or between slash-star and star-slash; a
 * comment that never ends is left alone, for the parser to refuse.
 */
void np_json_relax(char *text, size_t length);

#endif /* NP_JSON_RELAXED_H */
