/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_DYNAMIC_H
#define NPUSIM_DYNAMIC_H

#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Dynamic profiling: what msprof and the run time say to each other
 * =================================================================
 *
 * An application that was started with PROFILING_MODE=dynamic listens, from its first device
 * on, on a unix socket (SOCK_STREAM) in the home directory that the system knows of its user,
 * not in $HOME: dynamic_profiling_socket_<key>. The key is its process id or, where msprof
 * started it, DYNAMIC_PROFILING_KEY_PID, msprof's own, unless that is in use.
 *
 * One client at a time. It sends its parameters, the JSON that PROFILER_SAMPLECONFIG has, and
 * is answered; then words of eight bytes, each of which is answered with the type behind it.
 * The run time hangs up with DYN_DISCONNECT.
 */
enum {
	DYN_PARAMS_BYTES = 4096,
	DYN_CONNECTIONS = 128, /* in the life of an application */
	DYN_COMMANDS = 100,    /* of one connection */
	DYN_IDLE_S = 1800,
};

struct dyn_params {
	uint32_t length;
	char json[DYN_PARAMS_BYTES];
};

enum dyn_type {
	DYN_PARAMS_RSQ,
	DYN_START,
	DYN_START_RSQ,
	DYN_STOP,
	DYN_STOP_RSQ,
	DYN_QUIT,
	DYN_QUIT_RSQ,
	DYN_DISCONNECT,
};

enum dyn_status {
	DYN_OK,
	DYN_FAILED,
	DYN_ALREADY_STARTED,
	DYN_NO_DEVICE,
	DYN_NOT_STARTED,
};

struct dyn_word {
	int32_t type;   /* enum dyn_type */
	int32_t status; /* enum dyn_status */
};

/* Where the application with this key listens; false for a user without a home. */
static inline bool dyn_socket_path(long key, char *path, size_t size)
{
	struct passwd entry;
	struct passwd *found = NULL;
	char text[4096];
	int length;

	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) != 0 || !found)
		return false;
	length = snprintf(path, size, "%s/dynamic_profiling_socket_%ld", found->pw_dir, key);
	return length > 0 && (size_t)length < size;
}

#endif /* NPUSIM_DYNAMIC_H */
