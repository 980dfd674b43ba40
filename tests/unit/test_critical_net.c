// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "fakehost.h"
#include "test.h"

#define NIC1 "pci0000:00/0000:00:03.0/0000:03:00.0"
#define NIC2 "pci0000:00/0000:00:03.0/0000:03:00.1"

static void put_nic(const char *where, const char *name)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/net", where);
	host_class("net", dir, name);
	host_file("0x1003\n", "sys/class/net/%s/flags", name);
}

static void nic_stack(const char *upper, const char *lower)
{
	host_link("../x", "sys/class/net/%s/lower_%s", upper, lower);
	host_link("../x", "sys/class/net/%s/upper_%s", lower, upper);
}

static void nic_master(const char *master, const char *nic)
{
	char target[64];

	nic_stack(master, nic);
	snprintf(target, sizeof(target), "../%s", master);
	host_link(target, "sys/class/net/%s/master", nic);
}

#define ROUTES                                                                                     \
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define DEFAULT_ROUTE(nic) nic "\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"

DEFINE_TEST(critical_route_through_vlan_bridge_and_bond)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "bond0");
	put_nic("virtual", "br0");
	put_nic("virtual", "br0.5");
	host_file("", "sys/class/net/bond0/bonding/mode");
	nic_master("bond0", "eno1");
	nic_master("bond0", "eno2");
	nic_master("br0", "bond0");
	nic_stack("br0.5", "br0");
	host_file(ROUTES DEFAULT_ROUTE("br0.5"), "proc/1/net/route");
	EXPECT_CRITICAL(
		"",
		"0000:03:00.0 NIC eno1 carries the default route through bond0, br0 and br0.5\n"
		"0000:03:00.1 NIC eno2 carries the default route through bond0, br0 and br0.5\n");
	EXPECT_ONLY(
		"0000:03:00.1", "",
		"0000:03:00.1 NIC eno2 carries the default route through bond0, br0 and br0.5\n");
	EXPECT_ONLY("0000:03:00.2", "", "");
	host_file(ROUTES, "proc/1/net/route");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is below bond bond0\n"
			    "0000:03:00.1 NIC eno2 is below bond bond0\n");
}

DEFINE_TEST(critical_ipv6_default_route)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
#define ANY6                                                                                       \
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "                 \
	"fe800000000000000000000000000001 00000400 00000001 00000000 "
	host_file(ANY6 "00200200 eno2\n" ANY6 "00450003 eno1\n", "proc/1/net/ipv6_route");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 carries the default route\n");
}

#define NET(nic, net, gw) nic "\t" net "\t" gw "\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"

DEFINE_TEST(critical_global_address)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	/* link-local, multicast, loopback, and a net behind a gateway tell nothing of an address */
	host_file(ROUTES NET("eno1", "0000FEA9", "00000000") NET("eno1", "000000E0", "00000000")
			  NET("eno1", "0000007F", "00000000") NET("eno1", "0001A8C0", "0101A8C0")
				  NET("eno2", "0001A8C0", "00000000"),
		  "proc/net/route");
	host_file("fe800000000000000000000000000001 02 40 20 80 eno1\n", "proc/net/if_inet6");
	EXPECT_CRITICAL("", "0000:03:00.1 NIC eno2 is up with a global address\n");
	host_file("fd000000000000000000000000000001 02 40 00 80 eno1\n", "proc/net/if_inet6");
	host_file("0x1002\n", "sys/class/net/eno2/flags");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is up with a global address\n");
}

DEFINE_TEST(critical_address_on_a_vlan)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "eno1.7");
	nic_stack("eno1.7", "eno1");
	EXPECT_CRITICAL("", "");
	host_file("fd000000000000000000000000000001 02 40 00 80 eno1.7\n", "proc/1/net/if_inet6");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is up with a global address through eno1.7\n");
}

DEFINE_TEST(critical_bridge_over_vlan)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "eno1.7");
	put_nic("virtual", "br7");
	host_file("", "sys/class/net/br7/bridge/bridge_id");
	nic_stack("eno1.7", "eno1");
	nic_master("br7", "eno1.7");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is below bridge br7 through eno1.7\n");
}

