// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of vGPU types: as the kernel writes them, and as the lines of the file profiles. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/types.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

#define CARD "0000:3b:00.0"
#define VF0 "0000:3b:00.4"

static struct vgpu_types types;

/* What was parsed: "ID=NAME ID=NAME". */
static const char *parsed(const char *text)
{
	static char said[8192];
	size_t n = 0;

	types_parse(text, &types);
	said[0] = '\0';
	for (size_t i = 0; i < types.n; i++) {
		CHECK_EQ(types.v[i].available, 1);
		CHECK_EQ(types.v[i].max, -1);
		n += (size_t)snprintf(said + n, sizeof(said) - n, "%s%s=%s", i ? ", " : "",
				      types.v[i].id, types.v[i].name);
		CHECK(n < sizeof(said));
	}
	return said;
}

DEFINE_TEST(types_are_listed_in_two_orders)
{
	CHECK_STR(parsed("ID    : vGPU Name\n747   : NVIDIA A2-4Q\n748   : NVIDIA A2-8Q\n"),
		  "747=NVIDIA A2-4Q, 748=NVIDIA A2-8Q");
	CHECK_EQ(types.v[0].framebuffer_mib, 4096);
	CHECK_STR(parsed("vGPU Name : ID\nNVIDIA A2-4Q 747\nNVIDIA A2-8Q\t748\n"),
		  "747=NVIDIA A2-4Q, 748=NVIDIA A2-8Q");
	/* Without a head line each line tells by itself. */
	CHECK_STR(parsed("747 : NVIDIA A2-4Q\nNVIDIA A2-8Q   748\nNVIDIA A2-16Q : 749"),
		  "747=NVIDIA A2-4Q, 748=NVIDIA A2-8Q, 749=NVIDIA A2-16Q");
	CHECK_STR(parsed("\n\n  ID : vGPU Name  \r\n\n  747\t:\tNVIDIA A2-4Q  \r\n"),
		  "747=NVIDIA A2-4Q");
	/* Its name ends in a number, too. */
	CHECK_STR(parsed("ID : vGPU Name\n12 : GRID K1 120\n"), "12=GRID K1 120");
	CHECK_STR(parsed("vGPU Name : ID\n7 : GRID K1 120\n"), "120=7 : GRID K1");
}

DEFINE_TEST(a_head_line_names_the_vendor_too)
{
	CHECK_STR(parsed("NVIDIA vGPU Name : ID\nNVIDIA A2-4Q 747\n"), "747=NVIDIA A2-4Q");
	CHECK_STR(parsed("vGPU ID : NVIDIA vGPU Name\n747 : NVIDIA A2-4Q\n"), "747=NVIDIA A2-4Q");
}

DEFINE_TEST(nothing_can_be_made)
{
	CHECK_STR(parsed(""), "");
	CHECK_STR(parsed("\n"), "");
	CHECK_STR(parsed("ID    : vGPU Name\n"), "");
	CHECK_STR(parsed("vGPU Name : ID"), "");
	CHECK_STR(parsed("   \t \r\n \n\t"), "");
}

DEFINE_TEST(garbled_lines_cost_nothing_but_themselves)
{
	static const char *const garbled[] = {
		":",
		"747",
		"747 :",
		" : NVIDIA A2-8Q",
		"NVIDIA A2-8Q",
		"747x : NVIDIA A2-8Q",
		"-747 : NVIDIA A2-8Q",
		"0x2eb : NVIDIA A2-8Q",
		"7471234567 : NVIDIA A2-8Q",
		"\x01\x02\x7f",
		"745 : NVIDIA\tA2-8Q",
		"745 : NVIDIA \x1b[31mA2-8Q",
		"ID : vGPU Name",
		"No types available now",
		"745 NVIDIA A2-8Q",
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(garbled); i++) {
		snprintf(text, sizeof(text), "ID : vGPU Name\n747 : NVIDIA A2-4Q\n%s\n748 : B\n",
			 garbled[i]);
		if (strcmp(parsed(text), "747=NVIDIA A2-4Q, 748=B"))
			FAIL("\"%s\" gives %s", garbled[i], parsed(text));
	}
}

