/* SPDX-License-Identifier: Apache-2.0 */
/* The address of launcher 0 as a text, and back. */
#include "mpi_address.h"

#include "npuprof/text.h"

void np_mpi_address_format(const struct np_tcp_address *address, char *text, size_t size)
{
	(void)snprintf(text, size, "%d %s %s", address->port, address->token, address->hosts);
}

/* Copy a word; false if there is none or it is too long. */
static bool take_word(const char **at, char *word, size_t size)
{
	size_t length = strcspn(*at, " ");

	if (length == 0 || length >= size)
		return false;
	memcpy(word, *at, length);
	word[length] = '\0';
	*at += length;
	*at += strspn(*at, " ");
	return true;
}

bool np_mpi_address_parse(const char *text, struct np_tcp_address *ret)
{
	char port[16];
	int64_t number;

	*ret = (struct np_tcp_address){ 0 };
	if (!take_word(&text, port, sizeof(port)) || !np_text_to_int(port, strlen(port), &number) ||
	    number < 1 || number > 65535 || !take_word(&text, ret->token, sizeof(ret->token)) ||
	    !take_word(&text, ret->hosts, sizeof(ret->hosts)))
		return false;
	ret->port = (int)number;
	return true;
}
