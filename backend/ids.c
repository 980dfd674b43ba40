// SPDX-License-Identifier: GPL-2.0-or-later
#include "ids.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#include "pcidevfs/util.h"

#define IDS_MAX (16 << 20)

static const size_t digits[] = { [IDS_VENDORS] = 4, [IDS_CLASSES] = 2 };

struct ids {
	/* Each line ends with a NUL; end is behind the last one. */
	char *text, *end;
	enum ids_list list; /* that is being read */
	struct top {
		enum ids_list list;
		unsigned int id;
		const char *name;
	} * v;
	size_t n, cap;
};

/* Text that begins with so many digits and a blank. Returns the name; NULL: it does not. */
static const char *take_id(const char *text, size_t n, unsigned int *ret)
{
	if (strspn(text, "0123456789abcdefABCDEF") != n || text[n] != ' ')
		return NULL;
	*ret = (unsigned int)strtoul(text, NULL, 16);
	return text + n + strspn(text + n, " ");
}

static int add(struct ids *ids, unsigned int id, const char *name)
{
	struct top *rows = more_rows(ids->v, ids->n, &ids->cap, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	ids->v = rows;
	rows[ids->n++] = (struct top){ ids->list, id, name };
	return 0;
}

/* usb.ids has further lists, of words in capitals ("HUT 01  Generic Desktop"). */
static int read_line(struct ids *ids, const char *line)
{
	const char *name;
	unsigned int id;

	if (!line[0] || line[0] == '#' || (line[0] == '\t' && ids->list == IDS_OTHERS))
		return 0;
	if (line[0] == '\t')
		return ids->n && (line[1] == '\t' || take_id(line + 1, digits[ids->list], &id))
			       ? 0
			       : -EINVAL;
	name = take_id(line, digits[IDS_VENDORS], &id);
	ids->list = IDS_VENDORS;
	if (!name && !strncmp(line, "C ", 2)) {
		name = take_id(line + 2, digits[IDS_CLASSES], &id);
		ids->list = IDS_CLASSES;
	} else if (!name && isupper((unsigned char)line[0])) {
		ids->list = IDS_OTHERS;
		return 0;
	}
	return name ? add(ids, id, name) : -EINVAL;
}

static int read_lines(struct ids *ids)
{
	int rc = 0;

	for (char *line = ids->text, *next; !rc && line < ids->end; line = next) {
		char *end = strchrnul(line, '\n');

		next = end + 1;
		*end = '\0';
		while (end > line && strchr(" \t\r", end[-1]))
			*--end = '\0';
		rc = read_line(ids, line);
	}
	return rc;
}

static int load(struct ids *ids, const char *path)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > IDS_MAX)
		return -ENOENT;
	free(ids->text);
	ids->n = 0;
	ids->list = IDS_VENDORS;
	ids->text = malloc((size_t)st.st_size + 1);
	if (!ids->text)
		return -ENOMEM;
	n = read_all(fd, ids->text, (size_t)st.st_size);
	ids->end = ids->text + (n > 0 ? n : 0);
	*ids->end = '\0';
	return read_lines(ids) ?: ids->n ? 0 : -EINVAL;
}

int ids_open(const char *const *places, struct ids **ret)
{
	struct ids *ids = calloc(1, sizeof(*ids));
	int rc = ids ? -ENOENT : -ENOMEM;

	while ((rc == -ENOENT || rc == -EINVAL) && *places)
		rc = load(ids, *places++);
	if (rc)
		ids_close(ids);
	*ret = rc ? NULL : ids;
	return rc == -ENOMEM ? rc : 0;
}

void ids_close(struct ids *ids)
{
	if (!ids)
		return;
	free(ids->text);
	free(ids->v);
	free(ids);
	malloc_trim(0); /* the text would stay resident */
}

static const char *find_below(const struct ids *ids, const struct top *top, unsigned int below)
{
	const char *p = top->name, *name;
	unsigned int id;

	while ((p += strlen(p) + 1) < ids->end && (!*p || *p == '#' || *p == '\t')) {
		name = *p == '\t' ? take_id(p + 1, digits[top->list], &id) : NULL;
		if (name && id == below)
			return name;
	}
	return NULL;
}

struct ids_names ids_find(const struct ids *ids, enum ids_list list, unsigned int top,
			  unsigned int below)
{
	for (size_t i = 0; ids && i < ids->n; i++)
		if (ids->v[i].list == list && ids->v[i].id == top)
			return (struct ids_names){ ids->v[i].name,
						   find_below(ids, &ids->v[i], below) };
	return (struct ids_names){ 0 };
}
