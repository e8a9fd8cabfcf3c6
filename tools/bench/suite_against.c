/* SPDX-License-Identifier: Apache-2.0 */
/* What another program takes beside npuprof: ratios of runs that followed each other. */
#include "suite.h"

#include <string.h>

static const struct suite_result *find(const struct suite *suite, const struct suite_input *input,
				       const char *name)
{
	for (size_t i = 0; i < suite->result_count; i++) {
		if (suite->results[i].input == input && strcmp(suite->results[i].name, name) == 0)
			return &suite->results[i];
	}
	return NULL;
}

static bool answered(const struct suite_result *result)
{
	return (result->status == 0 || result->status == 3) && !result->silent;
}

/* "3.1 x (2.9 to 3.4)": the median of the ratios, and between what half of them lie. */
static void print_ratio(const double *own, const double *other, size_t count)
{
	double ratios[SUITE_REPETITIONS];

	for (size_t i = 0; i < count; i++)
		ratios[i] = own[i] > 0 ? other[i] / own[i] : 0;
	(void)printf("%.2f x (%.2f to %.2f)", suite_median(ratios, count),
		     suite_quantile(ratios, count, 0.25), suite_quantile(ratios, count, 0.75));
}

static void print_pair(const char *name, const struct suite_result *own,
		       const struct suite_result *other)
{
	(void)printf("  %-22s ", name);
	print_ratio(own->seconds, other->seconds, own->count);
	(void)printf(" the time of npuprof, ");
	print_ratio(own->cpu, other->cpu, own->count);
	(void)printf(" of processors, %.1f x the memory\n",
		     suite_median(other->peak, other->count) / suite_median(own->peak, own->count));
}

static bool print_input(const struct suite *suite, const struct suite_input *input)
{
	const struct suite_result *own = find(suite, input, suite_against[SUITE_AGAINST - 2].name);
	bool all = true;

	if (!own)
		return true;
	(void)printf("%s, %zu repetitions: median, and half of them\n", input->name, own->count);
	for (size_t i = 0; i < SUITE_AGAINST; i++) {
		const struct suite_result *other = find(suite, input, suite_against[i].name);
		bool wanted = !suite_against[i].shell || suite_against[i].other;

		if (other && wanted && !answered(other)) {
			(void)printf("  %-22s did not answer: exit status %d%s\n", other->name,
				     other->status,
				     other->silent ? ", nothing printed or written" : "");
			all = false;
		} else if (other && other != own) {
			print_pair(other->name, own, other);
		}
	}
	return all;
}

bool suite_print_against(const struct suite *suite)
{
	bool all = true;

	(void)printf("\nother: %s\n", suite->against);
	for (size_t i = 0; i < suite_input_count; i++)
		all = print_input(suite, &suite_inputs[i]) && all;
	return all;
}
