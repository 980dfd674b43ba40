"""own_name.py [shifted]: two equal cards without serial numbers, as a recorded machine; shifted: a drive in an earlier
slot has taken the first bus number, so that the cards' addresses are one higher."""
import sys

source = open("tests/machines/make-small-server").read()
exec(source[:source.index('\nDevice("/devices/virtual/iommu/dmar0"')])

shift = int(sys.argv[1:] == ["shifted"])
Device("/devices/virtual/iommu/dmar0", "iommu").attr("intel-iommu/version", "1:0\n")
host = Device("/devices/virtual/pcidevfs-sim", "pcidevfs-sim").attr("proc/cmdline", "ro\n")
host.attr("proc/1/mounts", "").attr("proc/1/mountinfo", "")
host.prop("DRIVER_magewell", "pci:v00001CD7d00000010sv*sd*")
pci(ROOT, "0000:00:00.0", "8086:191f", 0x060000, 0)
if shift:
    port = root_port("0000:00:1b.0", 30, 1, "8086:a167")
    pci(port, "0000:01:00.0", "144d:a80a", 0x010802, 31, "nvme", "144d:a801")
for i, slot in enumerate(("0000:00:1c.0", "0000:00:1c.4")):
    bus = i + 1 + shift
    port = root_port(slot, 32 + 2 * i, bus, "8086:a110")
    pci(port, f"0000:{bus:02x}:00.0", "1cd7:0010", 0x048000, 33 + 2 * i, "magewell", "1cd7:0010")
sys.stdout.write("\n".join(r.text() for r in sorted(records, key=lambda r: r.path)))
