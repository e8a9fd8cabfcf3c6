/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the windows that have arrived in a directory. */
#include "watch_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/model/vendor/file_names.h"
#include "core/model/vendor/monitor_end.h"

#include "npuprof/dirs.h"
#include "npuprof/text.h"

/* Captures of one window begin at most so much after each other. */
#define APART_MS 60000

#define DIGITS 17 /* of the time in a name, to the millisecond */

struct window_listing {
	const struct watch_listing *asked;
	struct watch_windows windows;
	struct np_err *err;
};

/* "place/name", or the name alone in the directory itself. */
static char *below(const char *place, const char *name)
{
	return *place ? np_join_path(place, name) : strdup(name);
}

static np_ns time_of_change(const char *path)
{
	struct stat info = { 0 };

	return stat(path, &info) == 0
		       ? (np_ns)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec
		       : 0;
}

static int add_path(struct watch_window *window, const char *dir, const char *name,
		    struct np_err *err)
{
	char **slot = np_vec_add(&window->paths, err);
	np_ns made;

	if (!slot || !(*slot = np_join_path(dir, name)))
		return np_fail_nomem(err, "windows");
	made = time_of_change(*slot);
	window->made = made > window->made ? made : window->made;
	return NP_OK;
}

/* A directory that is a window. */
static int add_window(struct window_listing *listing, const char *place, const char *name)
{
	struct watch_window *window = np_vec_add(&listing->windows.list, listing->err);

	if (!window || !(window->name = below(place, name)))
		return np_fail_nomem(listing->err, "windows");
	return add_path(window, listing->asked->dir, window->name, listing->err);
}

/* --- captures that lie side by side ---------------------------------------------------------- */

struct arrival {
	const char *name;
	size_t digits;  /* where its time stands in the name */
	int64_t number; /* these digits */
	int64_t time;   /* what they mean, ms */
	bool lines;     /* of msMonitor: a process writes one after the other */
	size_t window;  /* that it belongs to, among those of the place */
	bool ended;     /* of lines: nothing follows */
};

struct arrivals {
	NP_VEC(struct arrival) list;
};

/* The last 17 digits of a name that stand between two '_'. */
static bool find_digits(struct arrival *ret)
{
	const char *at = strrchr(ret->name, '_');

	for (; at && at > ret->name; at--) {
		size_t count = 0;

		if (*at != '_')
			continue;
		while (at - count > ret->name && at[-1 - (ptrdiff_t)count] >= '0' &&
		       at[-1 - (ptrdiff_t)count] <= '9')
			count++;
		if (count == DIGITS && at - DIGITS > ret->name && at[-1 - DIGITS] == '_') {
			ret->digits = (size_t)(at - DIGITS - ret->name);
			return np_text_to_int(at - DIGITS, DIGITS, &ret->number);
		}
	}
	return false;
}

static bool is_arrival(const char *name, struct arrival *ret)
{
	int64_t process;
	int32_t rank;

	*ret = (struct arrival){ .name = name, .time = -1 };
	if (file_name_is_monitor_lines(name, &process, &ret->time, &rank))
		ret->lines = true;
	else if (!file_name_is_msmonitor(name, &ret->time, &rank) && strstr(name, "_ascend_"))
		ret->time = file_name_time(name);
	return ret->time >= 0 && find_digits(ret);
}

/* The names of captures of one process differ in nothing but the time. */
static bool same_process(const struct arrival *a, const struct arrival *b)
{
	return a->digits == b->digits && strncmp(a->name, b->name, a->digits) == 0 &&
	       strcmp(a->name + a->digits + DIGITS, b->name + b->digits + DIGITS) == 0;
}

static int by_number(const void *left, const void *right)
{
	const struct arrival *a = left;
	const struct arrival *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool has_ended(const char *dir, const char *name)
{
	char *path = np_join_path(dir, name);
	bool ended = path && monitor_end_rank(path) >= 0;

	free(path);
	return ended;
}

/* The newest capture of the same process before this one; SIZE_MAX: there is none. */
static size_t find_before(const struct arrivals *arrivals, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (same_process(&arrivals->list.item[i], &arrivals->list.item[index]))
			return i;
	}
	return SIZE_MAX;
}

