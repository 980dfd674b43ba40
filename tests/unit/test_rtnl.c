// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages as a kernel sent them, in a network with interfaces n1 (3) and n2 (5). */
#include "test.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/guard/rtnl.h"
#include "pcidevfs/util.h"
#include "pcidevfs/vfconf.h"

/* blackhole default table 9 */
#define BLACKHOLE "2400000018000200000000009943000002000000090300060000000008000f0009000000"
/* default dev n2 table 100 */
#define TABLE_100                                                                                  \
	"2c000000180002000000000099430000020000006403fd010000000008000f0064000000"                 \
	"0800040005000000"
/* default nexthop dev n1 nexthop dev n2 */
#define TWO_WAYS                                                                                   \
	"3800000018000200000000009943000002000000fe0300010000000008000f00fe000000"                 \
	"1400090008000000030000000800000005000000"
/* default nhid 1 metric 9, with nexthop_compat_mode 0 */
#define APART                                                                                      \
	"3400000018000200000000009943000002000000fe0300010000000008000f00fe000000"                 \
	"080006000900000008001e0001000000"
/* 198.51.100.0/24 dev n2 */
#define CONNECTED                                                                                  \
	"3400000018000200000000009943000002180000fe03fd010000000008000f00fe000000"                 \
	"08000100c63364000800040005000000"
/* local 203.0.113.8 dev n1 table local */
#define LOCAL                                                                                      \
	"3c00000018000200000000009943000002200000ff02fe020000000008000f00ff000000"                 \
	"08000100cb00710808000700cb0071080800040003000000"
/* default table 7 nexthop via fe80::1 dev n1 nexthop via fe80::2 dev n2 */
#define TWO_WAYS6                                                                                  \
	"940000001800020000000000994300000a000000070300010000000008000f0007000000"                 \
	"08000600000400003c0009001c0000000300000014000500fe80000000000000"                         \
	"00000000000000011c0000000500000014000500fe800000000000000000000000000002"                 \
	"24000c000000000000000000000000000000000000000000000000000000000000000000"                 \
	"0500140000000000"
/* unreachable default metric 77 */
#define UNREACHABLE6                                                                               \
	"600000001800020000000000994300000a000000fe0300070000000008000f00fe000000"                 \
	"080006004d000000080004000100000024000c0000000000000000000000000000000000"                 \
	"000000000000000000000000000000000500140000000000"
/* fe80::/64 dev n1 */
#define LINK_ROUTE6                                                                                \
	"740000001800020000000000994300000a400000fe0200010000000008000f00fe000000"                 \
	"14000100fe8000000000000000000000000000000800060000010000080004000300000024000c00"         \
	"00000000000000000000000000000000000000000000000000000000000000000500140000000000"
/* 127.0.0.1/8 dev lo, 203.0.113.8/32 dev n1, 2001:db8::1/64 dev n2, fe80::.../64 dev n2 */
#define LOOPBACK                                                                                   \
	"4c000000140002000000000099430000020880fe01000000080001007f00000108000200"                 \
	"7f000001070003006c6f0000080008008000000014000600ffffffffffffffffcbd55600cbd55600"
#define ADDRESS                                                                                    \
	"4c000000140002000000000099430000022080000300000008000100cb00710808000200"                 \
	"cb007108070003006e310000080008008000000014000600ffffffffffffffffced55600ced55600"
#define ADDRESS6                                                                                   \
	"480000001400020000000000994300000a40c000050000001400010020010db8000000000000000000000001" \
	"14000600ffffffffffffffffced55600ced5560008000800c0000000"
#define LINK_LOCAL6                                                                                \
	"500000001400020000000000994300000a40c0fd0500000014000100fe800000000000008c5133fffe45e91b" \
	"14000600ffffffffffffffffcdd55600cdd5560008000800c000000005000b0003000000"
