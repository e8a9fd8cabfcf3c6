/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DISCOVER_RANKS_H
#define NP_DISCOVER_RANKS_H

/* What names say about the captures that were found: for their ranks and for the phases. */

#include "core/model/vendor/capture_names.h"

#include "npuprof/run.h"

/* A capture while its rank is looked for; by the index of its source. */
struct naming {
	char *path; /* resolved; the components from `root` on are the capture's own */
	size_t root;
	struct capture_name name; /* of the last component */
	size_t identity;          /* bytes of it that say who made it: worker, process; 0: nobody */
	int64_t process;          /* that the metadata name, on this host; 0: none */
	const char *host;         /* NULL: not known */
};

struct namings {
	struct np_run *run;
	struct naming *list;
	struct capture_names *names;
};

/* Did the same process make both? */
bool discover_same_maker(const struct naming *a, const struct naming *b);

/* Leave out captures that are copies of others, name and content, and note them. */
int discover_drop_copies(const struct namings *all, struct np_err *err) NP_MUST_USE;

/* Fill np_run.phases and the phase of each source, if captures of a rank are of several. */
int discover_find_phases(const struct namings *all, struct np_err *err) NP_MUST_USE;

#endif /* NP_DISCOVER_RANKS_H */
