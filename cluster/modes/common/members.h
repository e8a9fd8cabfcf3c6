/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMBERS_H
#define NP_MEMBERS_H

/* Operators that belong together: the members of an instance. */

#include "mode.h"

/*
 * Operators that belong together are those of one instance (align.h): names do not
 * say so, for the numbers in them differ where captures begin at different operators.
 */

/* The members of an instance, by rank. */
const struct np_member *mode_members(const struct np_modes *modes,
				     const struct np_instance *instance);

const struct np_comm_op *member_op(const struct np_modes *modes, const struct np_member *member);
np_ns member_time(const struct np_modes *modes, const struct np_member *member);

/* The hash of a member's communicator. */
uint64_t member_hash(const struct np_modes *modes, const struct np_member *member);

/* Is it a message, or a batch of them, and no collective? */
bool mode_is_message(const struct np_modes *modes, const struct np_instance *instance);

/*
 * Do all ranks have the operator that have others of its communicator; or, of a
 * message, both ends?
 */
bool mode_is_complete(const struct np_modes *modes, const struct np_instance *instance);

/* Note which ranks keep collectives from being complete, where a mode leaves those out. */
int mode_note_left_out(struct np_modes *modes, const char *mode, struct np_err *err) NP_MUST_USE;

/* A communicator's string, or its hash where that is all there is. */
struct np_cell mode_group_cell(const struct np_modes *modes, uint64_t hash, char *buffer,
			       size_t size);

#endif /* NP_MEMBERS_H */
