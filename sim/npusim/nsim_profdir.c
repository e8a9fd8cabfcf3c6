/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the PROF directory of a collection and writes its small files (nsim_profdir.h). */
#include "nsim_profdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "npuprof/hash.h"
#include "npuprof/text.h"
#include "raw.h"

static int64_t written; /* by this process, for NPUSIM_ENOSPC_AFTER */

const char *nsim_host_name(void)
{
	static char real[256];

	if (np_realtime_host())
		return np_realtime_host();
	if (!real[0] && gethostname(real, sizeof(real) - 1) != 0)
		(void)snprintf(real, sizeof(real), "localhost");
	return real;
}

/* FNV-1a of the name: the same on every rank of a host, another on another one. */
uint64_t nsim_host_uid(void)
{
	const char *name = nsim_host_name();

	return np_hash(NP_HASH_START, name, strlen(name)) >> 1;
}

static bool write_all(int fd, const char *text, size_t length)
{
	int64_t limit = nsim_knobs()->enospc_after;

	if (limit >= 0 && written + (int64_t)length > limit) {
		errno = ENOSPC;
		return false;
	}
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		length -= (size_t)n;
		written += n;
	}
	return true;
}

void nsim_slice_write(struct nsim_slice *slice, const char *text, size_t length)
{
	if (slice->lost || !write_all(slice->fd, text, length)) {
		slice->lost = true;
		return;
	}
	slice->bytes += (int64_t)length;
}

/* Create directory `path` and those above it. */
static bool make_dirs(const char *path)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	for (char *slash = copy + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		if (mkdir(copy, 0750) != 0 && errno != EEXIST)
			return false;
		*slash = '/';
	}
	return mkdir(copy, 0750) == 0 || errno == EEXIST;
}

static bool write_file(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	bool ok = fd >= 0 && write_all(fd, text, length);

	if (fd >= 0 && close(fd) != 0)
		ok = false;
	return ok;
}

/* "<PROF>/host" or "<PROF>/device_3" */
static void part_path(const struct nsim_profdir *dir, int32_t device, char *path, size_t size)
{
	if (device < 0)
		(void)snprintf(path, size, "%s/host", dir->path);
	else
		(void)snprintf(path, size, "%s/device_%d", dir->path, device);
}

/* Write a small file such as info.json or, for device 3, info.json.3. */
static bool put(const struct nsim_profdir *dir, int32_t device, const char *name, bool numbered,
		const struct np_buf *buf)
{
	char part[4200];
	char path[4400];

	if (np_buf_check(buf, NULL) < 0)
		return false;
	part_path(dir, device, part, sizeof(part));
	if (device < 0 || !numbered)
		(void)snprintf(path, sizeof(path), "%s/%s", part, name);
	else
		(void)snprintf(path, sizeof(path), "%s/%s.%d", part, name, device);
	return write_file(path, buf->text, buf->length);
}

static bool put_info(const struct nsim_profdir *dir, int32_t device)
{
	const char *rank_text = getenv("RANK_ID");
	int64_t rank = -1;
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct utsname os;

	if (!rank_text || !np_text_to_int(rank_text, strlen(rank_text), &rank) || rank < 0)
		rank = -1;
	(void)uname(&os);
	np_buf_printf(
		&buf,
		"{\"version\":\"1.0\",\"jobInfo\":\"NA\",\"OS\":\"%s-%s\",\"hostname\":\"%s\","
		"\"hostUid\":\"%llu\",\"hwtype\":\"%s\",\"devices\":\"%d\",\"platform\":\"%s\","
		"\"platform_version\":\"5\",\"pid\":\"%d\",\"pid_name\":\"%s\",\"rank_id\":%lld,"
		"\"cannVersion\":\"8.3.RC1\",\"drvVersion\":\"npusim\",\"simulated\":true,\"DeviceInfo\":[",
		os.sysname, os.release, nsim_host_name(), (unsigned long long)nsim_host_uid(),
		os.machine, device < 0 ? 64 : device, nsim_knobs()->soc, getpid(),
		program_invocation_short_name, (long long)rank);
	if (device >= 0)
		np_buf_printf(&buf, "{\"id\":%d,\"aic_frequency\":\"1800\"}", device);
	np_buf_add(&buf, "]}\n");
	return put(dir, device, "info.json", true, &buf);
}

