/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INPUT_JSON_H
#define NP_INPUT_JSON_H

/* The member "input" that the JSON of commands over one run begins with. */

#include "npuprof/cluster.h"
#include "npuprof/jsonout.h"
#include "npuprof/notes.h"

/* Notes are those of the run and `more`, which may be NULL. */
void put_input_json(struct np_jsonout *out, const struct np_run *run,
		    const struct np_cluster *cluster, const char *input,
		    const struct np_notes *more);

/* The member "steps_from": how steps are known, and with what confidence if they were found. */
void put_steps_from_json(struct np_jsonout *out, const struct np_run *run);

#endif /* NP_INPUT_JSON_H */
