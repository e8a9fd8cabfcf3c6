/* SPDX-License-Identifier: Apache-2.0 */
/* What a command writes to stdout and stderr, and on which process. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher.h"
#include "npuprof/lang.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"

enum {
	WIDTH_WITHOUT_TERMINAL = 100,
	WIDTH_LEAST = 60,
	WIDTH_MOST = 10000
};

bool np_output_is_first(void)
{
	struct np_launcher launcher;

	np_launcher_read(&launcher);
	return launcher.rank <= 0;
}

bool np_output_is_terminal(FILE *stream)
{
	struct np_launcher launcher;

	np_launcher_read(&launcher);
	return launcher.kind == NP_LAUNCHER_NONE && isatty(fileno(stream));
}

void np_output_begin(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* Opened for reading only, so that a result written to it still fails. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			break;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	np_temporary_guard();
}

/* Has the reader of the pipe behind stdout gone? errno may be long overwritten. */
static bool nobody_reads(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

int np_output_end(int status)
{
	bool failed = ferror(stdout) != 0;
	int why = 0;

	if (fflush(stdout) != 0) {
		failed = true;
		why = errno;
	}
	if (!failed)
		return status;
	if (why != EPIPE && !nobody_reads())
		np_report(0, "cannot write the result to standard output%s%s", why ? ": " : "",
			  why ? strerrordesc_np(why) : "");
	return 1;
}

/* NULL: stdout, which is no constant that it could begin with. */
static FILE *diverted;

FILE *np_output_stream(void)
{
	return diverted ? diverted : stdout;
}

FILE *np_output_divert(FILE *stream)
{
	FILE *before = np_output_stream();

	diverted = stream;
	return before;
}

int np_output_release(struct np_buf *buf)
{
	struct np_err err = NP_ERR_INIT;
	int status = 0;

	if (np_buf_check(buf, &err) < 0)
		status = np_report(1, "%s", err.text);
	else if (fwrite(buf->text, 1, buf->length, np_output_stream()) != buf->length)
		status = 1; /* np_output_end() says why */
	np_buf_release(buf);
	return status;
}

static void (*listener)(const char *text);
static bool (*filter)(const char *text);

void np_output_listen(void (*hear)(const char *text))
{
	listener = hear;
}

void np_output_filter(bool (*may)(const char *text))
{
	filter = may;
}

bool np_vreport(const char *fmt, va_list args)
{
	struct np_buf safe = NP_BUF_INIT;
	struct np_buf said = NP_BUF_INIT;
	char text[1024];

	/* What does not fit is cut: a message must not need memory to be heard. */
	(void)vsnprintf(text, sizeof(text), fmt, args);
	/* Who reads the first lines and leaves has what they want: "| head" is no failure. */
	if (*text == '\0' || (ferror(stdout) && nobody_reads()))
		return false;
	if (filter && !filter(text))
		return false;
	/* What was printed before comes before, also where both go to one file. */
	(void)fflush(stdout);
	np_text_safe(&safe, text, strlen(text));
	if (listener)
		listener(safe.failed ? text : safe.text);
	if (!safe.failed)
		np_lang_put(&said, safe.text);
	(void)fprintf(stderr, "npuprof: %s\n",
		      safe.failed   ? text
		      : said.failed ? safe.text
				    : said.text);
	np_buf_release(&said);
	np_buf_release(&safe);
	return true;
}

int np_report(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)np_vreport(fmt, args);
	va_end(args);
	return status;
}

/* What the user wants goes before what the terminal says: pipes have no width of their own. */
static size_t wanted_width(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *columns = getenv("COLUMNS");
	int64_t width;

	if (!columns || !np_text_to_int(columns, strlen(columns), &width) || width <= 0 ||
	    width > WIDTH_MOST)
		return 0;
	return width < WIDTH_LEAST ? WIDTH_LEAST : (size_t)width;
}

size_t np_output_width(FILE *stream)
{
	size_t wanted = wanted_width();
	struct winsize size;

	if (wanted > 0)
		return wanted;
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_WITHOUT_TERMINAL;
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}

size_t np_output_help_width(void)
{
	size_t width = np_output_width(stdout);

	return width < WIDTH_WITHOUT_TERMINAL ? width : WIDTH_WITHOUT_TERMINAL;
}
