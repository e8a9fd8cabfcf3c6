/* SPDX-License-Identifier: Apache-2.0 */
/* The line that shows how far a long job is. */
#include "progress.h"

#include "npuprof/lang.h"
#include "npuprof/realtime.h"

#include "launcher.h"
#include "output.h"

#include <unistd.h>

#define PATIENCE_NS INT64_C(1000000000)
#define BAR_WIDTH   20

/* Narrower terminals have no room for the bar. */
#define WIDTH_FOR_BAR 80

/* Who else wants to know; set by the thread that works. */
static np_progress_hear *listener;
static void *listener_context;

void np_progress_listen(np_progress_hear *hear, void *context)
{
	listener = hear;
	listener_context = context;
}

/* mpirun takes the stderr of its processes through pipes: its own may be a terminal. */
static bool launcher_has_terminal(void)
{
	struct np_launcher launcher;
	char link[64];
	char target[64];
	ssize_t length;

	np_launcher_read(&launcher);
	if (launcher.kind == NP_LAUNCHER_NONE || launcher.rank > 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/%d/fd/2", (int)getppid());
	length = readlink(link, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

void np_progress_init(struct np_progress *progress, const char *what, bool quiet)
{
	*progress = (struct np_progress){ .what = np_lang_text(what),
					  .enabled = !quiet && (isatty(STDERR_FILENO) ||
								launcher_has_terminal()),
					  .begin = np_steady_ns() };
}

static void put_bar(struct np_buf *line, double share)
{
	size_t full = (size_t)(share * BAR_WIDTH);

	if (np_output_width(stderr) < WIDTH_FOR_BAR)
		return;
	np_buf_add(line, " [");
	np_buf_add_repeated(line, '#', full);
	np_buf_add_repeated(line, '.', BAR_WIDTH - full);
	np_buf_add_char(line, ']');
}

static void put_time_left(struct np_buf *line, double share, np_ns elapsed)
{
	int64_t seconds;

	if (share <= 0)
		return;
	seconds = (int64_t)((double)elapsed * (1 - share) / share / 1e9 + 0.999);
	np_buf_printf(line, "  %d:%02d%s", (int)(seconds / 60), (int)(seconds % 60),
		      np_lang_text(" left"));
}

void np_progress_draw(struct np_progress *progress, const struct np_progress_state *state)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	np_ns elapsed = np_steady_ns() - progress->begin;
	double share = state->bytes > 0   ? (double)state->bytes_done / (double)state->bytes
		       : state->total > 0 ? (double)state->done / (double)state->total
					  : 0;

	if (listener)
		listener(listener_context, progress->what, state);
	if (!progress->enabled || elapsed < PATIENCE_NS)
		return;
	np_buf_printf(&line, "\r%s %zu/%zu", progress->what, state->done, state->total);
	put_bar(&line, share);
	np_buf_printf(&line, " %3d %%", (int)(share * 100));
	if (state->bytes_done > 0)
		/* Bytes per ns are GB per second. */
		np_buf_printf(&line, "  %.0f MB/s",
			      1000.0 * (double)state->bytes_done / (double)elapsed);
	put_time_left(&line, share, elapsed);
	np_buf_add(&line, "\033[K");
	(void)fputs(line.failed ? "" : line.text, stderr);
	(void)fflush(stderr);
	progress->drawn = true;
}

void np_progress_tick(void *context, size_t done, size_t total)
{
	np_progress_draw(context, &(struct np_progress_state){ .done = done, .total = total });
}

void np_progress_end(struct np_progress *progress)
{
	if (progress->drawn)
		(void)fputs("\r\033[K", stderr);
	progress->drawn = false;
}
