/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of captures: whatever a directory is called, its name is read within bounds, and twice
 * alike. An input is a name, up to its first NUL.
 */
#include "core/model/discover/discover_files.h"
#include "core/model/vendor/capture_names.h"
#include "core/model/vendor/file_names.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_part(struct name_part part, size_t length)
{
	must(part.begin <= length && part.length <= length - part.begin);
}

static void check(const struct capture_name *facts, size_t length)
{
	const int32_t numbers[] = { facts->rank, facts->world, facts->dp, facts->pp,
				    facts->tp,   facts->cp,    facts->ep, facts->dcp };

	must((unsigned)facts->form < CAPTURE_FORMS);
	for (size_t i = 0; i < NP_COUNT(numbers); i++)
		must(numbers[i] >= -1);
	must(facts->pid >= -1 && facts->step >= -1 && facts->replica >= -1);
	check_part(facts->worker, length);
	check_part(facts->role, length);
	check_part(facts->stage, length);
	must(facts->time >= -1);
}

/* Words around the name of a file lie in it. */
static void check_renamed(const char *name)
{
	struct renamed_file parts;
	size_t length = strlen(name);

	if (!discover_renamed(name, &parts))
		return;
	must(parts.file < NP_FILE_COUNT);
	must(parts.before.length + parts.behind.length < length);
	must(parts.before.bytes >= name && parts.behind.bytes <= name + length);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(capture_names_freep) struct capture_names *names = NULL;
	struct np_err err = NP_ERR_INIT;
	struct capture_name facts[2];
	char *name = calloc(size + 1, 1);
	enum np_kind kind;
	int64_t stamp;
	int32_t rank;

	if (!name || capture_names_new(&names, &err) < 0)
		abort();
	if (size)
		memcpy(name, data, size);
	for (size_t i = 0; i < NP_COUNT(facts); i++) {
		memset(&facts[i], 0, sizeof(facts[i]));
		must(capture_name_read(names, name, &facts[i], &err) == NP_OK);
		check(&facts[i], strlen(name));
	}
	must(facts[0].form == facts[1].form && facts[0].rank == facts[1].rank);
	check_renamed(name);
	(void)file_name_time(name);
	(void)file_name_is_rank_db(name, &kind, &rank);
	if (file_name_is_msmonitor(name, &stamp, &rank))
		must(rank >= -1);
	free(name);
	return 0;
}