/* next hop 1 dev n2 */
#define OBJECT "2800000068000200000000009943000002fe00000000000008000100010000000800050005000000"
/* link n1, told by the interface itself, and as a port by its bridge; and that it is gone */
#define LINK "2000000010000000000000000000000000000100030000000310000000000000"
#define PORT "2000000010000000000000000000000007000100030000000310000000000000"
/* link n1 of 0000:05:02.0 on pci, and of virtio0 on virtio */
#define LINK_PCI                                                                                   \
	"3c000000100000000000000000000000000001000300000003100000000000001100380030303030"         \
	"3a30353a30322e30000000000800390070636900"
#define LINK_VIRTIO                                                                                \
	"38000000100000000000000000000000000001000300000003100000000000000c00380076697274"         \
	"696f30000b00390076697274696f0000"
#define LINK_GONE "2000000011000000000000000000000000000100030000000310000000000000"
/* a neighbour */
#define NEIGHBOUR "1c0000001c0000000000000000000000020000000300000002000001"
#define DONE "1400000003000200000000009943000000000000"
/* -EOPNOTSUPP */
#define REFUSED "24000000020000000000000099430000a1ffffff140000001a0001030000000099430000"

/* link n1 with three VFs: the second has no address, and a driver without trust and spoof check; the
 * third an address of 20 bytes, a reserved VLAN, and a spoof check that is neither on nor off */
#define VFS                                                                                        \
	"4c01000010000000994300000000000000000100030000000310000000000000070003006e310000"         \
	"24011600600001002800010000000000525400aabbcc000000000000000000000000000000000000"         \
	"0000000000000000100002000000000064000000000000000c00030000000000000000000c000400"         \
	"00000000010000000c0009000000000000000000600001002800010001000000"                         \
	"0000000000000000000000000000000000000000000000000000000000000000"                         \
	"100002000100000000000000000000000c00030001000000000000000c00040001000000ffffffff"         \
	"0c00090001000000ffffffff6000010028000100020000000102030405060708090a0b0c0d0e0f10"         \
	"111213140000000000000000000000001000020002000000ff0f0000000000000c00030002000000"         \
	"000000000c00040002000000020000000c0009000200000001000000"
#define SEQ 0x4399
/* done; -EOPNOTSUPP, -EBUSY and what the driver says, behind the head or all of the request */
#define ACK "240000000200000199430000000000000000000040000000130005009943000000000000"
#define NO_TRUST                                                                                   \
	"38000000020000039943000000000000a1ffffff4000000013000500994300000000000012000100"         \
	"6e6f2074727573742068657265000000"
#define NO_TRUST_WHOLE                                                                             \
	"40000000020000029943000000000000f0ffffff1800000013000500994300000000000001010101"         \
	"01010101120001006e6f2074727573742068657265000000"