DEFINE_TEST(critical_open_vswitch_and_team)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "ovs-system");
	put_nic("virtual", "team0");
	/* without upper_ and lower_ links, as older kernels have it */
	host_link("../ovs-system", "sys/class/net/eno1/master");
	host_link("../team0", "sys/class/net/eno2/master");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is below the Open vSwitch datapath ovs-system\n"
			    "0000:03:00.1 NIC eno2 is below team0\n");
}

DEFINE_TEST(critical_nic_cycle_ends)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "a");
	put_nic("virtual", "b");
	nic_stack("a", "b");
	nic_stack("b", "a");
	nic_stack("b", "eno1");
	host_file(ROUTES DEFAULT_ROUTE("a"), "proc/1/net/route");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 carries the default route through b and a\n");
}

DEFINE_TEST(critical_below_what_a_guest_has)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "macvtap0");
	put_nic("virtual", "eno2.7");
	put_nic("virtual", "ipvl0");
	nic_stack("macvtap0", "eno1");
	nic_stack("eno2.7", "eno2");
	nic_stack("ipvl0", "eno2.7");
	host_file("DEVTYPE=macvtap\nINTERFACE=macvtap0\n", "sys/class/net/macvtap0/uevent");
	host_file("DEVTYPE=vlan\nINTERFACE=eno2.7\n", "sys/class/net/eno2.7/uevent");
	host_file("INTERFACE=ipvl0\nXDEVTYPE=ipvlan\n", "sys/class/net/ipvl0/uevent");
	EXPECT_CRITICAL("", "0000:03:00.0 NIC eno1 is below macvtap macvtap0\n");
	host_file("INTERFACE=ipvl0\nDEVTYPE=ipvlan", "sys/class/net/ipvl0/uevent");
	EXPECT_ONLY("0000:03:00.1", "",
		    "0000:03:00.1 NIC eno2 is below ipvlan ipvl0 through eno2.7\n");
	host_file("0x1002\n", "sys/class/net/macvtap0/flags");
	EXPECT_ONLY("0000:03:00.0", "", "");
}

DEFINE_TEST(critical_pppoe)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "ppp0");
	host_file(ROUTES DEFAULT_ROUTE("ppp0"), "proc/1/net/route");
	host_file("Id       Address              Device\n", "proc/1/net/pppoe");
	EXPECT_CRITICAL("", "");
	host_file("Id       Address              Device\n"
		  "01000000 00:11:22:33:44:55     eno2\nrubbish\n",
		  "proc/1/net/pppoe");
	EXPECT_CRITICAL("", "0000:03:00.1 NIC eno2 carries a PPPoE session\n");
}

#define CAUSE "0000:03:00.0 cause="

/* No cause hides behind a weightier one, and each names what the NIC is below. */
DEFINE_TEST(critical_each_cause_of_a_nic_is_told)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "br0");
	put_nic("virtual", "eno1.7");
	put_nic("virtual", "macvtap0");
	put_nic("virtual", "macvtap1");
	host_file("", "sys/class/net/br0/bridge/bridge_id");
	nic_master("br0", "eno1");
	nic_stack("eno1.7", "eno1");
	nic_stack("macvtap0", "eno1");
	nic_stack("macvtap1", "eno1.7");
	host_file("DEVTYPE=macvtap\n", "sys/class/net/macvtap0/uevent");
	host_file("DEVTYPE=macvtap\n", "sys/class/net/macvtap1/uevent");
	host_file(ROUTES DEFAULT_ROUTE("eno1") NET("eno1", "0001A8C0", "00000000")
			  NET("eno1", "0002A8C0", "00000000") NET("eno1.7", "0003A8C0", "00000000"),
		  "proc/1/net/route");
	host_file("Id Address Device\n01000000 00:11:22:33:44:55 eno1\n"
		  "02000000 00:11:22:33:44:66 eno1\n",
		  "proc/1/net/pppoe");
	EXPECT_CAUSES("",
		      "0000:03:00.0 NIC eno1 carries the default route\n" CAUSE "route eno1\n" CAUSE
		      "address eno1\n" CAUSE "address eno1 eno1.7\n" CAUSE "below eno1 br0\n" CAUSE
		      "below eno1 macvtap0\n" CAUSE "below eno1 macvtap1\n" CAUSE "pppoe eno1\n");
}