/* Which captures belong together, in the order of their times. */
static void divide(struct arrivals *arrivals, const char *dir)
{
	for (size_t i = 0; i < arrivals->list.count; i++) {
		struct arrival *one = &arrivals->list.item[i];
		size_t newest = i > 0 ? arrivals->list.item[i - 1].window : 0;
		size_t before = find_before(arrivals, i);
		bool goes_on =
			before != SIZE_MAX && one->lines && !arrivals->list.item[before].ended;

		if (goes_on)
			one->window = arrivals->list.item[before].window;
		else if (i > 0 &&
			 (one->time - arrivals->list.item[i - 1].time > APART_MS ||
			  (before != SIZE_MAX && arrivals->list.item[before].window == newest)))
			one->window = newest + 1;
		else
			one->window = newest;
		one->ended = one->lines && has_ended(dir, one->name);
	}
}

static int add_together(struct window_listing *listing, const struct arrivals *arrivals,
			size_t index, const char *place, const char *dir)
{
	struct watch_window *window = np_vec_add(&listing->windows.list, listing->err);
	int64_t first = INT64_MAX;
	int64_t last = 0;
	char name[2 * DIGITS + 2];
	int rc = window ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < arrivals->list.count && rc == NP_OK; i++) {
		const struct arrival *one = &arrivals->list.item[i];

		if (one->window != index)
			continue;
		first = one->number < first ? one->number : first;
		last = one->number > last ? one->number : last;
		rc = add_path(window, dir, one->name, listing->err);
	}
	if (rc < 0)
		return rc;
	(void)snprintf(name, sizeof(name), "%017" PRId64 "-%017" PRId64, first, last);
	window->name = below(place, name);
	return window->name ? NP_OK : np_fail_nomem(listing->err, "windows");
}

static int add_arrivals(struct window_listing *listing, struct arrivals *arrivals,
			const char *place, const char *dir)
{
	size_t count = arrivals->list.count;
	int rc = NP_OK;

	if (count == 0)
		return NP_OK;
	qsort(arrivals->list.item, count, sizeof(*arrivals->list.item), by_number);
	divide(arrivals, dir);
	/* Lines that go on may follow captures of a later window. */
	for (size_t window = 0, most = 0; window <= most && rc == NP_OK; window++) {
		for (size_t i = 0; i < count; i++)
			most = arrivals->list.item[i].window > most ? arrivals->list.item[i].window
								    : most;
		rc = add_together(listing, arrivals, window, place, dir);
	}
	return rc;
}

/* --- what is known --------------------------------------------------------------------------- */

struct time_range {
	int64_t first;
	int64_t last;
};

struct time_ranges {
	NP_VEC(struct time_range) list; /* by `first`; `last` is the largest up to here */
};

/* The times in the name of a window of captures of this place. */
static bool read_range(const char *name, const char *place, struct time_range *ret)
{
	size_t length = strlen(place);

	if (length > 0 && (strncmp(name, place, length) != 0 || name[length] != '/'))
		return false;
	name += length > 0 ? length + 1 : 0;
	return strlen(name) == 2 * DIGITS + 1 && name[DIGITS] == '-' &&
	       np_text_to_int(name, DIGITS, &ret->first) &&
	       np_text_to_int(name + DIGITS + 1, DIGITS, &ret->last);
}

