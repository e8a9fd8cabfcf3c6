/* SPDX-License-Identifier: Apache-2.0 */
/* What other settings of the allocator would do, and whether it would fit. */
#include "memory_whatif.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

#include <errno.h>
#include <math.h>

/* The largest that counts of bytes can be told apart in. */
#define GATE_MOST 9e15

static const char too_large[] = NP_MSG("the record asks for more memory than there are addresses");

static int foretell(const struct mem_history *history, const struct mem_settings *settings,
		    int64_t device, struct memory_whatif *ret, struct np_err *err)
{
	struct mem_whatif *added = np_vec_add(&ret->list, err);

	if (!added)
		return NP_E_NOMEM;
	return mem_replay_whatif(history, &ret->found, settings, device,
				 ret->now_known ? ret->now.peak_reserved : history->reserved.bytes,
				 added, err);
}

int memory_whatif_find(const struct mem_history *history, struct memory_whatif *ret,
		       struct np_err *err)
{
	int rc = NP_OK;

	if (history->count == 0)
		ret->withheld = NP_MSG("no history was recorded");
	else if (!history_is_trusted(history))
		ret->withheld = NP_MSG("too many events contradict others");
	else
		rc = mem_replay_find(history, &ret->found, err);
	if (rc == NP_E_RANGE) {
		/* Sizes that no device has. */
		ret->withheld = too_large;
		rc = NP_OK;
	}
	return rc;
}

static int find_now(const struct mem_history *history, int64_t device, struct memory_whatif *ret,
		    struct np_err *err)
{
	struct mem_settings settings = ret->found.settings;

	settings.cap = (uint64_t)device;
	ret->now_known = true;
	return mem_replay_run(history, &settings, REPLAY_FORETELL, &ret->now, err);
}

int memory_whatif_run(const struct mem_history *history, const char *const *with, size_t count,
		      bool sweep, int64_t device, struct memory_whatif *ret, struct np_err *err)
{
	struct mem_settings tried[MEM_SWEEP_MOST];
	size_t sensible = 0;
	int rc = NP_OK;

	ret->wanted = count > 0 || sweep;
	if (!ret->wanted || ret->withheld)
		return NP_OK;
	if (device != NP_UNKNOWN && (uint64_t)device < history->reserved.bytes)
		rc = find_now(history, device, ret, err);
	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		struct mem_settings settings = ret->found.settings;

		rc = mem_replay_parse(with[i], &settings, err);
		if (rc == NP_OK)
			rc = foretell(history, &settings, device, ret, err);
	}
	ret->with = ret->list.count;
	if (rc == NP_OK && sweep)
		sensible = mem_replay_sweep(&ret->found.settings,
					    snapshot_is_of_gpu(history->snapshot), device, tried);
	for (size_t i = 0; rc == NP_OK && i < sensible; i++)
		rc = foretell(history, &tried[i], device, ret, err);
	if (rc == NP_E_RANGE) {
		ret->withheld = too_large;
		ret->list.count = ret->with = 0;
		rc = NP_OK;
	}
	return rc;
}

void memory_whatif_release(struct memory_whatif *whatif)
{
	np_vec_release(&whatif->list);
}

bool memory_read_size(const char *text, int64_t *ret)
{
	static const struct {
		const char *name;
		double scale;
	} units[] = { { "B", 1 },        { "kB", 1e3 },     { "MB", 1e6 },    { "GB", 1e9 },
		      { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 } };
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		double bytes = value * units[i].scale;

		if (end == text || errno || strcmp(end, units[i].name) != 0 || !isfinite(bytes) ||
		    bytes < 0 || bytes > GATE_MOST)
			continue;
		*ret = (int64_t)bytes;
		return true;
	}
	return false;
}

int memory_gate_parse(const char *text, uint64_t *ret_bytes, struct np_err *err)
{
	static const char what[] = "reserved>";
	int64_t bytes;

	if (np_text_begins(text, what) && memory_read_size(text + strlen(what), &bytes)) {
		*ret_bytes = (uint64_t)bytes;
		return NP_OK;
	}
	return np_fail(err, NP_E_USAGE,
		       "--fail-on takes a condition such as reserved>60GB or reserved>56GiB, not "
		       "'%s'",
		       text);
}

uint64_t memory_gate_peak(const struct mem_history *history, const struct memory_whatif *whatif)
{
	if (whatif->with == 0 || whatif->list.item[0].withheld)
		return history->reserved.bytes;
	return whatif->list.item[0].replay.peak_reserved + whatif->list.item[0].error;
}
