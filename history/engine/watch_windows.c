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

static np_ns time_in(const struct timespec *time)
{
	return (np_ns)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int add_path(struct watch_window *window, const char *dir, const char *name,
		    struct np_err *err)
{
	char **slot = np_vec_add(&window->paths, err);
	struct stat info = { 0 };
	np_ns made = 0;
	np_ns changed = 0;

	if (!slot || !(*slot = np_join_path(dir, name)))
		return np_fail_nomem(err, "windows");
	if (stat(*slot, &info) == 0) {
		made = time_in(&info.st_mtim);
		changed = time_in(&info.st_ctim) > made ? time_in(&info.st_ctim) : made;
	}
	window->made = made > window->made ? made : window->made;
	window->changed = changed > window->changed ? changed : window->changed;
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
	size_t window;  /* that it belongs to, among the new ones of the place */
	size_t known;   /* the window that is known and has it, among the ranges; SIZE_MAX: none */
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

	*ret = (struct arrival){ .name = name, .time = -1, .known = SIZE_MAX };
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

/* The newest new capture of the same process before this one; SIZE_MAX: there is none. */
static size_t find_before(const struct arrivals *arrivals, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (arrivals->list.item[i].known == SIZE_MAX &&
		    same_process(&arrivals->list.item[i], &arrivals->list.item[index]))
			return i;
	}
	return SIZE_MAX;
}

/* Which of the new captures belong together, in the order of their times. */
static void divide(struct arrivals *arrivals, const char *dir)
{
	const struct arrival *last = NULL;

	for (size_t i = 0; i < arrivals->list.count; i++) {
		struct arrival *one = &arrivals->list.item[i];
		size_t newest = last ? last->window : 0;
		size_t before = find_before(arrivals, i);
		bool goes_on =
			before != SIZE_MAX && one->lines && !arrivals->list.item[before].ended;

		if (one->known != SIZE_MAX)
			continue;
		if (goes_on)
			one->window = arrivals->list.item[before].window;
		else if (last &&
			 (one->time - last->time > APART_MS ||
			  (before != SIZE_MAX && arrivals->list.item[before].window == newest)))
			one->window = newest + 1;
		else
			one->window = newest;
		one->ended = one->lines && has_ended(dir, one->name);
		last = one;
	}
}

static bool is_of(const struct arrival *one, size_t index, bool known)
{
	return known ? one->known == index : one->known == SIZE_MAX && one->window == index;
}

/* The captures of a new window, or of a known one, whose name stays. */
static int add_together(struct window_listing *listing, const struct arrivals *arrivals,
			size_t index, const char *known, const char *place, const char *dir)
{
	struct watch_window *window = np_vec_add(&listing->windows.list, listing->err);
	int64_t first = INT64_MAX;
	int64_t last = 0;
	char name[44]; /* two numbers of any size */
	int rc = window ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < arrivals->list.count && rc == NP_OK; i++) {
		const struct arrival *one = &arrivals->list.item[i];

		if (!is_of(one, index, known != NULL))
			continue;
		first = one->number < first ? one->number : first;
		last = one->number > last ? one->number : last;
		rc = add_path(window, dir, one->name, listing->err);
	}
	if (rc < 0)
		return rc;
	(void)snprintf(name, sizeof(name), "%017" PRId64 "-%017" PRId64, first, last);
	window->name = known ? strdup(known) : below(place, name);
	return window->name ? NP_OK : np_fail_nomem(listing->err, "windows");
}

static size_t count_of(const struct arrivals *arrivals, size_t index, bool known)
{
	size_t count = 0;

	for (size_t i = 0; i < arrivals->list.count; i++)
		count += is_of(&arrivals->list.item[i], index, known);
	return count;
}

static int add_new(struct window_listing *listing, const struct arrivals *arrivals,
		   const char *place, const char *dir)
{
	size_t most = 0;
	int rc = NP_OK;

	/* Lines that go on may follow captures of a later window. */
	for (size_t i = 0; i < arrivals->list.count; i++)
		most = arrivals->list.item[i].window > most ? arrivals->list.item[i].window : most;
	for (size_t window = 0; window <= most && rc == NP_OK; window++) {
		if (count_of(arrivals, window, false) > 0)
			rc = add_together(listing, arrivals, window, NULL, place, dir);
	}
	return rc;
}

