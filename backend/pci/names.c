// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/names.h"

#include <dlfcn.h>
#include <errno.h>
#include <pci/pci.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

/* ---- the rules, without a database */

#define VENDOR_SUFFIX ".com"
/* KubeVirt's socket path is <prefix>/<vendor>-<product>.sock and sun_path has 108 bytes, which
 * leaves this much for vendor and product together. */
#define NAME_ROOM 60
#define QUALIFIED_PREFIX 253
#define QUALIFIED_NAME 63
/* libpci reads lines of at most 1024 bytes. */
#define ID_LINE 1024

/* The C library's functions depend on the locale and on the sign of char. */
static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char to_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
	return c && strchr(" \t\n\f\r", c);
}

/* "Advanced Micro Devices, Inc. [AMD/ATI]" -> "amd.com", "Red Hat, Inc." -> "red.com" */
static void vendor_part(const char *vendor, char buf[static ID_LINE])
{
	const char *open = strchr(vendor, '['), *close = open ? strchr(open, ']') : NULL;
	const char *base = close ? open + 1 : vendor;
	size_t len = close ? (size_t)(close - base) : strcspn(vendor, " "), n = 0;

	if (close && memchr(base, '/', len))
		len = (size_t)((const char *)memchr(base, '/', len) - base);
	for (size_t i = 0; i < len && n < ID_LINE - sizeof(VENDOR_SUFFIX); i++)
		if (is_alnum(base[i]))
			buf[n++] = to_lower(base[i]);
	memcpy(buf + n, VENDOR_SUFFIX, sizeof(VENDOR_SUFFIX));
}

/* "GA107GL [A2 / A16]" -> "GA107GL_A2___A16": upper case, '_' for '/', '.' and white space. */
static void product_part(const char *product, char buf[static ID_LINE])
{
	size_t n = 0;

	product += strspn(product, " \t\n\v\f\r");
	for (; *product && n < ID_LINE - 1; product++) {
		if (is_alnum(*product) || *product == '_')
			buf[n++] = to_upper(*product);
		else if (*product == '/' || *product == '.' ||
			 (is_blank(*product) && !is_blank(product[1])))
			buf[n++] = '_';
	}
	while (n && buf[n - 1] == '_')
		n--;
	buf[n] = '\0';
}

static void shorten_virtual_function(char *name)
{
	static const char words[] = "VIRTUAL_FUNCTION";

	while ((name = strstr(name, words))) {
		memcpy(name, "VF", 2);
		name += 2;
		memmove(name, name + sizeof(words) - 3, strlen(name + sizeof(words) - 3) + 1);
	}
}

static bool qualified_prefix(const char *text, size_t len)
{
	if (!len || len > QUALIFIED_PREFIX)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool edge = !i || i == len - 1 || text[i - 1] == '.' || text[i + 1] == '.';

		if (is_alnum(text[i]) ? text[i] != to_lower(text[i])
				      : edge || (text[i] != '-' && text[i] != '.'))
			return false;
	}
	return true;
}

static bool qualified_name(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!is_alnum(text[i]) && !strchr("-_.", text[i]))
			return false;
	return len && len <= QUALIFIED_NAME && is_alnum(text[0]) && is_alnum(text[len - 1]);
}

bool names_qualified(const char *resource)
{
	const char *slash = strchr(resource, '/');

	return slash && qualified_prefix(resource, (size_t)(slash - resource)) &&
	       qualified_name(slash + 1);
}

void names_resource(const char *vendor, const char *product, uint16_t device, char *buf,
		    size_t size)
{
	char prefix[ID_LINE], name[ID_LINE], id[5];

	snprintf(id, sizeof(id), "%04x", device);
	vendor_part(vendor ?: "unknown", prefix);
	product_part(product ?: "", name);
	if (strlen(prefix) + strlen(name) > NAME_ROOM)
		shorten_virtual_function(name);
	/* Harvester keeps a name that begins with '_', and kubelet never offers it. */
	if (strlen(prefix) + strlen(name) > NAME_ROOM || !qualified_name(name))
		memcpy(name, id, sizeof(id));
	if (!qualified_prefix(prefix, strlen(prefix)) || strlen(prefix) + strlen(name) + 2 > size)
		vendor_part("unknown", prefix);
	snprintf(buf, size, "%s/%s", prefix, name);
}

