/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording of the simulator as a whole (npusim/raw.h). */
#include "recording.h"

#include "records.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "npuprof/buf.h"
#include "sim/npusim/raw.h"

static int take_header(struct msp_line *line, char *text)
{
	int version = 0;

	if (sscanf(text, "NPUSIM\t%d\t", &version) != 1)
		return np_fail(line->err, NP_E_FORMAT,
			       "'%s' is not raw data of the simulator, which is all that this "
			       "stand-in for msprof reads",
			       line->path);
	if (version != NPUSIM_RAW_VERSION)
		return np_fail(line->err, NP_E_FORMAT, "'%s' is of version %d; this is for %d",
			       line->path, version, NPUSIM_RAW_VERSION);
	return NP_OK;
}

static int take_slice(struct msp_recording *recording, const char *path, char *text,
		      struct np_err *err)
{
	struct msp_line line = { .recording = recording, .path = path, .err = err };
	char *rest = text;
	char *end;
	int rc = NP_OK;

	recording->complete = false;
	/* What does not end with a line end was cut in the middle. */
	while (rc == NP_OK && (end = strchr(rest, '\n'))) {
		*end = '\0';
		line.number++;
		rc = line.number == 1 ? take_header(&line, rest) : msp_take_line(&line, rest);
		rest = end + 1;
	}
	if (rc == NP_OK && line.number < 2)
		rc = np_fail(err, NP_E_FORMAT, "'%s' holds no records", path);
	return rc;
}

static int read_text(FILE *file, struct np_buf *text)
{
	char block[65536];
	size_t got;

	while ((got = fread(block, 1, sizeof(block), file)) > 0)
		np_buf_add_bytes(text, block, got);
	return ferror(file) ? -1 : 0;
}

static int read_slice(struct msp_recording *recording, const char *path, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	FILE *file = fopen(path, "re");
	char **slot = NULL;
	int rc = NP_OK;

	if (!file)
		return np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
			       "cannot read '%s': %s", path, strerror(errno));
	if (read_text(file, &text) < 0)
		rc = np_fail(err, NP_E_IO, "cannot read '%s': %s", path, strerror(errno));
	(void)fclose(file);
	if (rc == NP_OK)
		rc = np_buf_check(&text, err);
	if (rc == NP_OK && text.length == 0)
		rc = np_fail(err, NP_E_FORMAT, "'%s' is empty", path);
	if (rc == NP_OK && !(slot = np_vec_add(&recording->texts, err)))
		rc = NP_E_NOMEM;
	if (rc < 0) {
		np_buf_release(&text);
		return rc;
	}
	*slot = text.text;
	return take_slice(recording, path, text.text, err);
}

/* The one device of the collection, or -1. */
static int find_device(const char *prof, int *ret, struct np_err *err)
{
	DIR *dir = opendir(prof);
	const struct dirent *entry;
	int count = 0;

	*ret = -1;
	if (!dir)
		return np_fail(err, errno == ENOENT ? NP_E_NOTFOUND : NP_E_IO,
			       "cannot read '%s': %s", prof, strerror(errno));
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(dir))) {
		int device;

		if (sscanf(entry->d_name, "device_%d", &device) != 1)
			continue;
		*ret = device;
		count++;
	}
	(void)closedir(dir);
	if (count > 1)
		return np_fail(err, NP_E_FORMAT,
			       "'%s' holds %d devices; this stand-in for msprof knows one", prof,
			       count);
	return NP_OK;
}

int msp_recording_read(const char *prof, struct msp_recording *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	bool complete = true;
	int device;
	int rc = find_device(prof, &device, err);

	*ret = (struct msp_recording){ .rank = -1, .device = -1 };
	np_buf_printf(&path, "%s/host/data/" NPUSIM_HOST_SLICE, prof);
	if (rc == NP_OK)
		rc = read_slice(ret, path.text, err);
	complete = ret->complete;
	if (rc == NP_OK && device >= 0) {
		np_buf_clear(&path);
		np_buf_printf(&path, "%s/device_%d/data/", prof, device);
		np_buf_printf(&path, NPUSIM_DEVICE_SLICE, device);
		rc = read_slice(ret, path.text, err);
		complete = complete && ret->complete;
	}
	if (rc == NP_OK)
		rc = np_buf_check(&path, err);
	ret->complete = complete;
	return rc;
}

void msp_recording_release(struct msp_recording *recording)
{
	np_vec_release(&recording->apis);
	np_vec_release(&recording->marks);
	np_vec_release(&recording->groups);
	np_vec_release(&recording->tasks);
	np_vec_release(&recording->kernels);
	np_vec_release(&recording->counters);
	np_vec_release(&recording->ops);
	np_vec_release(&recording->sub_tasks);
	np_vec_release(&recording->copies);
	np_vec_release(&recording->frequencies);
	np_vec_release(&recording->samples);
	for (size_t i = 0; i < recording->texts.count; i++)
		free(recording->texts.item[i]);
	np_vec_release(&recording->texts);
}
