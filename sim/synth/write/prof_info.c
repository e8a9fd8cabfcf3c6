/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"
#include "sim/synth/out/out.h"

/*
 * device_<n>/info.json.<n> and host/info.json of a PROF directory, from which
 * readers learn the rank, the host and the device.
 */
static void put_info(const struct syn_rank_info *info, struct syn_out *out)
{
	int64_t rank = info->config->no_rank_id ? -1 : info->place.rank;

	SYN_PUT(out,
		"{\"version\":\"1.0\",\"jobInfo\":\"NA\",\"OS\":\"Linux-5.10.0\",\"hostname\":\"");
	syn_put(out, info->host);
	SYN_PUT(out, "\",\"hostUid\":\"");
	syn_put(out, info->host_uid);
	SYN_PUT(out, "\",\"hwtype\":\"aarch64\",\"devices\":\"");
	syn_put_int(out, info->place.device);
	SYN_PUT(out, "\",\"platform\":\"\",\"platform_version\":\"5\",\"pid\":\"");
	syn_put_int(out, info->pid);
	SYN_PUT(out,
		"\",\"pid_name\":\"python3\",\"upTime\":\"173856.21\",\"memoryTotal\":1583000000,"
		"\"cpuNums\":192,\"sysClockFreq\":100,\"cpuCores\":1,\"netCardNums\":2,"
		"\"rank_id\":");
	syn_put_int(out, rank);
	SYN_PUT(out,
		",\"drvVersion\":\"24.1.rc3\",\"cannVersion\":\"8.3.RC1\",\"DeviceInfo\":[{\"id\":");
	syn_put_int(out, info->place.device);
	SYN_PUT(out,
		",\"aic_frequency\":\"1800\",\"aiv_frequency\":\"1800\",\"ai_core_num\":20,"
		"\"aiv_num\":40,\"hwts_frequency\":\"100.000000\"}],\"netCard\":[],\"CPU\":[]}");
}

static int write_info(const struct syn_rank_info *info, const char *path, struct np_err *err)
{
	struct syn_out out;
	int rc = syn_out_open(&out, path, false, err);

	if (rc < 0)
		return rc;
	put_info(info, &out);
	return syn_out_close(&out, NP_OK, err);
}

struct prof_info {
	struct syn_sink base;
	const struct syn_rank_info *info;
};

static int open_info(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct prof_info *prof = calloc(1, sizeof(*prof));

	if (!prof)
		return np_fail_nomem(err, "a directory of msprof");
	prof->info = info;
	*ret = &prof->base;
	return NP_OK;
}

static int close_info(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct prof_info *prof = (struct prof_info *)sink;
	const struct syn_rank_info *info = prof->info;
	NP_CLEANUP(np_buf_release) struct np_buf device = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf host = NP_BUF_INIT;

	free(prof);
	if (rc < 0)
		return rc;
	np_buf_printf(&device, "%s/device_%d/info.json.%d", info->dir, info->place.device,
		      info->place.device);
	np_buf_printf(&host, "%s/host/info.json", info->dir);
	rc = np_buf_check(&device, err);
	if (rc == NP_OK)
		rc = np_buf_check(&host, err);
	if (rc == NP_OK)
		rc = write_info(info, device.text, err);
	return rc == NP_OK ? write_info(info, host.text, err) : rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->maker == SYN_MSPROF;
}

const struct syn_backend syn_prof_info = {
	.name = "prof",
	.is_wanted = is_wanted,
	.open = open_info,
	.close = close_info,
};
