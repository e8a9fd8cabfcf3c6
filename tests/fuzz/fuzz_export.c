/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as the exporter finds it: npuprof_rank.json, or the manifest, is of arbitrary bytes. The
 * first byte chooses. Steps that are taken have an extent and are in order.
 */
#include "collect/export/export.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/npuprof-fuzz-job-XXXXXX";

static const char *const files[] = { "x_ascend_pt/npuprof_rank.json", "npuprof_manifest.json" };
static const char *const dirs[] = { "x_ascend_pt/PROF_1", "x_ascend_pt", "" };

static void must(bool condition)
{
	if (!condition)
		abort();
}

static const char *place(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void remove_all(void)
{
	for (size_t i = 0; i < NP_COUNT(files); i++)
		(void)unlink(place(files[i]));
	for (size_t i = 0; i < NP_COUNT(dirs); i++)
		(void)rmdir(place(dirs[i]));
}

static void make_dirs(void)
{
	static bool made;

	if (made)
		return;
	made = mkdtemp(root) != NULL;
	must(made && mkdir(place("x_ascend_pt"), 0700) == 0 &&
	     mkdir(place("x_ascend_pt/PROF_1"), 0700) == 0);
	(void)atexit(remove_all);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	int file = open(place(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(file >= 0 && write(file, data, size) == (ssize_t)size && close(file) == 0);
}

/* As the exporter finds a job: the manifest, or the record of a rank, is of the bytes. */
static void find_ranks(const char *name, const uint8_t *data, size_t size)
{
	struct np_export_tree tree = { 0 };

	put(name, data, size);
	if (np_export_find(&tree, root, NULL) == NP_OK) {
		must(tree.ranks.count == 1 && tree.chosen == 1);
		must(tree.ranks.item[0].rank >= -1);
		for (size_t i = 0; i < tree.ranks.item[0].steps.count; i++) {
			const struct np_export_step *step = &tree.ranks.item[0].steps.item[i];

			must(step->begin > 0 && step->begin < step->end);
			must(i == 0 || step[-1].begin <= step->begin);
		}
	}
	np_export_tree_release(&tree);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	make_dirs();
	(void)unlink(place(files[0]));
	(void)unlink(place(files[1]));
	find_ranks(files[data[0] % 2], data + 1, size - 1);
	return 0;
}
