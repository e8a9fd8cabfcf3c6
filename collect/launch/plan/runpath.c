/* SPDX-License-Identifier: Apache-2.0 */
/* The directories in which a program looks for its libraries, by its ELF file. */
#include "runpath.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_file {
	const unsigned char *bytes;
	size_t size;
};

/* So many bytes at an offset, or NULL where the file does not have them. */
static const void *part(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset ? elf->bytes + offset : NULL;
}

static const ElfW(Phdr) *
	segment(const struct elf_file *elf, const ElfW(Ehdr) * header, size_t index)
{
	return header->e_phentsize == sizeof(ElfW(Phdr))
		       ? part(elf, header->e_phoff + index * sizeof(ElfW(Phdr)), sizeof(ElfW(Phdr)))
		       : NULL;
}

/* Where an address of the running program stands in the file; UINT64_MAX for nowhere. */
static uint64_t offset_of(const struct elf_file *elf, const ElfW(Ehdr) * header, uint64_t address)
{
	for (size_t i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *load = segment(elf, header, i);

		if (load && load->p_type == PT_LOAD && address >= load->p_vaddr &&
		    address - load->p_vaddr < load->p_filesz)
			return load->p_offset + (address - load->p_vaddr);
	}
	return UINT64_MAX;
}

/* The text of RUNPATH or RPATH; NULL for none. */
static const char *find_text(const struct elf_file *elf, const ElfW(Ehdr) * header,
			     const ElfW(Phdr) * dynamic)
{
	uint64_t strings = UINT64_MAX;
	uint64_t runpath = UINT64_MAX;
	uint64_t rpath = UINT64_MAX;
	const char *text;
	uint64_t at;

	for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(ElfW(Dyn)); i++) {
		const ElfW(Dyn) *entry =
			part(elf, dynamic->p_offset + i * sizeof(*entry), sizeof(*entry));

		if (!entry || entry->d_tag == DT_NULL)
			break;
		if (entry->d_tag == DT_STRTAB)
			strings = entry->d_un.d_ptr;
		else if (entry->d_tag == DT_RUNPATH)
			runpath = entry->d_un.d_val;
		else if (entry->d_tag == DT_RPATH)
			rpath = entry->d_un.d_val;
	}
	runpath = runpath == UINT64_MAX ? rpath : runpath;
	at = strings == UINT64_MAX ? UINT64_MAX : offset_of(elf, header, strings);
	if (runpath == UINT64_MAX || at == UINT64_MAX || runpath > elf->size)
		return NULL;
	text = part(elf, at + runpath, 1);
	return text && memchr(text, '\0', elf->size - (size_t)(at + runpath)) ? text : NULL;
}

/* "$ORIGIN/../lib" is beside the program. */
static void add_text(struct np_buf *buf, const char *text, const char *file)
{
	static const char *const names[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(file, '/');

	while (*text) {
		size_t length = 0;

		for (size_t i = 0; i < NP_COUNT(names) && length == 0; i++) {
			if (strncmp(text, names[i], strlen(names[i])) == 0)
				length = strlen(names[i]);
		}
		if (length > 0)
			np_buf_add_bytes(buf, slash ? file : ".",
					 slash ? (size_t)(slash - file) : 1);
		else
			np_buf_add_char(buf, *text);
		text += length > 0 ? length : 1;
	}
}

static void read_file(struct np_buf *buf, const struct elf_file *elf, const char *file)
{
	const ElfW(Ehdr) *header = part(elf, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return;
	for (size_t i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *dynamic = segment(elf, header, i);
		const char *text = dynamic && dynamic->p_type == PT_DYNAMIC
					   ? find_text(elf, header, dynamic)
					   : NULL;

		if (text)
			add_text(buf, text, file);
	}
}

void np_runpath_add(struct np_buf *buf, const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat info;
	void *content;

	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
		content = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (content != MAP_FAILED) {
			read_file(buf, &(struct elf_file){ content, (size_t)info.st_size }, file);
			(void)munmap(content, (size_t)info.st_size);
		}
	}
	(void)close(fd);
}