static int by_first(const void *left, const void *right)
{
	const struct time_range *a = left;
	const struct time_range *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

static int read_ranges(const struct watch_listing *asked, const char *place,
		       struct time_ranges *ret, struct np_err *err)
{
	int64_t last = 0;

	for (size_t i = 0; i < asked->known_count; i++) {
		struct time_range one;
		struct time_range *slot;

		if (!read_range(asked->known[i], place, &one))
			continue;
		slot = np_vec_add(&ret->list, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = one;
	}
	if (ret->list.count > 0)
		qsort(ret->list.item, ret->list.count, sizeof(*ret->list.item), by_first);
	for (size_t i = 0; i < ret->list.count; i++) {
		last = ret->list.item[i].last > last ? ret->list.item[i].last : last;
		ret->list.item[i].last = last;
	}
	return NP_OK;
}

static bool is_within(const struct time_ranges *ranges, int64_t number)
{
	size_t low = 0;
	size_t high = ranges->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list.item[middle].first <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && number <= ranges->list.item[low - 1].last;
}

/* --- places ---------------------------------------------------------------------------------- */

/* Is this the name of a directory that may be a window? */
static bool may_be_window(const char *dir, const char *name)
{
	char *path = np_join_path(dir, name);
	bool may = path && name[0] != '.' && strcmp(name, "cluster_analysis_output") != 0 &&
		   np_is_directory(path);

	free(path);
	return may;
}

static bool is_numbered(const char *dir, const char *name)
{
	return np_text_begins(name, "window-") && may_be_window(dir, name);
}

static int take_arrivals(struct window_listing *listing, const struct np_names *names,
			 const char *place, const char *dir)
{
	struct time_ranges known = { 0 };
	struct arrivals arrivals = { 0 };
	int rc = read_ranges(listing->asked, place, &known, listing->err);

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		struct arrival one;
		struct arrival *slot;

		if (!is_arrival(names->list.item[i], &one) || is_within(&known, one.number))
			continue;
		slot = np_vec_add(&arrivals.list, listing->err);
		rc = slot ? NP_OK : NP_E_NOMEM;
		if (slot)
			*slot = one;
	}
	if (rc == NP_OK)
		rc = add_arrivals(listing, &arrivals, place, dir);
	np_vec_release(&arrivals.list);
	np_vec_release(&known.list);
	return rc;
}

/* The windows of a job of the collector; whether there are any. */
static int add_inner(struct window_listing *listing, const char *place, bool *ret_any)
{
	char *dir = np_join_path(listing->asked->dir, place);
	struct np_names names = { 0 };
	int rc = dir ? np_names_read(dir, &names, listing->err)
		     : np_fail_nomem(listing->err, "windows");

	*ret_any = false;
	/* It may be gone again: whoever brings windows here cleans up too. */
	if (rc == NP_E_NOTFOUND || rc == NP_E_IO)
		rc = NP_OK;
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		if (is_numbered(dir, names.list.item[i])) {
			rc = add_window(listing, place, names.list.item[i]);
			*ret_any = true;
		}
	}
	if (rc == NP_OK && *ret_any)
		rc = take_arrivals(listing, &names, place, dir);
	np_names_release(&names);
	free(dir);
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

static int list_places(struct window_listing *listing, const struct np_names *names)
{
	const char *dir = listing->asked->dir;
	int rc = take_arrivals(listing, names, "", dir);

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		struct arrival one;
		bool any = false;

		if (is_arrival(name, &one) || !may_be_window(dir, name))
			continue;
		if (!is_numbered(dir, name))
			rc = add_inner(listing, name, &any);
		if (rc == NP_OK && !any)
			rc = add_window(listing, "", name);
	}
	return rc;
}

int watch_windows_list(const struct watch_listing *asked, struct watch_windows *ret,
		       struct np_err *err)
{
	struct window_listing listing = { .asked = asked, .err = err };
	struct np_names names = { 0 };
	int rc = np_names_read(asked->dir, &names, err);

	if (rc == NP_OK)
		rc = list_places(&listing, &names);
	np_names_release(&names);
	if (rc < 0) {
		watch_windows_release(&listing.windows);
		return rc;
	}
	if (listing.windows.list.count > 0)
		qsort(listing.windows.list.item, listing.windows.list.count,
		      sizeof(*listing.windows.list.item), by_time);
	*ret = listing.windows;
	return NP_OK;
}

void watch_windows_release(struct watch_windows *windows)
{
	for (size_t i = 0; i < windows->list.count; i++) {
		struct watch_window *window = &windows->list.item[i];

		for (size_t j = 0; j < window->paths.count; j++)
			free(window->paths.item[j]);
		np_vec_release(&window->paths);
		free(window->name);
	}
	np_vec_release(&windows->list);
}
