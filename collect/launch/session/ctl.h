/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CTL_H
#define NP_CTL_H

#include "collect/launch/coord/coord.h"

/*
 * What "npuprof ctl" and launcher 0 say to each other
 * ===================================================
 *
 * Launcher 0, and the first launcher of every other host, listens on an abstract unix socket,
 * whose name stands in "npuprof_control.json", or "npuprof_control.<launcher>.json", in the
 * directory of the job. Only the user who runs the job can read that file, and the launcher
 * talks to nobody else (SO_PEERCRED), nor does the client to a launcher of anybody else. One
 * request, one answer, both of one installation.
 */
#define NP_CTL_PREFIX "npuprof_control."
#define NP_CTL_SCHEMA "npuprof.control/1"

enum {
	NP_CTL_VERSION = 1,
	NP_CTL_TEXT = 8192,
};

struct np_ctl_request {
	uint32_t version;
	int32_t verb;    /* enum np_ctl_verb */
	int64_t steps;   /* of the window; -1: until stop */
	int64_t at;      /* the first step of it; -1: soon */
	int32_t level;   /* enum np_plan_level; -1: that of the plan */
	char ranks[512]; /* "": those of the plan */
};

struct np_ctl_answer {
	uint32_t version;
	int32_t failed;
	char text[NP_CTL_TEXT]; /* lines */
};

/* The launcher's end: it never waits for a client. Those who come and say nothing are sent away. */
enum {
	NP_CTL_CLIENTS = 16,
};

struct np_ctl_door {
	int listener; /* -1: closed */
	int count;
	struct {
		int fd;
		np_ns until; /* it is sent away then */
	} clients[NP_CTL_CLIENTS];
};

#define NP_CTL_DOOR_INIT ((struct np_ctl_door){ .listener = -1 })

/* Listen, and write the file. */
int np_ctl_listen(struct np_ctl_door *door, const char *root, const char *job, const char *host,
		  int rank, struct np_err *err) NP_MUST_USE;
void np_ctl_close(struct np_ctl_door *door);

/* A request that has come, if one has: its socket, for np_ctl_answer(); else -1. */
int np_ctl_take(struct np_ctl_door *door, struct np_ctl_request *ret);

/* Is a request, whoever passes it on, one that "npuprof ctl" can make? */
int np_ctl_check(const struct np_ctl_request *request, struct np_err *err) NP_MUST_USE;

/* Answer and hang up. */
void np_ctl_answer(int fd, bool failed, const char *text);
void np_ctl_forget(const char *root, int rank);

/* The one job that runs in a directory, or in one of the directories in it: its directory. */
int np_ctl_find_job(const char *dir, char *job, size_t size, struct np_err *err) NP_MUST_USE;

/* Does a job run in this directory? */
bool np_ctl_has_job(const char *dir);

/*
 * The client's end: find the job that runs in `dir`, or in a directory in it, and ask the
 * launcher of it that is on this host. Fails
 * with NP_E_NOTFOUND, NP_E_IO or, if there are several, NP_E_USAGE.
 */
int np_ctl_ask(const char *dir, const struct np_ctl_request *request, struct np_ctl_answer *ret,
	       int timeout_s, struct np_err *err) NP_MUST_USE;

#endif /* NP_CTL_H */
