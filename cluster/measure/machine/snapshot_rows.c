/* SPDX-License-Identifier: Apache-2.0 */
/* Releases what is known of the memory of ranks. */
#include "npuprof/snapshot_rows.h"

#include "npuprof/arena.h"

void np_memory_free(struct np_memory *memory)
{
	if (!memory)
		return;
	np_vec_release(&memory->ranks);
	np_vec_release(&memory->groups);
	np_vec_release(&memory->components);
	np_vec_release(&memory->curve);
	np_vec_release(&memory->leaks);
	np_vec_release(&memory->whatif);
	np_vec_release(&memory->marks);
	np_vec_release(&memory->blocks);
	np_vec_release(&memory->largest);
	np_arena_free(memory->arena);
	free(memory);
}

void np_memory_freep(struct np_memory **memory)
{
	np_memory_free(*memory);
}
