/* SPDX-License-Identifier: Apache-2.0 */
/* Writes npuprof_manifest.json of a generated run (manifest.h). */
#include "manifest.h"

#include "backend.h"
#include "sim/synth/out/json_file.h"
#include "sim/synth/plan/plants.h"

static np_ns last_end(const struct syn_timeline *timeline)
{
	size_t count = timeline->slots_per_step * (size_t)timeline->config->steps;
	np_ns last = SYN_EPOCH_NS + 1;

	for (size_t i = 0; i < count; i++) {
		if (timeline->slots[i].end_ns > last)
			last = timeline->slots[i].end_ns;
	}
	return last;
}

/* Two samples, at the ends of the run, tell offset and drift. */
static void put_host(struct np_jsonout *out, const struct syn_timeline *timeline, int32_t host,
		     np_ns end)
{
	const struct syn_config *config = timeline->config;
	struct syn_rank_info info = syn_rank_info_of(timeline, host * (int32_t)config->per_host);
	struct syn_clock clock = syn_clock_of_host(config, host);
	struct syn_clock reference = syn_clock_of_host(config, 0);
	const np_ns at[] = { SYN_EPOCH_NS, end };

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "host", info.host);
	np_jsonout_text(out, "uid", info.host_uid);
	np_jsonout_array(out, "clock");
	for (size_t i = 0; i < NP_COUNT(at); i++) {
		np_ns zero = syn_clock_read(&reference, at[i]);

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "at_ns", zero);
		np_jsonout_integer(out, "offset_ns", syn_clock_read(&clock, at[i]) - zero);
		np_jsonout_integer(out, "uncertainty_ns", 0);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_real(out, "drift_ppm", clock.drift_ppm - reference.drift_ppm);
	np_jsonout_end(out);
}

static int put_rank(struct np_jsonout *out, const struct syn_timeline *timeline, int32_t rank,
		    struct np_err *err)
{
	struct syn_rank_info info = syn_rank_info_of(timeline, rank);
	bool written = syn_is_written(timeline->config, rank);
	NP_CLEANUP(np_buf_release) struct np_buf dir = NP_BUF_INIT;

	syn_rank_dir(&info, &dir);
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank);
	np_jsonout_text(out, "host", info.host);
	np_jsonout_integer(out, "device", info.place.device);
	np_jsonout_text(out, "dir", written ? dir.text : NULL);
	np_jsonout_bool(out, "selected", written);
	np_jsonout_text(out, "state", written ? "exported" : "none");
	np_jsonout_integer(out, "exit", 0);
	np_jsonout_object_line(out, "prof_codes");
	np_jsonout_end(out);
	np_jsonout_end(out);
	return np_buf_check(&dir, err);
}

static void put_window(struct np_jsonout *out, const struct syn_config *config)
{
	np_jsonout_array(out, "windows");
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "first_step", config->first_step);
	np_jsonout_integer(out, "last_step", config->first_step + config->steps - 1);
	np_jsonout_text(out, "step_source", "torch");
	np_jsonout_array_line(out, "ranks");
	for (int32_t rank = 0; rank < config->ranks; rank++) {
		if (syn_is_written(config, rank))
			np_jsonout_integer(out, NULL, rank);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

int syn_manifest_write(const struct syn_timeline *timeline, struct np_err *err)
{
	const struct syn_config *config = timeline->config;
	struct syn_json_file json;
	struct np_jsonout *out = &json.out;
	np_ns end = last_end(timeline);
	int rc = syn_json_open(&json, config->out, "npuprof_manifest.json", err);
	int closed;

	if (rc < 0)
		return rc;
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", "npuprof.manifest/1");
	np_jsonout_text(out, "job", "npuprof-synth");
	np_jsonout_integer(out, "world_size", config->ranks);
	np_jsonout_array_line(out, "app");
	np_jsonout_text(out, NULL, "npuprof-synth");
	np_jsonout_end(out);
	np_jsonout_object_line(out, "config");
	np_jsonout_integer(out, "level", config->level);
	np_jsonout_end(out);
	np_jsonout_bool(out, "simulated", true);
	np_jsonout_array(out, "hosts");
	for (int32_t host = 0; host * config->per_host < config->ranks; host++)
		put_host(out, timeline, host, end);
	np_jsonout_end(out);
	np_jsonout_array(out, "ranks");
	for (int32_t rank = 0; rank < config->ranks && rc == NP_OK; rank++)
		rc = put_rank(out, timeline, rank, err);
	np_jsonout_end(out);
	put_window(out, config);
	np_jsonout_end(out);
	closed = syn_json_close(&json, rc == NP_OK ? err : NULL);
	return rc == NP_OK ? closed : rc;
}