/* pci.ids is UTF-8: drops the rest of a character that was cut. */
static void trim_cut_character(char *text)
{
	size_t len = strlen(text), lead = len;
	unsigned char first;

	while (lead && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
		lead--;
	first = lead ? (unsigned char)text[lead - 1] : 0;
	if (first >= 0xc0 && len - lead < (first >= 0xf0 ? 3u : first >= 0xe0 ? 2u : 1u))
		text[lead - 1] = '\0';
}

void names_description(const struct facts *facts, const char *class_name, const char *vendor,
		       const char *product, char *buf, size_t size)
{
	char ids[3][16];
	int n;

	snprintf(ids[0], sizeof(ids[0]), "Class %04x", (facts->class_code >> 8) & 0xffff);
	snprintf(ids[1], sizeof(ids[1]), "Vendor %04x", facts->vendor);
	snprintf(ids[2], sizeof(ids[2]), "Device %04x", facts->device);
	n = snprintf(buf, size, "%s: %s %s", class_name ?: ids[0], vendor ?: ids[1],
		     product ?: ids[2]);
	if (n < 0 || (size_t)n >= size)
		trim_cut_character(buf);
}

/* ---- the database */

/* Loaded at run time: linked, it would take a tenth of the memory of a daemon that needs names once
 * in a while, and delay each start. */
struct libpci {
	void *lib;
	__typeof__(&pci_alloc) alloc;
	__typeof__(&pci_cleanup) cleanup;
	__typeof__(&pci_set_name_list_path) set_path;
	__typeof__(&pci_load_name_list) load;
	__typeof__(&pci_free_name_list) free;
	__typeof__(&pci_lookup_name) lookup;
};

struct names_db {
	struct libpci pci;
	struct pci_access *access; /* NULL without the library */
	bool known;
};

static bool open_libpci(struct libpci *p)
{
	p->lib = dlopen("libpci.so.3", RTLD_NOW | RTLD_LOCAL);
	if (!p->lib)
		return false;
	p->alloc = dlsym(p->lib, "pci_alloc");
	p->cleanup = dlsym(p->lib, "pci_cleanup");
	p->set_path = dlsym(p->lib, "pci_set_name_list_path");
	p->load = dlsym(p->lib, "pci_load_name_list");
	p->free = dlsym(p->lib, "pci_free_name_list");
	p->lookup = dlsym(p->lib, "pci_lookup_name");
	return p->alloc && p->cleanup && p->set_path && p->load && p->free && p->lookup;
}

/* The places where Harvester looks, so that a machine has one set of names. */
static const char *const places[] = { "/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids" };

/* No DNS, no udev: names must not depend on the network or on installed software. */
#define LOOKUP (PCI_LOOKUP_NO_NUMBERS | PCI_LOOKUP_NO_HWDB)

/* libpci's error callback has no context and must not return; the default one ends the process. */
static _Thread_local jmp_buf *escape;

static void __attribute__((noreturn)) on_error(char *msg __attribute__((unused)), ...)
{
	longjmp(*escape, 1);
}

static void on_message(char *msg __attribute__((unused)), ...)
{
}

static const char *usual_place(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!access(places[i], R_OK))
			return places[i];
	return NULL;
}

static bool load(struct names_db *db)
{
	jmp_buf here;
	bool known = false;

	escape = &here;
	/* libpci closes the file before it complains about one of its lines */
	if (!setjmp(here))
		known = db->pci.load(db->access);
	else
		db->pci.free(db->access);
	escape = NULL;
	return known;
}

static int open_access(struct names_db *db, const char *path)
{
	char *copy = path ? strdup(path) : NULL;

	if (path && !copy)
		return -ENOMEM;
	db->access = db->pci.alloc();
	db->access->error = on_error;
	db->access->warning = on_message;
	db->access->debug = on_message;
	db->access->id_lookup_mode = 0; /* nor use root's ~/.pciids-cache */
	if (copy)
		db->pci.set_path(db->access, copy, 1);
	db->known = load(db);
	return 0;
}

int names_open(const char *path, struct names_db **ret)
{
	struct names_db *db = calloc(1, sizeof(*db));
	int rc = db ? 0 : -ENOMEM;

	if (db && open_libpci(&db->pci))
		rc = open_access(db, path ?: usual_place());
	if (rc)
		names_close(db);
	else
		*ret = db;
	return rc;
}

void names_close(struct names_db *db)
{
	if (!db)
		return;
	if (db->access)
		db->pci.cleanup(db->access);
	if (db->pci.lib)
		dlclose(db->pci.lib);
	free(db);
}

bool names_known(const struct names_db *db)
{
	return db->known;
}

/* libpci appends " [cccc]" if it knows the class but not the subclass. */
static const char *class_name(struct names_db *db, unsigned int class, char buf[static ID_LINE])
{
	char *name = db->pci.lookup(db->access, buf, ID_LINE, PCI_LOOKUP_CLASS | LOOKUP, class);
	char suffix[16];
	size_t len = name ? strlen(name) : 0;

	snprintf(suffix, sizeof(suffix), " [%04x]", class);
	if (len > strlen(suffix) && !strcmp(name + len - strlen(suffix), suffix))
		name[len - strlen(suffix)] = '\0';
	return name;
}

static void fill(struct names_db *db, const struct facts *f, struct names *ret)
{
	char buf[3][ID_LINE];
	const char *class = NULL, *vendor = NULL, *product = NULL;

	/* Without a list libpci would search for it again at each call. */
	if (db->known) {
		class = class_name(db, (f->class_code >> 8) & 0xffff, buf[0]);
		vendor = db->pci.lookup(db->access, buf[1], ID_LINE, PCI_LOOKUP_VENDOR | LOOKUP,
					f->vendor);
		product = db->pci.lookup(db->access, buf[2], ID_LINE, PCI_LOOKUP_DEVICE | LOOKUP,
					 f->vendor, f->device);
	}
	names_resource(vendor, product, f->device, ret->resource, sizeof(ret->resource));
	names_description(f, class, vendor, product, ret->description, sizeof(ret->description));
}

int names_fill(struct names_db *db, const struct facts *facts, struct names *ret)
{
	jmp_buf here;
	int rc = 0;

	escape = &here;
	if (!setjmp(here))
		fill(db, facts, ret);
	else
		rc = -ENOMEM;
	escape = NULL;
	return rc;
}
