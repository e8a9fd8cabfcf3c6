/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/workers.h"

static struct np_world as_world(const struct world_draft *draft)
{
	return (struct np_world){ (const float(*)[NP_WORK_KINDS])draft->work, draft->transfer };
}

int np_whatif_together(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret_step, struct np_err *err)
{
	struct world_draft draft = { 0 };
	struct np_replay_result result;
	int rc = world_init(&draft, input->replay, err);

	if (rc == NP_OK)
		rc = world_repair(input, fixes, count, &draft, err);
	if (rc == NP_OK) {
		const struct np_world world = as_world(&draft);

		rc = np_replay_run(input->replay, &world, &result, err);
	}
	if (rc == NP_OK)
		*ret_step = result.step;
	world_release(&draft);
	return rc;
}

/* --- many worlds ----------------------------------------------------------------------------- */

/* Each with one repair of a list: on top of some, or missing where everything else is repaired. */
struct worlds {
	const struct np_whatif_input *input;
	const struct np_fix *base;
	size_t base_count;
	const struct world_draft *all; /* NULL: on top of `base` */
	const struct np_fix *fixes;
	size_t count;
	np_ns *steps;
	struct np_err *errors;
};

static int make_with(const struct worlds *worlds, const struct np_fix *fix, struct world_draft *ret,
		     struct np_err *err)
{
	struct np_fix *fixes = calloc(worlds->base_count + 1, sizeof(*fixes));
	int rc = fixes ? NP_OK : np_fail_nomem(err, "a repaired world");

	for (size_t i = 0; i < worlds->base_count && fixes; i++)
		fixes[i] = worlds->base[i];
	if (rc == NP_OK) {
		fixes[worlds->base_count] = *fix;
		rc = world_repair(worlds->input, fixes, worlds->base_count + 1, ret, err);
	}
	free(fixes);
	return rc;
}

static int make_without(const struct worlds *worlds, const struct np_fix *fix,
			struct world_draft *ret, struct np_err *err)
{
	const struct np_replay *replay = worlds->input->replay;
	struct world_draft own = { 0 };
	int rc = world_init(&own, replay, err);

	if (rc == NP_OK)
		rc = world_repair(worlds->input, fix, 1, &own, err);
	if (rc == NP_OK) {
		world_copy(ret, worlds->all, replay);
		world_undo(ret, &own, replay);
	}
	world_release(&own);
	return rc;
}

/* As many worlds as run side by side; those that the data do not allow are left out. */
static void run_few(void *context, size_t index)
{
	struct worlds *all = context;
	const struct np_replay *replay = all->input->replay;
	size_t first = index * NP_REPLAY_LANES;
	struct world_draft drafts[NP_REPLAY_LANES] = { 0 };
	struct np_world worlds[NP_REPLAY_LANES] = { 0 };
	struct np_replay_result results[NP_REPLAY_LANES];
	size_t of[NP_REPLAY_LANES];
	size_t count = 0;

	for (size_t i = first; i < first + NP_REPLAY_LANES && i < all->count; i++) {
		struct world_draft *draft = &drafts[count];
		struct np_err *err = &all->errors[i];
		int rc = draft->work ? NP_OK : world_init(draft, replay, err);

		all->steps[i] = NP_UNKNOWN;
		if (rc == NP_OK)
			rc = all->all ? make_without(all, &all->fixes[i], draft, err)
				      : make_with(all, &all->fixes[i], draft, err);
		if (rc < 0) {
			world_release(draft);
			*draft = (struct world_draft){ 0 };
			continue;
		}
		worlds[count] = as_world(draft);
		of[count++] = i;
	}
	if (count > 0 &&
	    np_replay_run_many(replay, worlds, count, results, &all->errors[of[0]]) == NP_OK) {
		for (size_t i = 0; i < count; i++)
			all->steps[of[i]] = results[i].step;
	}
	for (size_t i = 0; i < count; i++)
		world_release(&drafts[i]);
}

static int run_all(struct worlds *worlds, struct np_err *err)
{
	struct np_workers workers = { .threads = worlds->input->threads };
	int rc = NP_OK;

	worlds->errors = calloc(worlds->count + 1, sizeof(*worlds->errors));
	if (!worlds->errors)
		return np_fail_nomem(err, "repairs");
	np_workers_run(&workers, (worlds->count + NP_REPLAY_LANES - 1) / NP_REPLAY_LANES, run_few,
		       worlds);
	for (size_t i = 0; i < worlds->count && rc == NP_OK; i++) {
		if (worlds->errors[i].code == NP_E_NOMEM)
			rc = np_fail(err, NP_E_NOMEM, "%s", worlds->errors[i].text);
	}
	free(worlds->errors);
	return rc;
}

int whatif_steps(const struct np_whatif_input *input, const struct np_fix *base, size_t base_count,
		 const struct np_fix *fixes, size_t count, np_ns *ret, struct np_err *err)
{
	struct worlds worlds = { .input = input,
				 .base = base,
				 .base_count = base_count,
				 .fixes = fixes,
				 .count = count,
				 .steps = ret };

	return run_all(&worlds, err);
}

int whatif_steps_alone(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret, struct np_err *err)
{
	static const struct np_fix everything = { .kind = NP_FIX_ALL };
	struct world_draft all = { 0 };
	struct worlds worlds = {
		.input = input, .all = &all, .fixes = fixes, .count = count, .steps = ret
	};
	int rc = world_init(&all, input->replay, err);

	if (rc == NP_OK)
		rc = world_repair(input, &everything, 1, &all, err);
	if (rc == NP_OK)
		rc = run_all(&worlds, err);
	world_release(&all);
	return rc;
}
