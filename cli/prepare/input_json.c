/* SPDX-License-Identifier: Apache-2.0 */
/* The members "input" and "steps_from" of the JSON of commands over one run. */
#include "input_json.h"

#include "npuprof/iteration.h"
#include "npuprof/jsonout.h"
#include "npuprof/run.h"

static void put_notes(struct np_jsonout *out, const char *key, const struct np_notes *notes,
		      const struct np_notes *more, enum np_note_kind kind)
{
	np_jsonout_array(out, key);
	np_jsonout_notes(out, notes, kind);
	if (more)
		np_jsonout_notes(out, more, kind);
	np_jsonout_end(out);
}

void put_input_json(struct np_jsonout *out, const struct np_run *run,
		    const struct np_cluster *cluster, const char *input,
		    const struct np_notes *more)
{
	int32_t world = np_cluster_world(cluster);
	size_t hosts = np_cluster_hosts(cluster);

	np_jsonout_object(out, "input");
	np_jsonout_text(out, "path", input);
	np_jsonout_integer(out, "ranks_found", (int64_t)run->sources.count);
	np_jsonout_integer(out, "ranks_used", (int64_t)np_run_used(run));
	np_jsonout_integer(out, "world_size", world > 0 ? world : NP_UNKNOWN);
	np_jsonout_integer(out, "hosts", hosts > 0 ? (int64_t)hosts : NP_UNKNOWN);
	np_jsonout_text(out, "device_kind", np_run_device_kind(run));
	np_jsonout_array_line(out, "steps");
	for (size_t i = 0; i < cluster->steps.count; i++)
		np_jsonout_text(out, NULL, np_run_text(run, cluster->steps.item[i]));
	np_jsonout_end(out);
	put_notes(out, "skipped", &run->notes, more, NP_NOTE_SKIPPED);
	put_notes(out, "warnings", &run->notes, more, NP_NOTE_WARNING);
	np_jsonout_end(out);
}

void put_steps_from_json(struct np_jsonout *out, const struct np_run *run)
{
	double confidence;
	bool found = np_run_steps_found(run, &confidence);

	np_jsonout_object(out, "steps_from");
	np_jsonout_text(out, "how", np_steps_from_name(np_run_steps_from(run)));
	if (found)
		np_jsonout_real(out, "confidence", confidence);
	else
		np_jsonout_null(out, "confidence");
	np_jsonout_end(out);
}
