/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries with a right checksum: whatever stands in them is refused or makes a
 * rank that holds together, so that writing it and reading it again gives the same.
 */
#include "npuprof/summary.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static struct np_bytes again(const struct np_summary *summary, const struct np_strtab *strings)
{
	struct np_bytes bytes = { 0 };

	must(np_summary_encode(summary, strings, &bytes, NULL) == NP_OK);
	return bytes;
}

static void check(const struct np_summary *first, struct np_strtab *strings)
{
	struct np_bytes once = again(first, strings);
	struct np_summary second = { 0 };
	struct np_bytes twice;

	must(np_summary_decode(once.item, once.count, "fuzz", strings, &second, NULL) == NP_OK);
	twice = again(&second, strings);
	must(once.count == twice.count && memcmp(once.item, twice.item, once.count) == 0);
	np_bytes_release(&once);
	np_bytes_release(&twice);
	np_summary_release(&second);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = np_strtab_new();
	struct np_summary summary = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_bytes sealed = { 0 };

	must(strings && np_summary_seal(data, size, &sealed, &err) == NP_OK);
	if (np_summary_decode(sealed.item, sealed.count, "fuzz", strings, &summary, &err) == NP_OK)
		check(&summary, strings);
	np_summary_release(&summary);
	np_bytes_release(&sealed);
	return 0;
}