static np_ns monotonic_raw(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* start_info and end_info: the same keys, filled at one end. */
static bool put_times(const struct nsim_profdir *dir, int32_t device, bool begin)
{
	np_ns now = np_realtime_ns();
	time_t seconds = now / 1000000000;
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct tm tm;
	char date[64];
	char micros[32];

	(void)localtime_r(&seconds, &tm);
	(void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	(void)snprintf(micros, sizeof(micros), "%lld", (long long)(now / 1000));
	np_buf_printf(&buf,
		      "{\"collectionDateBegin\":\"%s\",\"collectionDateEnd\":\"%s\","
		      "\"collectionTimeBegin\":\"%s\",\"collectionTimeEnd\":\"%s\","
		      "\"clockMonotonicRaw\":\"%lld\"}\n",
		      begin ? date : "", begin ? "" : date, begin ? micros : "",
		      begin ? "" : micros, (long long)monotonic_raw());
	return put(dir, device, begin ? "start_info" : "end_info", true, &buf);
}

static bool put_start_logs(const struct nsim_profdir *dir, int32_t device)
{
	NP_CLEANUP(np_buf_release) struct np_buf host = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf dev = NP_BUF_INIT;
	long long raw = monotonic_raw();

	if (device < 0)
		np_buf_add(&host, "[Host]\n");
	else
		np_buf_printf(&host, "[Device%d]\n", device);
	np_buf_printf(&host, "clock_monotonic_raw: %lld\ncntvct: %lld\ncntvct_diff: 0\n", raw,
		      raw / 10);
	np_buf_printf(&dev, "clock_monotonic_raw: %lld\ncntvct: %lld\n", raw, raw / 10);
	return put(dir, device, "host_start.log", true, &host) &&
	       (device < 0 || put(dir, device, "dev_start.log", true, &dev));
}

static bool put_sample(const struct nsim_profdir *dir, int32_t device,
		       const struct nsim_session_config *config)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	np_buf_printf(&buf, "{\"npusim_mask\":\"%llu\",\"aic_metrics\":%d,\"simulated\":true}\n",
		      (unsigned long long)config->mask, config->metric);
	return put(dir, device, "sample.json", false, &buf);
}

static void slice_path(const struct nsim_profdir *dir, int32_t device, char *path, size_t size)
{
	char part[4200];

	part_path(dir, device, part, sizeof(part));
	if (device < 0)
		(void)snprintf(path, size, "%s/data/" NPUSIM_HOST_SLICE, part);
	else
		(void)snprintf(path, size, "%s/data/" NPUSIM_DEVICE_SLICE, part, device);
}

static bool open_slice(struct nsim_profdir *dir, int32_t device)
{
	struct nsim_slice *slice = &dir->slices[dir->count];
	char path[4400];

	slice_path(dir, device, path, sizeof(path));
	*slice = (struct nsim_slice){ .device = device };
	slice->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (slice->fd < 0)
		return false;
	dir->count++;
	return true;
}

static bool create_part(struct nsim_profdir *dir, int32_t device,
			const struct nsim_session_config *config)
{
	char path[4300];

	part_path(dir, device, path, sizeof(path) - 8);
	(void)snprintf(path + strlen(path), 8, "/data");
	return make_dirs(path) && put_info(dir, device) && put_times(dir, device, true) &&
	       put_start_logs(dir, device) && put_sample(dir, device, config) &&
	       open_slice(dir, device);
}

/* PROF_000001_20250109120000123_00001234ABCDEFGH */
static void name_directory(struct nsim_profdir *dir, const char *root, unsigned index)
{
	np_ns now = np_realtime_ns();
	time_t seconds = now / 1000000000;
	uint64_t bits = (uint64_t)nsim_true_ns() * 0x9e3779b97f4a7c15;
	char letters[9] = "";
	char when[32];
	struct tm tm;

	(void)localtime_r(&seconds, &tm);
	(void)strftime(when, sizeof(when), "%Y%m%d%H%M%S", &tm);
	for (int i = 0; i < 8; i++) {
		letters[i] = (char)('A' + (bits >> 32) % 18);
		bits = bits * 6364136223846793005 + 1442695040888963407;
	}
	(void)snprintf(dir->path, sizeof(dir->path), "%s/PROF_%06u_%s%03d_%08d%s", root, index,
		       when, (int)(now / 1000000 % 1000), getpid(), letters);
}

bool nsim_profdir_create(struct nsim_profdir *dir, const char *root, unsigned index,
			 const struct nsim_session_config *config)
{
	bool ok;

	dir->count = 0;
	dir->created = nsim_true_ns();
	name_directory(dir, root, index);
	ok = make_dirs(dir->path) && create_part(dir, -1, config);
	for (uint32_t i = 0; ok && i < config->device_count; i++)
		ok = create_part(dir, (int32_t)config->devices[i], config);
	if (ok)
		return true;
	for (size_t i = 0; i < dir->count; i++)
		(void)close(dir->slices[i].fd);
	dir->count = 0;
	return false;
}

static bool put_done(const struct nsim_profdir *dir, const struct nsim_slice *slice)
{
	char path[4500];
	char text[64];
	int length = snprintf(text, sizeof(text), "filesize:%lld\n", (long long)slice->bytes);

	slice_path(dir, slice->device, path, sizeof(path) - 8);
	(void)snprintf(path + strlen(path), 8, ".done");
	return write_file(path, text, (size_t)length);
}

bool nsim_profdir_close(struct nsim_profdir *dir)
{
	bool ok = true;

	for (size_t i = 0; i < dir->count; i++) {
		struct nsim_slice *slice = &dir->slices[i];

		if (close(slice->fd) != 0)
			slice->lost = true;
		if (slice->lost || !put_done(dir, slice) || !put_times(dir, slice->device, false))
			ok = false;
	}
	dir->count = 0;
	return ok;
}
