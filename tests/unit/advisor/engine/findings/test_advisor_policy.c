/* SPDX-License-Identifier: Apache-2.0 */
/* Gates, suppressions and baselines, as far as they can be checked without a run. */
#include "np_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/engine/findings/policy.h"

/* A file with this text; its name is freed by the caller. */
static char *file_with(const char *text)
{
	char *path = strdup("/tmp/npuprof-policy-XXXXXX");
	int fd;

	assert_non_null(path);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	return path;
}

static void drop(char *path)
{
	assert_int_equal(unlink(path), 0);
	free(path);
}

static void a_gate_is_a_severity_or_a_gain(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct adv_gate gate;

	(void)state;
	assert_ok(adv_gate_parse("medium", &gate, &err), err);
	assert_int_equal(gate.severity, SEVERITY_MEDIUM);
	assert_false(gate.by_gain);
	assert_ok(adv_gate_parse("gain=2.5", &gate, &err), err);
	assert_true(gate.by_gain);
	assert_near(gate.percent, 2.5, 0);
}

static void a_gate_of_another_form_is_refused(void **state)
{
	static const char *const texts[] = { "",       "info",     "huge",   "gain=",
					     "gain=x", "gain=101", "gain=-1" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		struct np_err err = NP_ERR_INIT;
		struct adv_gate gate;

		assert_int_equal(adv_gate_parse(texts[i], &gate, &err), NP_E_USAGE);
	}
}

static void a_wrong_suppression_is_found_when_the_file_is_read(void **state)
{
	static const struct {
		const char *text;
		const char *which; /* NULL: there is nothing wrong */
	} files[] = {
		{ "[]", NULL },
		{ "[{\"rule\": \"a.*\", \"reason\": \"known\"}]", NULL },
		{ "{}", "suppressions are an array" },
		{ "[{\"rule\": \"a.*\", \"reason\": \"known\"}, 3]", "suppression 2: " },
		{ "[{\"rule\": \"a\", \"reason\": \"b\", \"until\": \"2025-02-30\"}]",
		  "suppression 1: " },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		struct adv_suppressions suppressions = { .doc = NULL };
		struct np_err err = NP_ERR_INIT;
		char *path = file_with(files[i].text);
		int rc = adv_suppressions_read(&suppressions, path, &err);

		assert_int_equal(rc == NP_OK, !files[i].which);
		if (files[i].which)
			assert_non_null(strstr(err.text, files[i].which));
		adv_suppressions_release(&suppressions);
		drop(path);
	}
}

static void a_baseline_is_a_result_of_the_advisor(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *baseline = NULL;
	char *path = file_with("{\"schema\": \"npuprof.advisor/1\", \"findings\": []}");

	(void)state;
	assert_ok(adv_baseline_read(path, &baseline, &err), err);
	assert_non_null(baseline);
	np_json_freep(&baseline);
	drop(path);
	path = file_with("{\"schema\": \"npuprof.cluster/1\"}");
	assert_int_equal(adv_baseline_read(path, &baseline, &err), NP_E_FORMAT);
	assert_null(baseline);
	drop(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gate_is_a_severity_or_a_gain),
		cmocka_unit_test(a_gate_of_another_form_is_refused),
		cmocka_unit_test(a_wrong_suppression_is_found_when_the_file_is_read),
		cmocka_unit_test(a_baseline_is_a_result_of_the_advisor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
