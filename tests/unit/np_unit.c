/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests in one program, which is linked once instead of once for each: by the name under which
 * it is called, or by its first argument, it is one of them. */
#include <stdio.h>
#include <string.h>

#define TEST(name) int name##_main(void);
#include "np_unit_tests.inc"
#undef TEST

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
#define TEST(name) { #name, name##_main },
#include "np_unit_tests.inc"
#undef TEST
};

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = argc > 1 ? argv[1] : slash ? slash + 1 : argv[0];

	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (strcmp(tests[i].name, name) == 0)
			return tests[i].run();
	}
	(void)fprintf(stderr, "there is no test '%s'; there are:\n", name);
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		(void)fprintf(stderr, "  %s\n", tests[i].name);
	return 2;
}
