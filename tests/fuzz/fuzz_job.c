/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a job leaves or finds: its manifest, the control file, logs of torch_npu, and what
 * msprof's window is told of communicators. The first byte chooses the reader;
 * whatever the bytes are, what is taken of them is within its limits.
 */
#include "collect/launch/backend/attach.h"
#include "collect/launch/backend/torch.h"
#include "collect/launch/session/ctl.h"
#include "collect/protocol.h"
#include "npuprof/json.h"
#include "npuprof/manifest.h"
#include "npuprof/run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/npuprof-fuzz-job-XXXXXX";

static const char *const files[] = { NP_MANIFEST_NAME, NP_CTL_PREFIX "json",
				     "log/dp_host_7_rank_3.log" };
static const char *const dirs[] = { "log", "" };

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
	must(made && mkdir(place("log"), 0700) == 0);
	(void)atexit(remove_all);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	int file = open(place(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(file >= 0 && write(file, data, size) == (ssize_t)size && close(file) == 0);
}

static void check_manifest(const struct np_manifest *manifest)
{
	for (size_t i = 0; i < manifest->ranks.count; i++) {
		must(manifest->ranks.item[i].rank >= 0);
		must(manifest->ranks.item[i].host < manifest->hosts.count);
	}
	for (size_t i = 0; i < manifest->hosts.count; i++) {
		const struct np_manifest_host *host = &manifest->hosts.item[i];

		for (size_t k = 1; k < host->knot_count; k++)
			must(host->knots[k - 1].local <= host->knots[k].local);
	}
	for (size_t i = 0; i < manifest->faults.count; i++)
		must(manifest->faults.item[i].reason && manifest->faults.item[i].dir);
	must(manifest->world >= 0);
}

static void read_manifest(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = NULL;
	NP_CLEANUP(np_run_freep) struct np_run *run = np_run_new();
	char **slot = run ? np_vec_add(&run->roots, NULL) : NULL;

	must(slot != NULL);
	*slot = strdup(root);
	put(NP_MANIFEST_NAME, data, size);
	if (np_load_manifest(run, &manifest, NULL) == NP_OK)
		check_manifest(manifest);
	np_manifest_note(run);
	(void)np_manifest_lost(run);
}

static void read_control(const uint8_t *data, size_t size)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION, .verb = NP_CTL_STATUS };
	struct np_err err = NP_ERR_INIT;
	struct np_ctl_answer answer;

	put(NP_CTL_PREFIX "json", data, size);
	if (np_ctl_ask(root, &request, &answer, 0, &err) < 0)
		must(err.text[0] != '\0');
	(void)unlink(place(NP_CTL_PREFIX "json"));
}

/* A log that grows says the same as one that is read at once. */
static void read_log(const uint8_t *data, size_t size)
{
	struct np_torch torch = { 0 };
	struct np_torch_log whole;
	struct np_torch_log parts;
	int pid = 0;

	(void)snprintf(torch.dir, sizeof(torch.dir), "%s", root);
	put("log/dp_host_7_rank_3.log", data, size / 2);
	must(np_torch_log_find(&torch, 3, &parts, &pid) && pid == 7);
	whole = parts;
	np_torch_log_read(&torch, &parts);
	put("log/dp_host_7_rank_3.log", data, size);
	np_torch_log_read(&torch, &parts);
	np_torch_log_read(&torch, &whole);
	must(whole.read == parts.read && whole.read <= (long)size);
	must(whole.started == parts.started && whole.stopped == parts.stopped &&
	     whole.refused == parts.refused);
	must(whole.started == NP_UNKNOWN || whole.started >= 0);
}

/* The text beside the data of msprof is JSON, whatever communicators are called. */
static void attach(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_message message = { 0 };
	struct np_attach_step steps[3];
	struct np_attach_comm comm;
	struct np_record record;
	struct np_err err = NP_ERR_INIT;
	struct np_attach_note note = { .job = "job",
				       .host = "host",
				       .record = &record,
				       .first = 4,
				       .last = 5,
				       .steps = steps,
				       .step_count = NP_COUNT(steps),
				       .comms = &comm };

	memcpy(&message, data, size < sizeof(message) ? size : sizeof(message));
	if (!np_message_check(&message, size < sizeof(message) ? size : sizeof(message)))
		return;
	for (size_t i = 0; i < NP_COUNT(steps); i++)
		steps[i] = (struct np_attach_step){ message.step == (int64_t)i ? 9 : 4 + (int64_t)i,
						    message.time };
	note.comm_count = np_attach_comm_take(&message, &comm);
	np_record_init(&record, message.rank >= 0 ? message.rank : 0, true);
	np_record_take(&record, &message);
	must(np_attach_note_format(&note, &text, &err) == NP_OK);
	must(np_json_parse(text.text, text.length, "note", &doc, &err) == NP_OK);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	make_dirs();
	(void)unlink(place(NP_MANIFEST_NAME));
	switch (data[0] % 4) {
	case 0:
		read_manifest(data + 1, size - 1);
		break;
	case 1:
		read_control(data + 1, size - 1);
		break;
	case 2:
		read_log(data + 1, size - 1);
		break;
	default:
		attach(data + 1, size - 1);
		break;
	}
	return 0;
}
