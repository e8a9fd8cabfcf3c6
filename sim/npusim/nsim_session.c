/* SPDX-License-Identifier: Apache-2.0 */
/* Collections: lines of a recording wait here until their time has passed. */
#include <stdarg.h>
#include <unistd.h>

#include "npuprof/buf.h"
#include "npuprof/vec.h"
#include "nsim.h"
#include "nsim_profdir.h"
#include "raw.h"

/*
 * A line waits in memory until the time it speaks of has passed: tasks are computed
 * ahead, and what has not ended when the collection stops was never seen.
 */
struct line {
	np_ns end;
	size_t slice;
	char *text;
};

struct nsim_session_group {
	char name[HCCL_COMM_NAME_MAX];
	uint32_t size;
	uint32_t rank;
	np_ns created;
	char *members;
};

static struct {
	bool open;
	pid_t owner; /* who opened it: what it forked has no part in it */
	bool recording;
	unsigned count; /* PROF directories so far */
	np_ns start;
	struct nsim_session_config config;
	struct nsim_profdir dir;
	NP_VEC(struct line) lines;
	size_t since_flush;
	bool nomem;
} session;

static NP_VEC(struct nsim_session_group) groups;

bool nsim_session_is_open(void)
{
	return session.open;
}

uint64_t nsim_mask(void)
{
	return session.config.mask;
}

int nsim_metric(void)
{
	return session.config.metric;
}

bool nsim_records(uint64_t bits)
{
	return session.recording && (session.config.mask & bits) != 0;
}

static void write_text(struct nsim_slice *slice, const char *fmt, ...) NP_PRINTF(2, 3);

static void write_text(struct nsim_slice *slice, const char *fmt, ...)
{
	char text[8192];
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (length > 0)
		nsim_slice_write(slice, text,
				 (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

aclError nsim_session_open(const char *path, const struct nsim_session_config *config)
{
	if (!nsim_profdir_create(&session.dir, path, session.count + 1, config))
		return ACL_ERROR_INVALID_FILE;
	session.count++;
	session.config = *config;
	session.owner = getpid();
	session.open = true;
	session.recording = false;
	session.nomem = false;
	return ACL_SUCCESS;
}

/* The first lines of a slice. */
static void write_heading(struct nsim_slice *slice)
{
	write_text(slice, "NPUSIM\t%d\t%s\t%d\n", NPUSIM_RAW_VERSION,
		   slice->device < 0 ? "host" : "device", slice->device);
	write_text(slice, "SESSION\t%lld\t%llu\t%d\t%lld\t%d\t%d\t%s\t%llu\t%s\n",
		   (long long)np_realtime_at(session.start),
		   (unsigned long long)session.config.mask, session.config.metric,
		   (long long)nsim_knobs()->rank, slice->device, getpid(),
		   nsim_text(nsim_host_name()), (unsigned long long)nsim_host_uid(),
		   nsim_text(nsim_knobs()->soc));
	if (slice->device >= 0 && nsim_records(ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME))
		write_text(slice, "FREQ\t%lld\t1800\t0\n",
			   (long long)np_realtime_at(session.start));
}

static void write_group(const struct nsim_session_group *group)
{
	write_text(&session.dir.slices[0], "GROUP\t%lld\t%s\t%u\t%u\t%s\n",
		   (long long)np_realtime_at(group->created), nsim_text(group->name), group->size,
		   group->rank, group->members ? group->members : NPUSIM_UNSET);
}

void nsim_session_start(void)
{
	if (!session.open || session.recording)
		return;
	session.recording = true;
	session.start = nsim_true_ns();
	for (size_t i = 0; i < session.dir.count; i++) {
		write_heading(&session.dir.slices[i]);
		nsim_record_memory(session.dir.slices[i].device, session.start);
	}
	for (size_t i = 0; i < groups.count; i++)
		write_group(&groups.item[i]);
}

/* Write the lines whose time has passed, in the order they came, and keep the others. */
static void flush_until(np_ns now)
{
	size_t kept = 0;

	for (size_t i = 0; i < session.lines.count; i++) {
		struct line *line = &session.lines.item[i];

		if (line->end > now) {
			session.lines.item[kept++] = *line;
			continue;
		}
		nsim_slice_write(&session.dir.slices[line->slice], line->text, strlen(line->text));
		free(line->text);
	}
	session.lines.count = kept;
	session.since_flush = 0;
}

static void drop_lines(void)
{
	for (size_t i = 0; i < session.lines.count; i++)
		free(session.lines.item[i].text);
	np_vec_release(&session.lines);
}

aclError nsim_session_close(void)
{
	np_ns now = nsim_true_ns();
	bool ok;

	if (!session.open)
		return ACL_SUCCESS;
	if (session.recording) {
		for (size_t i = 0; i < session.dir.count; i++)
			nsim_record_memory(session.dir.slices[i].device, now);
		flush_until(now);
		for (size_t i = 0; i < session.dir.count; i++)
			write_text(&session.dir.slices[i], "END\t%lld\n",
				   (long long)np_realtime_at(now));
	}
	drop_lines();
	session.recording = false;
	session.open = false;
	ok = nsim_profdir_close(&session.dir);
	return ok && !session.nomem ? ACL_SUCCESS : ACL_ERROR_PROFILING_FAILURE;
}

/* The index of a device's slice, or of the host's; SIZE_MAX if it is not collected. */
static size_t slice_of(int32_t device)
{
	for (size_t i = 0; i < session.dir.count; i++) {
		if (session.dir.slices[i].device == device)
			return i;
	}
	return SIZE_MAX;
}

void nsim_record(int32_t device, np_ns start, np_ns end, const char *fmt, ...)
{
	size_t slice = session.recording && start >= session.start ? slice_of(device) : SIZE_MAX;
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct line *line;
	char text[4096];
	va_list args;

	if (slice == SIZE_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	np_buf_add(&buf, text);
	np_buf_add_char(&buf, '\n');
	line = np_buf_check(&buf, NULL) == NP_OK ? np_vec_add(&session.lines, NULL) : NULL;
	if (!line) {
		session.nomem = true;
		return;
	}
	*line = (struct line){ .end = end, .slice = slice, .text = buf.text };
	buf = NP_BUF_INIT;
	if (++session.since_flush >= 512)
		flush_until(nsim_true_ns());
}

void nsim_record_memory(int32_t device, np_ns now)
{
	long long when = np_realtime_at(now);

	if (device < 0 || !session.recording || !session.config.memory)
		return;
	nsim_record(device, now, now, "MEM\t%lld\t%lld\t%lld", when, (long long)nsim_memory_used(),
		    (long long)nsim_memory_total());
	nsim_record(device, now, now, "MODMEM\t%lld\t33\t%lld", when,
		    (long long)nsim_memory_used());
}

void nsim_group_created(const char *name, uint32_t size, uint32_t rank, const char *members)
{
	struct nsim_session_group *group;

	nsim_lock();
	group = np_vec_add(&groups, NULL);
	if (group) {
		(void)snprintf(group->name, sizeof(group->name), "%s", name);
		group->size = size;
		group->rank = rank;
		group->created = nsim_true_ns();
		group->members = members ? strdup(members) : NULL;
		if (session.recording)
			write_group(group);
	}
	nsim_unlock();
}

/*
 * Leaving normally writes what there is, even without aclprofStop; being killed does not.
 * Streams may still be busy then: what has not ended is lost, as on a device.
 */
__attribute__((destructor)) static void finish(void)
{
	if (!session.open || session.owner != getpid())
		return;
	nsim_lock();
	(void)nsim_session_close();
	nsim_unlock();
}
