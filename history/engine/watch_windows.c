/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the windows that have arrived in a directory. */
#include "watch_windows.h"

#include <sys/stat.h>

#include "npuprof/dirs.h"
#include "npuprof/text.h"

static int add_window(struct watch_windows *windows, const char *dir, const char *name,
		      struct np_err *err)
{
	struct watch_window *window = np_vec_add(&windows->list, err);
	char *path = np_join_path(dir, name);
	struct stat info = { 0 };

	if (!window || !path) {
		free(path);
		return np_fail_nomem(err, "windows");
	}
	window->name = strdup(name);
	if (stat(path, &info) == 0)
		window->made = (np_ns)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
	free(path);
	return window->name ? NP_OK : np_fail_nomem(err, "windows");
}

/* The windows of a job of the collector; how many there are. */
static int add_inner(struct watch_windows *windows, const char *dir, const char *name,
		     size_t *ret_count, struct np_err *err)
{
	char *path = np_join_path(dir, name);
	struct np_names names = { 0 };
	int rc = path ? np_names_read(path, &names, err) : np_fail_nomem(err, "windows");

	*ret_count = 0;
	/* It may be gone again: whoever brings windows here cleans up too. */
	if (rc == NP_E_NOTFOUND || rc == NP_E_IO)
		rc = NP_OK;
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		char *inner = np_join_path(name, names.list.item[i]);
		char *whole = inner ? np_join_path(dir, inner) : NULL;

		if (!inner || !whole)
			rc = np_fail_nomem(err, "windows");
		else if (np_text_begins(names.list.item[i], "window-") && np_is_directory(whole)) {
			rc = add_window(windows, dir, inner, err);
			(*ret_count)++;
		}
		free(inner);
		free(whole);
	}
	np_names_release(&names);
	free(path);
	return rc;
}

static int by_time(const void *left, const void *right)
{
	const struct watch_window *a = left;
	const struct watch_window *b = right;

	if (a->made != b->made)
		return a->made < b->made ? -1 : 1;
	return strcmp(a->name, b->name);
}

int watch_windows_list(const char *dir, struct watch_windows *ret, struct np_err *err)
{
	struct watch_windows windows = { 0 };
	struct np_names names = { 0 };
	int rc = np_names_read(dir, &names, err);

	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		const char *name = names.list.item[i];
		char *path = np_join_path(dir, name);
		size_t inner = 0;

		if (path && name[0] != '.' && strcmp(name, "cluster_analysis_output") != 0 &&
		    np_is_directory(path)) {
			rc = add_inner(&windows, dir, name, &inner, err);
			if (rc == NP_OK && inner == 0)
				rc = add_window(&windows, dir, name, err);
		}
		free(path);
	}
	np_names_release(&names);
	if (windows.list.count > 0)
		qsort(windows.list.item, windows.list.count, sizeof(*windows.list.item), by_time);
	if (rc == NP_OK)
		*ret = windows;
	else
		watch_windows_release(&windows);
	return rc;
}

void watch_windows_release(struct watch_windows *windows)
{
	for (size_t i = 0; i < windows->list.count; i++)
		free(windows->list.item[i].name);
	np_vec_release(&windows->list);
}
