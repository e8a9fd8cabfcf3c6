/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings from files of others (ours, tools.json, profiler_config.json, YAML) and the plan that
 * launcher 0 sends: whatever the bytes are, a plan that is taken says the same when it is written
 * and read again. The first byte chooses the reader.
 */
#include "collect/launch/plan/config_file.h"
#include "npuprof/json.h"
#include "npuprof/jsonout.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void write_plan(const struct np_plan *plan, struct np_buf *ret)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_plan_write(plan, &out, NULL);
	np_buf_add_bytes(ret, out.buf.text, out.buf.length);
	np_jsonout_release(&out);
}

/* What went through the check comes through it again. */
static void check_plan(const struct np_plan *plan)
{
	NP_CLEANUP(np_buf_release) struct np_buf once = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf twice = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan again;

	write_plan(plan, &once);
	np_plan_init(&again);
	must(np_plan_read(&again, once.text, once.length, &err) == NP_OK);

	write_plan(&again, &twice);
	must(once.length == twice.length && memcmp(once.text, twice.text, once.length) == 0);
}

static void read_settings(const char *text, size_t size, const char *name)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	np_plan_init(&plan);
	if (np_config_text_read(text, size, name, &plan, &notes, &err) < 0) {
		must(err.text[0] != '\0');
		return;
	}
	/* The launcher gives every job a name. */
	if (!plan.job[0])
		(void)snprintf(plan.job, sizeof(plan.job), "job");
	if (np_plan_check(&plan, &err) == NP_OK)
		check_plan(&plan);
}

static void read_plan(const char *text, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	np_plan_init(&plan);
	if (np_plan_read(&plan, text, size, &err) == NP_OK)
		check_plan(&plan);
}

/* What is made blank leaves every other byte, and every line, where it was. */
static void relax(const char *text, size_t size)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	char *copy = malloc(size + 1);

	must(copy != NULL);
	memcpy(copy, text, size);
	copy[size] = '\0';
	np_json_relax(copy, size);
	for (size_t i = 0; i < size; i++)
		must(copy[i] == text[i] || (copy[i] == ' ' && text[i] != '\n'));
	if (np_json_parse(copy, size, "fuzz", &doc, NULL) == NP_OK)
		must(doc != NULL);
	free(copy);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		read_settings(text, size - 1, "settings.json");
		break;
	case 1:
		read_settings(text, size - 1, "settings.yaml");
		break;
	case 2:
		read_plan(text, size - 1);
		break;
	default:
		relax(text, size - 1);
		break;
	}
	return 0;
}