/* --- what is known --------------------------------------------------------------------------- */

struct time_range {
	const char *name; /* of the window */
	int64_t first;
	int64_t last;
	int64_t most; /* the largest `last` up to here */
};

struct time_ranges {
	NP_VEC(struct time_range) list; /* by `first` */
};

/* Of so many of the newest that are known what arrives late is looked for. */
#define LATE_WINDOWS 8

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
		slot->name = asked->known[i];
	}
	if (ret->list.count > 0)
		qsort(ret->list.item, ret->list.count, sizeof(*ret->list.item), by_first);
	for (size_t i = 0; i < ret->list.count; i++) {
		last = ret->list.item[i].last > last ? ret->list.item[i].last : last;
		ret->list.item[i].most = last;
	}
	return NP_OK;
}

/* The window that is known and has this time; SIZE_MAX: none. */
static size_t find_range(const struct time_ranges *ranges, int64_t number)
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
	while (low > 0 && number <= ranges->list.item[low - 1].most) {
		if (number <= ranges->list.item[low - 1].last)
			return low - 1;
		low--;
	}
	return SIZE_MAX;
}

/* Do the captures of a new window belong to a known one: about the same time, other processes? */
static bool belongs(const struct arrivals *arrivals, size_t window, size_t known)
{
	bool near = false;

	for (size_t i = 0; i < arrivals->list.count; i++) {
		const struct arrival *one = &arrivals->list.item[i];

		if (one->known != SIZE_MAX || one->window != window)
			continue;
		for (size_t j = 0; j < arrivals->list.count; j++) {
			const struct arrival *other = &arrivals->list.item[j];

			if (other->known != known)
				continue;
			if (one->lines || same_process(one, other))
				return false;
			near |= one->time - other->time <= APART_MS &&
				other->time - one->time <= APART_MS;
		}
	}
	return near;
}

/* A rank that is late makes no window of its own. */
static void join_late(struct arrivals *arrivals, size_t first, size_t end)
{
	for (size_t known = first; known < end; known++) {
		for (size_t i = 0; i < arrivals->list.count; i++) {
			size_t window = arrivals->list.item[i].window;

			if (arrivals->list.item[i].known != SIZE_MAX ||
			    !belongs(arrivals, window, known))
				continue;
			for (size_t j = 0; j < arrivals->list.count; j++) {
				struct arrival *one = &arrivals->list.item[j];

				if (one->known == SIZE_MAX && one->window == window)
					one->known = known;
			}
		}
	}
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

/* Captures of windows that are known, of the newest only, and those that are new. */
static int gather(struct window_listing *listing, const struct np_names *names,
		  const struct time_ranges *known, size_t newest, struct arrivals *ret)
{
	for (size_t i = 0; i < names->list.count; i++) {
		struct arrival one;
		struct arrival *slot;

		if (!is_arrival(names->list.item[i], &one))
			continue;
		one.known = find_range(known, one.number);
		if (one.known != SIZE_MAX && one.known < newest)
			continue;
		slot = np_vec_add(&ret->list, listing->err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = one;
	}
	if (ret->list.count > 0)
		qsort(ret->list.item, ret->list.count, sizeof(*ret->list.item), by_number);
	return NP_OK;
}

static int take_arrivals(struct window_listing *listing, const struct np_names *names,
			 const char *place, const char *dir)
{
	struct time_ranges known = { 0 };
	struct arrivals arrivals = { 0 };
	int rc = read_ranges(listing->asked, place, &known, listing->err);
	size_t newest = known.list.count > LATE_WINDOWS ? known.list.count - LATE_WINDOWS : 0;

	if (rc == NP_OK)
		rc = gather(listing, names, &known, newest, &arrivals);
	if (rc == NP_OK) {
		divide(&arrivals, dir);
		join_late(&arrivals, newest, known.list.count);
	}
	for (size_t i = newest; i < known.list.count && rc == NP_OK; i++) {
		if (count_of(&arrivals, i, true) > 0)
			rc = add_together(listing, &arrivals, i, known.list.item[i].name, place,
					  dir);
	}
	if (rc == NP_OK)
		rc = add_new(listing, &arrivals, place, dir);
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