DEFINE_TEST(names_may_have_anything_that_can_be_shown)
{
	CHECK_STR(parsed("ID : vGPU Name\n"
			 "1 : NVIDIA \"A2\"-4Q\n"
			 "2 :   A  2 \n"
			 "3 : A2/A16-4Q\n"
			 "4 : A2\\4Q\n"
			 "5 : A2\n"
			 "6 : A2-4\n"
			 "7 : A2-4Q\n"
			 "8 : a=b : c\n"
			 "9 : \xc3\xa4\n"
			 "10 : 747\n"
			 "11 : \xff\n"
			 "12 : A2\xc2\x9b\n"
			 "13 : A2\xe2\x80\x8b\n"),
		  "1=NVIDIA \"A2\"-4Q, 2=A  2, 3=A2/A16-4Q, 4=A2\\4Q, 5=A2, 6=A2-4, 7=A2-4Q, "
		  "8=a=b : c, 9=\xc3\xa4, 10=747");
}

static char *line_of(char *buf, const char *before, char c, size_t n, const char *behind)
{
	char *p = stpcpy(buf, before);

	memset(p, c, n);
	strcpy(p + n, behind);
	return buf;
}

DEFINE_TEST(what_is_too_long_is_left_out)
{
	char text[12000], longest[PROFILE_NAME + 8];

	line_of(longest, "5=", 'x', PROFILE_NAME - 1, "");
	CHECK_STR(parsed(line_of(text, "5 : ", 'x', PROFILE_NAME - 1, "\n")), longest);
	CHECK_STR(parsed(line_of(text, "5 : ", 'x', PROFILE_NAME, "\n6 : B\n")), "6=B");
	CHECK_STR(parsed(line_of(text, "", 'x', PROFILE_NAME, " 5\n6 : B\n")), "6=B");
	CHECK_STR(parsed(line_of(text, "5 : ", 'x', 10240, "\n6 : B\n")), "6=B");
	CHECK_STR(parsed(line_of(text, "5 : A", ' ', 10240, "\n6 : B\n")), "6=B");
	CHECK_STR(parsed(line_of(text, "", '7', 10240, " : A\n6 : B\n")), "6=B");
	CHECK_STR(parsed(line_of(text, "", '7', 9, " : A\n")), "777777777=A");
	CHECK_STR(parsed(line_of(text, "", '7', 10, " : A\n")), "");
}

DEFINE_TEST(a_long_list_is_taken_as_far_as_it_is_kept)
{
	char text[16384];
	int n = 0, most;

	for (int i = 0; i < 400; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%d : NVIDIA LAB-%dQ-VIRT-%d\n",
			      1000 + i, 1 + i % 48, i);
	CHECK(n > 10240);
	types_parse(text, &types);
	most = TYPES_MAX;
	CHECK_EQ(types.n, most);
	CHECK_STR(types.v[0].name, "NVIDIA LAB-1Q-VIRT-0");
	CHECK_STR(types.v[most - 1].id, "1127");
	/* One that is known is found although there is no room for others. */
	types_add(&types,
		  &(struct vgpu_type){ .name = "B", .id = "1127", .available = 0, .max = 9 });
	CHECK_EQ(types.n, most);
	CHECK_EQ(types.v[most - 1].max, 9);
}

DEFINE_TEST(a_type_is_found_by_name_or_id)
{
	bool twice = true;

	parsed("ID : vGPU Name\n1 : A2\n2 : A2-4Q\n3 : twin\n4 : twin\n5 : 2\n6 : A2-4Q-VIRT\n");
	CHECK_STR(types_find(&types, "A2", &twice)->id, "1");
	CHECK(!twice);
	CHECK_STR(types_find(&types, "A2-4Q", NULL)->id, "2");
	CHECK_STR(types_find(&types, "A2-4Q-VIRT", NULL)->id, "6");
	CHECK(!types_find(&types, "A2-4", &twice));
	CHECK(!types_find(&types, "a2", NULL));
	CHECK(!types_find(&types, "", NULL));
	/* An id is meant before a name. */
	CHECK_STR(types_find(&types, "2", &twice)->id, "2");
	CHECK(!twice);
	CHECK_STR(types_find(&types, "twin", &twice)->id, "3");
	CHECK(twice);
	CHECK_STR(types_find(&types, "4", &twice)->id, "4");
	CHECK(!twice);
	CHECK_STR(types_word(&types, &types.v[2]), "3");
	CHECK_STR(types_word(&types, &types.v[3]), "4");
	CHECK_STR(types_word(&types, &types.v[1]), "A2-4Q");
	CHECK_STR(types_word(&types, &types.v[4]), "5"); /* its name is another one's id */
	/* Of two with one name the one that is left is meant. */
	types.v[2].available = 0;
	CHECK_STR(types_find(&types, "twin", NULL)->id, "4");
	/* The last word stands for a name where none is called so. */
	parsed("1 : NVIDIA A2-4Q\n2 : NVIDIA A2-8Q\n3 : GRID A2-8Q\n4 : NVIDIA 4\n5 : A2-1Q\n"
	       "6 : NVIDIA A2-1Q\n");
	CHECK_STR(types_find(&types, "A2-4Q", &twice)->id, "1");
	CHECK(!twice);
	CHECK_STR(types_find(&types, "A2-1Q", &twice)->id, "5");
	CHECK(!twice);
	CHECK_STR(types_find(&types, "4", NULL)->id, "4");
	CHECK(types_find(&types, "A2-8Q", &twice) && twice);
	CHECK(!types_find(&types, "4Q", NULL) && !types_find(&types, "NVIDIA", NULL));
	CHECK(types_reads("NVIDIA A2-4Q", "A2-4Q") && !types_reads("NVIDIA A2-4Q", "NVIDIA"));
}

