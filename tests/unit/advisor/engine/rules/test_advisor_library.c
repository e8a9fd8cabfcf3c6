/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that memory runs out for are not left out in silence. */
#include "np_fault.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/engine/rules/rule.h"

static const char pack[] =
	"{\"schema\":\"npuprof.rules/1\",\"pack\":\"t\",\"version\":\"1\","
	"\"rules\":[{\"id\":\"test.long\",\"title\":{\"en\":\"Long\",\"zh\":\"Long\"},"
	"\"dimension\":\"computation\",\"about\":{\"en\":\"a\",\"zh\":\"a\"},"
	"\"requires\":{\"v_step\":[\"step\"]},\"scope\":\"rank\","
	"\"params\":{\"most\":{\"value\":3,\"what\":\"so much\"}},"
	"\"query\":[\"SELECT * FROM v_step\",\"  WHERE 1\"],\"summary\":{\"n\":\"count(*)\"},"
	"\"fire\":\"n > :most\",\"severity\":{\"high\":\"n > 9\",\"else\":\"low\"},"
	"\"message\":{\"en\":\"{n} steps\",\"zh\":\"{n}\"},\"advice\":[{\"en\":\"Look.\","
	"\"zh\":\"Look.\"}]}]}";

static char path[] = "/tmp/npuprof-library-XXXXXX";

static int read_pack(struct np_err *err)
{
	NP_CLEANUP(adv_rule_library_freep)
	struct adv_rule_library *library = adv_rule_library_new();
	int rc = library ? adv_rule_library_read(library, path, err) : np_fail_nomem(err, "rules");

	if (rc == NP_OK)
		rc = adv_rule_library_finish(library, err);
	if (rc < 0)
		return rc;
	if (library->problems.errors > 0)
		return np_fail_nomem(err, "what is wrong with a rule");
	assert_int_equal(library->rules.count, 1);
	return NP_OK;
}

static void a_rule_is_there_or_it_is_said_that_it_is_not(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, pack, strlen(pack)), strlen(pack));
	assert_int_equal(close(fd), 0);
	assert_survives_faults(read_pack);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_there_or_it_is_said_that_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