static size_t bytes_of(const char *hex, unsigned char *ret, size_t size)
{
	size_t n = 0;

	for (; hex[2 * n] && hex[2 * n + 1] && n < size; n++) {
		const char digits[] = { hex[2 * n], hex[2 * n + 1], '\0' };

		ret[n] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return n;
}

static void note(void *ctx, const struct rtnl_use *use)
{
	out_printf(ctx, "%d%s%s ", use->index, use->is_default ? " default" : "",
		   use->is_global ? " global" : "");
}

/* What is told, then the result. */
static int parse(const char *hex, struct out *ret, bool *ret_apart)
{
	unsigned char data[2048];
	size_t n = bytes_of(hex, data, sizeof(data));

	*ret_apart = false;
	return rtnl_parse(data, n, ret_apart, note, ret);
}

DEFINE_TEST(rtnl_tells_every_way_out)
{
	static const struct {
		const char *hex, *told;
		int rc;
		bool apart;
	} rows[] = {
		{ "", "", 0, false },
		{ BLACKHOLE, "", 0, false },
		{ TABLE_100, "5 default ", 0, false },
		{ TWO_WAYS, "3 default 5 default ", 0, false },
		{ APART, "", 0, true },
		{ APART TABLE_100, "5 default ", 0, true },
		{ CONNECTED, "5 global ", 0, false },
		{ LOCAL, "", 0, false },
		{ TWO_WAYS6, "3 default 5 default ", 0, false },
		{ LINK_ROUTE6, "", 0, false },
		{ UNREACHABLE6, "", 0, false },
		{ LOOPBACK ADDRESS LINK_LOCAL6 ADDRESS6, "3 global 5 global ", 0, false },
		{ OBJECT, "5 default ", 0, false },
		{ TABLE_100 DONE ADDRESS, "5 default ", 1, false },
		{ DONE, "", 1, false },
		{ REFUSED, "", -EOPNOTSUPP, false },
		/* not the end of a message, not even of a header */
		{ TWO_WAYS "2c000000180002", "3 default 5 default ", -EPROTO, false },
		{ "2c00000018000200000000009943000002", "", -EPROTO, false },
		{ "0000000018000200000000009943000002000000", "", -EPROTO, false },
	};

	if (__BYTE_ORDER != __LITTLE_ENDIAN)
		SKIP("what was recorded is little-endian");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out told = { 0 };
		bool apart;

		CHECK_EQ(parse(rows[i].hex, &told, &apart), rows[i].rc);
		CHECK_STR(out_text(&told), rows[i].told);
		CHECK_EQ(apart, rows[i].apart);
		out_free(&told);
	}
}

/* Each byte of it wrong in turn: nothing is read that is not there, nothing told that is none. */
DEFINE_TEST(rtnl_survives_odd_lengths)
{
	static const char *const all[] = { TWO_WAYS, TWO_WAYS6, ADDRESS, OBJECT };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		unsigned char data[256];
		size_t n = bytes_of(all[i], data, sizeof(data));

		for (size_t at = 0; at < n; at++)
			for (int value = 0; value < 256; value++) {
				struct out told = { 0 };
				unsigned char was = data[at];
				bool apart = false;

				data[at] = (unsigned char)value;
				CHECK(rtnl_parse(data, n, &apart, note, &told) <= 1);
				CHECK(!strchr(out_text(&told), '-'));
				data[at] = was;
				out_free(&told);
			}
	}
}

/* What comes unasked, as changes are told. */
DEFINE_TEST(rtnl_knows_what_is_news)
{
	static const struct {
		const char *hex;
		bool news;
		const char *function;
	} rows[] = {
		{ "", false },
		{ TABLE_100, true },
		{ TWO_WAYS, true },
		{ TWO_WAYS6, true },
		{ APART, true },
		{ CONNECTED, false },
		{ LOCAL, false },
		{ LINK_ROUTE6, false },
		{ ADDRESS, true },
		{ ADDRESS6, true },
		{ LOOPBACK LINK_LOCAL6, false },
		{ LOOPBACK LINK_LOCAL6 ADDRESS, true },
		{ OBJECT, true },
		{ LINK, true },
		{ LINK_PCI, true, "0000:05:02.0" },
		{ NEIGHBOUR LINK_PCI CONNECTED, true, "0000:05:02.0" },
		{ LINK_PCI LINK_PCI, true },
		{ LINK_PCI ADDRESS, true },
		{ LINK_VIRTIO, true },
		{ LINK_GONE, false },
		{ PORT, false },
		{ NEIGHBOUR, false },
		/* what cannot be read may be anything */
		{ CONNECTED "2c00000018", true },
		{ "1000000018000000000000000000000000", true },
	};

	if (__BYTE_ORDER != __LITTLE_ENDIAN)
		SKIP("what was recorded is little-endian");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned char data[2048];
		size_t n = bytes_of(rows[i].hex, data, sizeof(data));
		char function[KEY_NAME];

		if (rtnl_is_news(data, n, function) != rows[i].news)
			FAIL("row %zu", i);
		CHECK_STR(function, rows[i].function ? rows[i].function : "");
	}
}