DEFINE_TEST(what_is_available_is_named)
{
	char text[TYPES_TEXT];

	parsed("1 : A2-1Q\n2 : A2-4Q\n3 : A2-8Q\n");
	types.v[0].available = 0;
	types_available(&types, text);
	CHECK_STR(text, "A2-4Q, A2-8Q");
	types.n = 1;
	types_available(&types, text);
	CHECK_STR(text, "none");
	types.n = 0;
	for (int i = 0; i < 40; i++) {
		struct vgpu_type t = { .available = 1, .max = -1, .framebuffer_mib = -1 };

		snprintf(t.id, sizeof(t.id), "%d", i);
		snprintf(t.name, sizeof(t.name), "NVIDIA RTXP6000-96C-24Q-VIRT-OF-SIXTY-THREE-%09d",
			 i);
		types_add(&types, &t);
	}
	types_available(&types, text);
	CHECK(strlen(text) < TYPES_TEXT);
	CHECK_IN(text, ", ...");
}

DEFINE_TEST(the_name_tells_the_framebuffer)
{
	static const struct {
		const char *name;
		int32_t mib;
	} rows[] = {
		{ "NVIDIA A2-4Q", 4096 },
		{ "NVIDIA A100-1-5C", 5 * 1024 },
		{ "NVIDIA A100-1-5CME", 5 * 1024 },
		{ "NVIDIA RTXP6000-96C-24Q-VIRT", 24 * 1024 },
		{ "GRID M10-0Q", 512 },
		{ "GRID M60-0B", 512 },
		{ "GRID T4-2B4", 2 * 1024 },
		{ "NVIDIA H100-80C", 80 * 1024 },
		{ "GRID K120Q", -1 },
		{ "NVIDIA A2-", -1 },
		{ "NVIDIA A2-Q", -1 },
		{ "NVIDIA A2-4", -1 },
		{ "NVIDIA A2-4X", -1 },
		{ "NVIDIA A2-99999Q", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (types_framebuffer(rows[i].name) != rows[i].mib)
			FAIL("%s has %d MiB", rows[i].name, types_framebuffer(rows[i].name));
}

/* spec/harvester.md 4.3 has the rule and the first two. */
DEFINE_TEST(a_type_is_offered_under_harvesters_name)
{
	static const char *const rows[][2] = {
		{ "NVIDIA A2-4C", "nvidia.com/NVIDIA_A2-4C" },
		{ "GRID A100-1-5C", "nvidia.com/GRID_A100-1-5C" },
		{ "NVIDIA A2-4Q", "nvidia.com/NVIDIA_A2-4Q" },
		{ "  NVIDIA \t A2-4Q  ", "nvidia.com/NVIDIA_A2-4Q" },
		{ "A2/A16.5 Q", "nvidia.com/A2_A16_5_Q" },
		{ "A2 / A16", "nvidia.com/A2___A16" },
		/* Kubernetes takes no name that ends so. */
		{ "A2-4Q /", "nvidia.com/A2-4Q" },
	};
	char name[RESOURCE_NAME], all[300];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		types_resource(rows[i][0], name);
		CHECK_STR(name, rows[i][1]);
	}
	line_of(all, "", 'x', sizeof(all) - 1, "");
	types_resource(all, name);
	CHECK_EQ(strlen(name), RESOURCE_NAME - 1);
}

/* ---- the lines of profiles */

static void noted(struct world_fake *w, const char *profiles)
{
	struct key key = fake_key(CARD);

	model_lock(w->model);
	CHECK_EQ(model_set_text(w->model, &model_edit(w->model, &key, false)->facts.profiles,
				profiles, strlen(profiles)),
		 0);
	model_publish(w->model);
	types_of(w->model, model_find(w->model, &key), &types);
	model_unlock(w->model);
}

static struct world_fake a_card(void)
{
	fake_machine();
	fake_add(&(struct fake){ CARD, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
	fake_add(&(struct fake){ VF0, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 42 });
	fake_virtfn(CARD, 0, VF0);
	fake_attr(CARD, "sriov_totalvfs", "16\n");
	fake_attr(CARD, "sriov_vf_device", "0x25b6\n");
	fake_attr(VF0, "nvidia/current_vgpu_type", "0\n");
	fake_attr(VF0, "nvidia/creatable_vgpu_types", "ID : vGPU Name\n");
	return fake_open();
}

DEFINE_TEST(profiles_are_read_as_they_were_written)
{
	static const char *const names[] = {
		"NVIDIA A2-4Q", "with \"quotes\"", "a  b", "A2/A16", "back\\slash\\",
		"a=b",		"\xc3\xa4 \xc3\xb6",   "name", "none"
	};
	char text[2048] = "ID : vGPU Name\n";
	struct world_fake w = a_card();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		sprintf(text + strlen(text), "%zu : %s\n", 700 + i, names[i]);
	fake_attr(VF0, "nvidia/creatable_vgpu_types", text);
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	for (size_t vf = 0; vf < 2; vf++) {
		struct key key = fake_key(vf ? VF0 : CARD);

		model_lock(w.model);
		types_of(w.model, model_find(w.model, &key), &types);
		model_unlock(w.model);
		CHECK_EQ(types.n, ARRAY_SIZE(names));
		for (size_t i = 0; i < types.n; i++) {
			CHECK_STR(types.v[i].name, names[i]);
			CHECK_EQ(types.v[i].available, 1);
			CHECK_EQ(atoi(types.v[i].id), 700 + (int)i);
		}
	}
	fake_close(&w);
}

DEFINE_TEST(profiles_of_another_program_are_read_as_far_as_they_are_understood)
{
	struct world_fake w = a_card();

	noted(&w, "name=A id=1 available=2 max=4 framebuffer_mib=512 reason=\"x y\" colour=red\n"
		  "id=2 name=\"B b\"\n"
		  "name=C\n"
		  "id=4\n"
		  "name=\"open id=5\n"
		  "name=F id=6 available=many max=-7\n"
		  "\n"
		  "name=G id=7 available=99999999999\n"
		  "name=this-id-is-too-long-for-one id=12345678901234567890\n"
		  "name=H id=8");
	CHECK_EQ(types.n, 5);
	CHECK_EQ(types.v[0].available, 2);
	CHECK_EQ(types.v[0].max, 4);
	CHECK_EQ(types.v[0].framebuffer_mib, 512);
	CHECK_STR(types.v[0].why, "x y");
	CHECK_STR(types.v[1].name, "B b");
	CHECK_EQ(types.v[1].available, -1);
	CHECK_STR(types.v[2].name, "F");
	CHECK_EQ(types.v[2].available, -1);
	CHECK_EQ(types.v[2].max, -1);
	CHECK_STR(types.v[3].name, "G");
	CHECK_STR(types.v[4].name, "H");
	fake_close(&w);
}

/* The list is longest while nothing is made. */
static void sees(struct world_fake *w, const char *list, const char *ids)
{
	struct key key = fake_key(CARD);
	char said[256] = "";

	fake_attr(VF0, "nvidia/creatable_vgpu_types", list);
	CHECK_EQ(backend_scan(w->backend, NULL), 0);
	model_lock(w->model);
	types_of(w->model, model_find(w->model, &key), &types);
	model_unlock(w->model);
	for (size_t i = 0; i < types.n; i++)
		sprintf(said + strlen(said), "%s%s", i ? " " : "", types.v[i].id);
	CHECK_STR(said, ids);
}

DEFINE_TEST(a_card_is_known_to_have_what_it_had)
{
	struct world_fake w = a_card();

	sees(&w, "1 : A\n2 : twin\n3 : twin\n", "1 2 3");
	sees(&w, "3 : twin\n", "1 2 3");
	sees(&w, "", "1 2 3");
	sees(&w, "4 : B\n", "1 2 3 4");
	/* Another driver counts in its own way. */
	sees(&w, "11 : A\n12 : twin\n13 : twin\n", "4 11 12 13");
	/* And gives an id to another type. */
	sees(&w, "4 : A\n", "4 12 13");
	CHECK_STR(types.v[0].name, "A");
	fake_close(&w);
}
