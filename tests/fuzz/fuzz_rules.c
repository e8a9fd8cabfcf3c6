/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rule files of arbitrary bytes, as "npuprof rules test" takes them: read, every
 * SQL prepared and run over empty views, the tests they carry run. Whatever is
 * wrong with them has its place in the file, and nothing is written.
 */
#include "advisor/engine/fixture/fixture.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

static size_t count_lines(const uint8_t *data, size_t size)
{
	size_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	return lines;
}

static void check_problems(const struct adv_problems *problems, size_t lines)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		const struct adv_problem *problem = &problems->list.item[i];

		require(problem->text && problem->text[0]);
		require(problem->line >= 1 && problem->line <= lines && problem->column >= 1);
	}
}

static void try_rules(struct adv_rule_library *library)
{
	struct adv_test_counts counts = { .passed = 0 };

	for (size_t i = 0; i < library->rules.count; i++) {
		struct adv_rule *rule = library->rules.item[i];

		/* A rule may ask for a minute. */
		rule->timeout_ms = 20;
		adv_rule_check(rule, &library->problems);
		adv_rule_test(rule, &library->problems, &counts);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(adv_rule_library_freep) struct adv_rule_library *library = NULL;
	struct np_err err = NP_ERR_INIT;
	static bool ready;

	if (!ready)
		adv_sql_set_up();
	ready = true;
	if (!fuzz_write_file(data, size))
		return 0;
	library = adv_rule_library_new();
	require(library && adv_rule_library_read(library, fuzz_path, &err) == NP_OK);
	require(adv_rule_library_finish(library, &err) == NP_OK);
	try_rules(library);
	check_problems(&library->problems, count_lines(data, size));
	return 0;
}
