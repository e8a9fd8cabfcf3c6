/* SPDX-License-Identifier: Apache-2.0 */
/* Directories: making them, removing them, the names in them. */
#include "npuprof/dirs.h"

#include "npuprof/order.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories that nftw() keeps open at a time. */
#define OPEN_DIRECTORIES 16

static int make(const char *path, unsigned mode)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? errno : 0;
}

int np_make_dirs_as(const char *path, unsigned mode, struct np_err *err)
{
	char *copy = strdup(path);
	int failed = 0;

	if (!copy)
		return np_fail_nomem(err, path);
	for (char *slash = strchr(copy + 1, '/'); *copy && slash && !failed;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		failed = make(copy, mode);
		*slash = '/';
	}
	if (!failed)
		failed = make(copy, mode);
	if (!failed && !np_is_directory(path))
		failed = ENOTDIR;
	free(copy);
	if (failed)
		return np_fail(err, NP_E_IO, "cannot make the directory '%s': %s", path,
			       strerror(failed));
	return NP_OK;
}

/* Is it of another user, whom who may write there has let in with everybody else? */
static bool is_of_others(const struct stat *info, const char *above)
{
	struct stat directory;

	return info->st_uid != geteuid() && info->st_uid != 0 && stat(above, &directory) == 0 &&
	       directory.st_mode & S_IWOTH && info->st_uid != directory.st_uid;
}

/*
 * Where everybody may write, a directory or a link of another user may have been put there for us
 * to write into. One of whoever owns the directory above it is no worse than that; a directory
 * above that the user has named is the user's choice, but no link of others.
 */
static bool is_planted(const char *path)
{
	char *copy = strdup(path);
	size_t length = strlen(path);
	bool planted = false;

	for (int part = 0; copy && part < 2 && length > 0 && !planted; part++) {
		struct stat info;
		char *name;
		bool found;

		while (length > 1 && copy[length - 1] == '/')
			length--;
		copy[length] = '\0';
		found = lstat(copy, &info) == 0 && (part == 0 || S_ISLNK(info.st_mode));
		name = strrchr(copy, '/');
		length = name ? (size_t)(name - copy) + (name == copy) : 0;
		copy[length] = '\0';
		planted = found && is_of_others(&info, length ? copy : ".");
		if (length == 1 && copy[0] == '/')
			break;
	}
	free(copy);
	return planted;
}

int np_make_dirs(const char *path, struct np_err *err)
{
	int rc = is_planted(path) ? NP_E_IO : np_make_dirs_as(path, 0777, err);

	if (is_planted(path))
		rc = np_fail(
			err, NP_E_IO,
			"'%s' belongs to another user, in a directory that everybody may write: "
			"nothing is written there",
			path);
	return rc;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	(void)remove(path);
	return 0;
}

void np_remove_tree(const char *path)
{
	(void)nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}

char *np_join_path(const char *dir, const char *name)
{
	size_t length = strlen(dir);
	char *path;

	while (length > 1 && dir[length - 1] == '/')
		length--;
	if (asprintf(&path, "%.*s%s%s", (int)length, dir,
		     length > 0 && dir[length - 1] == '/' ? "" : "/", name) < 0)
		return NULL;
	return path;
}

bool np_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool np_leads_above(const char *root, const char *path)
{
	struct stat status;
	char *here;
	char *there;
	size_t length;
	bool above;

	if (lstat(path, &status) < 0 || !S_ISLNK(status.st_mode))
		return false;
	here = realpath(root, NULL);
	there = realpath(path, NULL);
	length = there ? strlen(there) : 0;
	above = here && there && strcmp(here, there) != 0 && strncmp(here, there, length) == 0 &&
		(length == 1 || here[length] == '/');
	free(here);
	free(there);
	return above;
}

int np_names_read(const char *dir, struct np_names *ret, struct np_err *err)
{
	DIR *stream = opendir(dir);
	int rc = NP_OK;

	if (!stream)
		return np_fail(err, NP_E_IO, "cannot read '%s': %s", dir, strerror(errno));
	while (rc == NP_OK) {
		const struct dirent *entry;
		char **slot;

		errno = 0;
		/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
		entry = readdir(stream);
		if (!entry && errno != 0)
			rc = np_fail(err, NP_E_IO, "cannot read '%s': %s", dir, strerror(errno));
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		slot = np_vec_add(&ret->list, err);
		if (!slot || !(*slot = strdup(entry->d_name)))
			rc = np_fail_nomem(err, dir);
	}
	(void)closedir(stream);
	/* One may be without its text where memory ran out. */
	if (rc == NP_OK && ret->list.count > 0)
		qsort(ret->list.item, ret->list.count, sizeof(ret->list.item[0]), np_by_text);
	return rc;
}

void np_names_release(struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++)
		free(names->list.item[i]);
	np_vec_release(&names->list);
}
