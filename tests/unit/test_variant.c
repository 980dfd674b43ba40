// SPDX-License-Identifier: GPL-2.0-or-later
#include "backend/pci/variant.h"
#include "pcidevfs/valid.h"
#include "test.h"

static const char *variant_of(const char *text, uint16_t vendor, uint16_t device)
{
	static char driver[DRIVER_NAME];
	struct facts f = { .vendor = vendor, .device = device, .class_code = 0x020000 };

	variant_choose(text, &f, driver);
	return driver;
}

DEFINE_TEST(the_best_variant_is_chosen)
{
	static const char text[] =
		"alias pci:v000015B3d0000101Esv*sd*bc*sc*i* mlx5_core\n"
		"alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
		"alias vfio_pci:v000015B3d*sv*sd*bc02sc*i* other_vfio_pci\n"
		"alias vfio_pci:v000015B3d0000101Esv*sd*bc02sc*i* mlx5_vfio_pci\n"
		"alias vfio_pci:v000015B3d0000101Esv*sd*bc02sc00i* host_driver\n"
		"alias vfio_pci:v000015B3d0000101Esv*sd*bc02sc00i*\n"
		"alias vfio_pci:v000015B3d0000101Esv*sd*bc02sc00i00 ../../evil_vfio_pci\n"
		"alias vfio_pci:v15B3d101Esv*sd*bc*sc*i* short_vfio_pci\n"
		"alias vfio_pci:";

	CHECK_STR(variant_of(text, 0x15b3, 0x101e), "mlx5_vfio_pci");
	CHECK_STR(variant_of(text, 0x15b3, 0x1018), "other_vfio_pci");
	CHECK_STR(variant_of(text, 0x8086, 0x1018), "vfio-pci");
	CHECK_STR(variant_of("", 0x8086, 0x1018), "vfio-pci");
}