static void note_vf(void *ctx, unsigned int vf, const char *conf)
{
	out_printf(ctx, "%u: %s\n", vf, conf);
}

DEFINE_TEST(rtnl_tells_the_settings_of_vfs)
{
	static const struct {
		const char *hex, *told, *said;
		int rc;
	} rows[] = {
		{ "", "", "", 0 },
		{ VFS,
		  "0: mac=52:54:00:aa:bb:cc vlan=100 trust=0 spoofchk=1\n1: vlan=0\n"
		  "2: vlan=4095 trust=1\n",
		  "", 1 },
		{ ACK, "", "", 1 },
		{ NO_TRUST, "", "no trust here", -EOPNOTSUPP },
		{ NO_TRUST_WHOLE, "", "no trust here", -EBUSY },
		/* other requests, and nobody's */
		{ REFUSED, "", "", 0 },
		{ LINK_PCI ACK, "", "", 1 },
		{ "2c000000180002", "", "", -EPROTO },
	};

	if (__BYTE_ORDER != __LITTLE_ENDIAN)
		SKIP("what was recorded is little-endian");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out told = { 0 };
		struct rtnl_answer answer = { .found = note_vf, .ctx = &told };
		unsigned char data[2048];
		size_t n = bytes_of(rows[i].hex, data, sizeof(data));

		CHECK_EQ(rtnl_parse_answer(data, n, SEQ, &answer), rows[i].rc);
		CHECK_STR(out_text(&told), rows[i].told);
		CHECK_STR(answer.said, rows[i].said);
		out_free(&told);
	}
}

DEFINE_TEST(vfconf_has_one_spelling)
{
	static const struct {
		enum vfconf which;
		const char *text, *value;
		int rc;
	} rows[] = {
		{ VFCONF_MAC, "52:54:00:AA:bb:Cc", "52:54:00:aa:bb:cc", 0 },
		{ VFCONF_MAC, "52:54:0:aa:bb:cc", "", -EINVAL },
		{ VFCONF_MAC, "52:54:00:aa:bb", "", -EINVAL },
		{ VFCONF_MAC, "52:54:00:aa:bb:cc ", "", -EINVAL },
		{ VFCONF_MAC, "5", "", -EINVAL },
		{ VFCONF_MAC, "", "", -EINVAL },
		{ VFCONF_MAC, "00:00:00:00:00:00", "", -EINVAL },
		{ VFCONF_MAC, "01:00:5e:00:00:01", "", -EINVAL },
		{ VFCONF_MAC, "ff:ff:ff:ff:ff:ff", "", -EINVAL },
		{ VFCONF_VLAN, "0", "0", 0 },
		{ VFCONF_VLAN, "0x10", "16", 0 },
		{ VFCONF_VLAN, "4094", "4094", 0 },
		{ VFCONF_VLAN, "4095", "", -ERANGE },
		{ VFCONF_VLAN, "-1", "", -EINVAL },
		{ VFCONF_TRUST, "On", "1", 0 },
		{ VFCONF_SPOOFCHK, "no", "0", 0 },
		{ VFCONF_SPOOFCHK, "2", "", -EINVAL },
	};
	char text[VFCONF_TEXT] = "", value[VFCONF_VALUE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		value[0] = '\0';
		CHECK_EQ(vfconf_parse(rows[i].which, rows[i].text, value), rows[i].rc);
		CHECK_STR(value, rows[i].value);
	}
	vfconf_add(text, VFCONF_VLAN, "7");
	vfconf_add(text, VFCONF_SPOOFCHK, "1");
	CHECK_STR(text, "vlan=7 spoofchk=1");
	vfconf_get(text, VFCONF_SPOOFCHK, value);
	CHECK_STR(value, "1");
	vfconf_get(text, VFCONF_MAC, value);
	CHECK_STR(value, "");
	vfconf_get("xvlan=3 vlan=12345678901234567890", VFCONF_VLAN, value);
	CHECK_STR(value, "12345678901234567");
}
