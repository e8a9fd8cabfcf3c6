/* SPDX-License-Identifier: Apache-2.0 */
/* What a profiler left in a directory: how much, and whether it is complete. */
#include "tree.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t np_tree_bytes(const char *path)
{
	struct stat info;
	const struct dirent *entry;
	int64_t total = 0;
	DIR *stream;

	if (lstat(path, &info) < 0)
		return 0;
	if (!S_ISDIR(info.st_mode))
		return info.st_size;
	stream = opendir(path);
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		char below[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
		    (int)sizeof(below))
			total += np_tree_bytes(below);
	}
	if (stream)
		(void)closedir(stream);
	return total;
}

bool np_tree_has(const char *path, const char *prefix)
{
	const struct dirent *entry;
	DIR *stream = opendir(path);
	bool found = false;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && !found && (entry = readdir(stream)))
		found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (stream)
		(void)closedir(stream);
	return found;
}

bool np_tree_is_complete(const char *path)
{
	const struct dirent *entry;
	DIR *stream = opendir(path);
	bool complete = false;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && !complete && (entry = readdir(stream))) {
		char below[PATH_MAX];

		if (strncmp(entry->d_name, "PROF_", 5) != 0)
			continue;
		(void)snprintf(below, sizeof(below), "%.*s/%s/host/end_info", PATH_MAX - 400, path,
			       entry->d_name);
		complete = access(below, F_OK) == 0;
	}
	if (stream)
		(void)closedir(stream);
	return complete;
}
