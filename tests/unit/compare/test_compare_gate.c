/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_gate.h"

#include "np_test.h"

static void conditions_are_read_with_their_units(void **state)
{
	struct cmp_gate gate = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(cmp_gate_parse("step>2%,kernel:MatMul*>3%,leaf:free/*>0.5ms,mem>1%", &gate, &err),
		  err);
	assert_int_equal(gate.conditions.count, 4);
	assert_string_equal(gate.conditions.item[0].what, "step");
	assert_near(gate.conditions.item[0].limit, 0.02, 1e-12);
	assert_true(gate.conditions.item[0].relative);
	assert_string_equal(gate.conditions.item[1].glob, "MatMul*");
	assert_near(gate.conditions.item[2].limit, 5e5, 1e-6);
	assert_false(gate.conditions.item[2].relative);
	assert_true(gate.conditions.item[3].bytes);
	cmp_gate_release(&gate);
}

static void refuse(const char *text, const char *says)
{
	struct cmp_gate gate = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_int_equal(cmp_gate_parse(text, &gate, &err), NP_E_USAGE);
	if (!strstr(err.text, says))
		fail_msg("'%s' does not say '%s'", err.text, says);
}

static void what_is_no_condition_is_refused_and_quoted(void **state)
{
	static const char *const bad[] = { "",        "step",     "step>",     "step>2",
					   "step>x%", "step>-1%", "kernel>3%", "step:x>2%",
					   "mem>5ms", "step>2%,," };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bad); i++)
		refuse(bad[i], "--fail-on takes conditions");
	refuse("stpe>2%", "did you mean 'step'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_read_with_their_units),
		cmocka_unit_test(what_is_no_condition_is_refused_and_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
