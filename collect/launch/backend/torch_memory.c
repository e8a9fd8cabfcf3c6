/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/text.h"
#include "torch.h"

#define MEMORY_NAME "DynamicProfileNpuShm"

static bool maps_memory(const char *pid)
{
	char path[64];
	char line[512];
	bool found = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/" MEMORY_NAME) != NULL;
	if (file)
		(void)fclose(file);
	return found;
}

int np_torch_memory_user(void)
{
	const struct dirent *entry;
	DIR *stream = opendir("/proc");
	int64_t user = 0;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && user == 0 && (entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (!np_text_to_int(name, strlen(name), &user) || !maps_memory(name))
			user = 0;
	}
	if (stream)
		(void)closedir(stream);
	return (int)user;
}

void np_torch_memory_clean(time_t started)
{
	const struct dirent *entry;
	DIR *stream = opendir("/dev/shm");

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		char path[NAME_MAX + 16];
		struct stat info;

		(void)snprintf(path, sizeof(path), "/dev/shm/%s", entry->d_name);
		if (strncmp(entry->d_name, MEMORY_NAME, sizeof(MEMORY_NAME) - 1) == 0 &&
		    lstat(path, &info) == 0 && info.st_uid == getuid() &&
		    info.st_ctime >= started && np_torch_memory_user() == 0)
			(void)unlink(path);
	}
	if (stream)
		(void)closedir(stream);
}
