# SPDX-License-Identifier: GPL-2.0-or-later
# make              build every program into build/bin/
# make pcidevfsd    the daemon alone, without gRPC; likewise pcidevfs-plugin, pcidevfs-sim
# make demo         a tour on a simulated server, left mounted for playing; make demo-reboot, demo-stop
# make demo GPU=mdev  the same, where vGPUs are mediated devices of VFs; GPU=mdev-pf: of the card itself
# make install      what is built, below PREFIX (/usr), or a copy of the system's tree in DESTDIR
# make uninstall    remove what make install put there; the stored intents stay
# make deb          packages for Debian, into build/deb; REVISION=1 makes newer ones of the same version
# make image        an OCI image of all programs, for $(CC)'s processor: IMAGE=NAME:TAG, OPT=1 for /opt besides (docs/DEPLOY.md)
# make chart        the Helm chart for Harvester: CHART=1.8.2, IMAGE=NAME:TAG
# make rpm          the same for Fedora and SLE, into build/rpm
# make test-packages  installs and upgrades the packages on bare machines of two Debian releases
# make deps         install what the programs are built with
# make test         every test this machine can run, but for those on genuine Kubernetes
# make test-k8s     those, which it builds the first time; KUBERNETES=1.37: on another version (tests/k8s/ground/v*)
# make test-unit    one area: also test-fs, test-lab; with sanitizers: test-asan, test-tsan
# make torture      a random tester: SEED=1 SECONDS=60; torture-k8s
# make fuzz         all fuzzers, FUZZ_SECONDS each
# make bench        times, against their limits; bench-k8s those of pcidevfs-sync on genuine Kubernetes
# make mutate       breaks deciding places, each of which a test must see (tests/mutate/list); ONLY=WORD
# make lint         clang-tidy, cppcheck, our own rules; make format; make check-clang: its warnings
# make docs         docs/FILES.md and docs/man/pcidevfs.1 from the tables; make check-docs
# make clean        remove what was built
#
# V=1 shows the commands, B=DIR builds elsewhere.

VERSION := 0.2.0
B := build
PREFIX ?= /usr
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
# Where pcidevfsd looks for it: ../libexec/pcidevfs, from where it lies itself.
LIBEXECDIR ?= $(PREFIX)/libexec/pcidevfs
UNITDIR ?= $(PREFIX)/lib/systemd/system
RULESDIR ?= $(PREFIX)/lib/udev/rules.d
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR ?= $(PREFIX)/share/doc/pcidevfs
FUZZ_SECONDS ?= 20
CLANG ?= clang
PKG_CONFIG ?= pkg-config

# All cores, unless somebody says how many jobs. Another make that we start shares them.
ifeq ($(filter -j%,$(MAKEFLAGS))$(filter-out 0,$(MAKELEVEL)),)
MAKEFLAGS += -j$(shell nproc)
endif

Q := $(if $(V),,@)
say = @$(if $(V),:,echo '  $(1)	$(2)')

# Of a list the first option that the compiler takes, for this processor and this C library.
hash := \#
takes = $(firstword $(foreach o,$(1),$(shell echo '$(hash)include <features.h>' | \
	$(CC) -O2 -U_FORTIFY_SOURCE -Werror $(o) -x c -c - -o /dev/null 2>/dev/null && echo $(o))))
# An index beyond an array whose size is known ends the process.
trap := $(call takes,-fsanitize-trap=bounds -fsanitize-undefined-trap-on-error)
# Ubuntu's gcc presets _FORTIFY_SOURCE; sanitizers know their own checks better than these do.
HARDEN := -fstack-protector-strong $(call takes,-fstack-clash-protection) -U_FORTIFY_SOURCE \
	$(call takes,-D_FORTIFY_SOURCE=3 -D_FORTIFY_SOURCE=2) $(if $(trap),-fsanitize=bounds $(trap)) \
	$(call takes,-fcf-protection -mbranch-protection=standard)
SANITIZE :=
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-missing-field-initializers -Wno-unused-parameter
base_cflags = -std=gnu11 -D_GNU_SOURCE= -DVERSION='"$(VERSION)"' -Iinclude -I$(B)/gen -I. \
	$(WARN) $(WERROR) -fno-strict-aliasing -pthread -fPIE $(pkg_cflags)
checks = $(or $(SANITIZE),$(HARDEN))
all_cflags = $(base_cflags) $(checks) $(CFLAGS)
all_ldflags = -pthread $(SANITIZE) -Wl,-z,relro,-z,now $(LDFLAGS)
pie := -pie

# Without pkg-config make still runs: `make deps` is what installs it.
pkg_cflags := $(shell $(PKG_CONFIG) --cflags fuse3 libkmod 2>/dev/null)
lib_fuse := $(or $(shell $(PKG_CONFIG) --libs fuse3 2>/dev/null),-lfuse3)

# A room is a folder with the folders in it; who may include whom is told in docs/HACKING.md.
room = $(wildcard $(1)/*.c $(1)/*/*.c)
core := $(foreach r,base model backend,$(call room,$(r)))
sim_main := tests/simkernel/main.c
sim := $(filter-out $(sim_main),$(wildcard tests/simkernel/*.c)) tests/nvml/card.c
tree := $(filter-out fs/daemon/main.c,$(call room,fs))
fuzzers := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

src_pcidevfsd := $(core) $(tree) fs/daemon/main.c
src_pcidevfs-sim := $(sim_main)
# Loads NVIDIA's library at run time; a program of its own, so that a crash of that library ends no other.
src_pcidevfs-nvml := $(wildcard backend/gpu/nvml/*.c)
# Messages of kubelet's APIs are compiled from their .proto.
proto := $(patsubst plugin/%.proto,$(B)/gen/%.pb-c.c,$(wildcard plugin/*.proto))
src_pcidevfs-plugin := $(call room,plugin)
# What decides, without sockets, threads and clocks.
plugin_pure := $(wildcard plugin/kubelet/*.c)
src_pcidevfs-sync := $(call room,k8s-sync)
src_pcidevfs := $(call room,cli)
# Likewise: tables, agreement, and the readers of what comes from outside.
sync_pure := $(wildcard k8s-sync/agree/*.c k8s-sync/nvidia/*.c) $(filter-out %/http.c %/wire.c %/multi.c,$(wildcard k8s-sync/api/*.c)) \
	$(addprefix k8s-sync/cluster/,picks.c offers.c entries.c permitted.c allocation.c changes.c lost.c)
# What these send a test answers.
sync_asks := $(addprefix k8s-sync/,node.c writes.c $(addprefix cluster/,vms.c patching.c rolls.c))
# Likewise of the command.
cli_pure := $(addprefix cli/,access.c anonymous.c out.c tar.c)
src_unit := $(wildcard tests/unit/*.c) $(core) $(tree) $(plugin_pure) $(sync_pure) $(sync_asks) $(cli_pure) $(call room,client)
libs_pcidevfsd := $(lib_fuse)
libs_pcidevfs-sim := $(lib_fuse) -lz
# pkg-config names a hundred libraries for gRPC; these two ask for the others.
libs_pcidevfs-plugin := -lgrpc_unsecure -lgpr -lprotobuf-c -ljson-c
libs_pcidevfs-sync := -lcurl -ljson-c -lyaml
libs_pcidevfs := -ljson-c -lyaml
libs_pcidevfs-nvml := -ldl
libs_unit := $(lib_fuse) -lprotobuf-c -ljson-c -lyaml -lz
# Archives: of these a program gets what it calls.
ar_pcidevfs-nvml := $(B)/libbase.a
ar_pcidevfs-sim := $(B)/libsim.a $(B)/libbase.a
# A client of the tree knows nothing of devices but what the tree says: the linker proves it.
ar_pcidevfs-plugin := $(B)/libproto.a $(B)/libclient.a $(B)/libbase.a
ar_pcidevfs-sync := $(B)/libclient.a $(B)/libbase.a
ar_pcidevfs := $(B)/libclient.a $(B)/libbase.a
ar_unit := $(B)/libsim.a $(B)/libproto.a
src_libsim.a := $(sim)
src_libbase.a := $(call room,base)
src_libclient.a := $(call room,client)

programs := pcidevfsd pcidevfs pcidevfs-sim pcidevfs-plugin pcidevfs-sync pcidevfs-nvml

# Who has no compiler, or not the libraries, learns it before the compiler says so in its own way.
compiles := $(filter all tests $(programs) unit,$(notdir $(or $(MAKECMDGOALS),all)))
ifneq ($(compiles),)
ifeq ($(shell command -v $(firstword $(CC))),)
$(error $(firstword $(CC)) is not installed; `make deps` installs what the programs are built with)
endif
ifneq ($(shell $(PKG_CONFIG) --exists fuse3 libkmod && echo there),there)
$(info make: libraries are missing; `make deps` installs what the programs are built with)
endif
endif

helpers := $(patsubst %.c,%,$(notdir $(wildcard tests/fs/*.c tests/bench/*.c)))
lab_tools := $(patsubst %.c,%,$(notdir $(wildcard tests/lab/tools/*.c)))

all: $(programs:%=$(B)/bin/%)

$(programs): %: $(B)/bin/%
pcidevfsd: $(B)/bin/pcidevfs-nvml # which it runs

# The head of this file.
help:
	@sed -n 's/^# \(make .*\|V=1 .*\)/\1/p' $(firstword $(MAKEFILE_LIST))

tests: all $(B)/bin/unit $(helpers:%=$(B)/tests/%) $(lab_tools:%=$(B)/tests/%) $(B)/tests/jitter.so \
	$(B)/tests/libnvidia-ml.so.1

# A file that holds TEXT, and is another one only when TEXT is: what depends on it is made again when a source has
# gone, or options have changed.
define kept # kept,FILE,TEXT
$(1): FORCE
	@mkdir -p $$(@D); echo '$(2)' | cmp -s - $$@ || echo '$(2)' >$$@
endef
# Not WERROR: it changes no object.
flags = $(filter-out $(WERROR),$(CC) $(all_cflags) $(all_ldflags) $(CLANG))
$(eval $(call kept,$(B)/list/flags,$$(subst ','\'',$$(flags))))

objs = $(patsubst %.c,$(B)/obj/%.o,$(src_$(1)))
define program
$(call kept,$(B)/list/$(1),$(src_$(1)))
$(B)/bin/$(1): $(call objs,$(1)) $(ar_$(1)) $(B)/list/$(1)
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(pie) $$(all_ldflags) -o $$@ $$(filter %.o %.a,$$^) $$(libs_$(1))
endef
$(foreach p,$(programs) unit,$(eval $(call program,$(p))))

define archive
$(call kept,$(B)/list/$(1),$(src_$(1)))
$(B)/$(1): $(call objs,$(1)) $(B)/list/$(1)
	$$(call say,AR,$$@)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
endef
$(foreach a,libsim.a libbase.a libclient.a,$(eval $(call archive,$(a))))

# Whatever decides how an object is built is part of what it is built from.
$(B)/obj/%.o: %.c Makefile $(B)/list/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(all_cflags) -MMD -MP -c -o $@ $<

$(B)/gen/%.pb-c.c: plugin/%.proto
	$(call say,PROTO,$@)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --c_out=$(@D) --proto_path=plugin $<

$(proto:.c=.o): %.o: %.c
	$(Q)$(CC) -std=gnu11 -fPIE $(checks) $(CFLAGS) -c -o $@ $<

$(B)/libproto.a: $(proto:.c=.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(patsubst %.c,$(B)/obj/%.o,$(call room,plugin) $(wildcard tests/unit/test_plugin*.c)): | $(proto)
$(patsubst %.c,$(B)/fuzz/obj/%.o,$(plugin_pure)): | $(proto)

# The simulation embeds its default machine (.incbin).
$(patsubst %.c,$(B)/obj/%.o,$(sim)): $(wildcard tests/machines/small-server.umockdev)

$(B)/tests/%: tests/fs/%.c Makefile
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(pie) $(all_cflags) $(all_ldflags) -o $@ $<

$(B)/tests/%: tests/bench/%.c tests/bench/bench.h Makefile
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(pie) $(all_cflags) $(all_ldflags) -o $@ $<

# It runs in a program that has no sanitizer's library of its own before it.
$(B)/tests/libnvidia-ml.so.1: $(wildcard tests/nvml/fake*.c) tests/nvml/card.c $(wildcard tests/nvml/*.h) \
		backend/gpu/nvml/abi.h backend/gpu/nvml/functions.def
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(base_cflags) $(CFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $(filter %.c,$^)

$(B)/tests/jitter.so: tests/lib/jitter.c Makefile
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(base_cflags) $(CFLAGS) -fPIC -shared $(all_ldflags) -o $@ $<

# Static: they also run in guests and root directories that have no libc.
$(B)/tests/%: tests/lab/tools/%.c Makefile
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE= $(WARN) $(CFLAGS) -static -o $@ $<

-include $(shell find $(B)/obj $(B)/fuzz/obj -name '*.d' 2>/dev/null)

# ---- what a newcomer runs

deps:
	$(Q)tests/deps build

demo:
	$(Q)deploy/demo/demo ready
	$(Q)tests/deps build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)deploy/demo/demo start

demo-stop demo-reboot: demo-%:
	$(Q)deploy/demo/demo $*

test: deps
	$(Q)tests/deps test || echo 'what needs them is skipped'
	$(Q)tests/nvml/foreign || echo 'what needs them is skipped'
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)B=$(B) tests/run unit fs lab

test-unit test-fs test-lab: test-%: tests
	$(Q)B=$(B) tests/run $*

# Kubernetes, containerd and KubeVirt's consumer code from source, once: 22 minutes on two cores. Without Go
# or a network (77), or where it takes too long (124), the run says what is not built, and skips it.
test-k8s: deps
	$(Q)tests/deps test k8s || echo 'what needs them is skipped'
	$(Q)$(MAKE) --no-print-directory tests k8s-ground
	$(Q)B=$(B) tests/run k8s

k8s-ground:
	$(Q)timeout 2400 tests/k8s/ground/build bin kubevirt peer helm >/dev/null || case $$? in 77|124) ;; *) exit 1 ;; esac

# Threads stop at random: what a busy machine finds once in a thousand runs. T=fs/PATTERN JITTER=PERCENT
T ?= fs
JITTER ?= 25
test-jitter: tests
	$(Q)B=$(B) JITTER=$(JITTER) LD_PRELOAD=$(abspath $(B)/tests/jitter.so) tests/run $(T)

# A random tester: SEED, SECONDS; what failed is done again by `tests/torture/run --trace FILE [--shrink]`.
SEED ?= 1
SECONDS ?= 60
torture: tests
	$(Q)B=$(B) tests/torture/run --seed $(SEED) --seconds $(SECONDS)

# The same for pods with devices on a genuine kubelet; `tests/torture/run-k8s --trace FILE` does operations again.
torture-k8s: tests k8s-ground
	$(Q)B=$(B) tests/torture/run-k8s --seed $(SEED) --seconds $(SECONDS)

# ---- what CI runs besides

test-asan:
	$(Q)$(MAKE) --no-print-directory B=$(B)/asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined' tests
	$(Q)B=$(B)/asan tests/run unit fs

# A serving process that leaves for an upgrade ends its threads with it, on purpose.
test-tsan:
	$(Q)$(MAKE) --no-print-directory B=$(B)/tsan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=thread' tests
	$(Q)B=$(B)/tsan TSAN_OPTIONS="report_thread_leaks=0 suppressions=$(CURDIR)/tests/tsan.supp" tests/run unit fs

# Each target links the pieces of the daemon and of the simulation that it calls; main stays out.
# The simulation before the tree: some names are in both, and the archive is searched in this order.
fuzz_src := $(core) $(sim) $(tree) $(plugin_pure) $(sync_pure) $(call room,client)
fuzz_flags := -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
$(eval $(call kept,$(B)/list/libpieces,$(fuzz_src)))
$(B)/fuzz/libpieces.a: $(fuzz_src:%.c=$(B)/fuzz/obj/%.o) $(B)/list/libpieces
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

$(B)/fuzz/obj/%.o: %.c Makefile $(B)/list/flags
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(base_cflags) $(CFLAGS) -O1 -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard tests/fuzz/*.h) $(B)/fuzz/libpieces.a $(B)/libproto.a
	$(Q)$(CLANG) $(base_cflags) $(CFLAGS) -O1 $(fuzz_flags) -o $@ $(filter-out %.h,$^) $(lib_fuse) -lprotobuf-c -ljson-c -lyaml -lz

fuzz: $(fuzzers:%=$(B)/fuzz/%)
	$(Q)B=$(B) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $(fuzzers)

# What clang warns of; the fuzzers are built by it, and link what it made.
check-clang: $(proto)
	$(Q)git ls-files '*.c' | grep -vE '^tests/(lab/kmod|nvml/(abi|prototypes)\.c)' | \
		xargs -P $(shell nproc) -n 8 $(CLANG) -fsyntax-only -Werror $(all_cflags)

lint: $(proto) # clang-tidy reads their headers
	$(Q)B=$(B) tests/lint $(all_cflags)

# ONLY=WORD: those whose file or test has it.
mutate:
	$(Q)tests/mutate/run $(ONLY)

format:
	$(Q)git ls-files '*.c' '*.h' | grep -v '^tests/lab/kmod/' | xargs -r clang-format -i

docs: pcidevfsd pcidevfs
	$(Q)$(B)/bin/pcidevfsd --print-files >docs/FILES.md
	$(Q)$(B)/bin/pcidevfs --print-man | cat cli/man.head - cli/man.tail >docs/man/pcidevfs.1

check-docs: pcidevfsd pcidevfs
	$(Q)$(B)/bin/pcidevfsd --print-files | diff -u docs/FILES.md - && \
		$(B)/bin/pcidevfs --print-man | cat cli/man.head - cli/man.tail | diff -u docs/man/pcidevfs.1 - || \
		{ echo 'docs/FILES.md or docs/man/pcidevfs.1 is not what the tables say; run make docs'; exit 1; }

bench: tests
	$(Q)tests/deps bench k8s || echo 'what needs them is left out'
	$(Q)B=$(B) tests/bench/run

bench-k8s: tests k8s-ground
	$(Q)B=$(B) tests/bench/k8s
	$(Q)B=$(B) tests/bench/nodes

# Units and rules name the programs where they are installed; README names docs/ beside it. A program
# that is not built, for want of its libraries, is left out with its unit.
built := $(notdir $(wildcard $(programs:%=$(B)/bin/%)))
has_daemon := $(filter pcidevfsd,$(built))
installed := $(if $(has_daemon),$(built),$(programs))
pages := $(wildcard docs/man/*.[1-9])
manifests := $(wildcard deploy/kubernetes/*.yaml deploy/kubernetes/*/*.yaml deploy/kustomize/*/*.yaml)
credential := deploy/kubernetes/sync-credential
say_put = $(if $(V),:,echo '  INSTALL	$(1)') &&
put = $(call say_put,$(DESTDIR)$(2)/$(notdir $(1))) install -Dm $(or $(3),644) $(1) $(DESTDIR)$(2)/$(notdir $(1)) &&
put_text = $(call say_put,$(DESTDIR)$(2)/$(notdir $(1))) sed 's,/usr/sbin/,$(SBINDIR)/,g' $(1) | \
	install -Dm 644 /dev/stdin $(DESTDIR)$(2)/$(notdir $(1)) &&
put_completions = $(call put,deploy/completion/pcidevfs,$(BASHDIR)) $(call put,deploy/completion/_pcidevfs,$(ZSHDIR)) \
	$(call put,deploy/completion/pcidevfs.fish,$(FISHDIR))
install: $(if $(has_daemon),,all)
	$(Q)$(foreach p,$(filter-out pcidevfs pcidevfs-nvml,$(installed)),$(call put,$(B)/bin/$(p),$(SBINDIR),755)) :
	$(Q)$(foreach p,$(filter pcidevfs-nvml,$(installed)),$(call put,$(B)/bin/$(p),$(LIBEXECDIR),755)) :
	$(Q)$(foreach p,$(filter pcidevfs,$(installed)),$(call put,$(B)/bin/$(p),$(BINDIR),755) $(put_completions)) :
	$(Q)$(call put,deploy/mount.fuse.pcidevfs,$(SBINDIR),755) :
	$(Q)$(foreach f,$(wildcard $(installed:%=deploy/%.service)),$(call put_text,$(f),$(UNITDIR))) :
	$(Q)$(foreach f,$(wildcard deploy/*.rules),$(call put_text,$(f),$(RULESDIR))) :
	$(Q)$(foreach f,$(wildcard deploy/sysusers.d/*),$(call put,$(f),$(SYSUSERSDIR))) :
	$(Q)$(foreach f,$(wildcard deploy/tmpfiles.d/*),$(call put,$(f),$(TMPFILESDIR))) :
	$(Q)$(foreach f,$(pages),$(call put,$(f),$(MANDIR)/man$(patsubst .%,%,$(suffix $(f))))) :
	$(Q)$(foreach f,README.md CHANGELOG.md LICENSE deploy/pcidevfs-alerts.yml deploy/pcidevfs-grafana.json,$(call put,$(f),$(DOCDIR))) :
	$(Q)$(foreach f,$(wildcard docs/*.md),$(call put,$(f),$(DOCDIR)/docs)) :
	$(Q)$(foreach f,$(manifests),$(call put,$(f),$(DOCDIR)/$(patsubst %/,%,$(dir $(f))))) :
	$(Q)$(call put,$(credential),$(DOCDIR)/deploy/kubernetes,755) :
	$(Q)$(call put,deploy/pcidevfs-hook,$(DOCDIR),755) :

# What an install by this version may have put there. Devices stay as they are: pcidevfsd --release-all.
uninstall:
	$(Q)rm -f $(patsubst %,$(DESTDIR)$(SBINDIR)/%,$(filter-out pcidevfs pcidevfs-nvml,$(programs)) mount.fuse.pcidevfs) \
		$(DESTDIR)$(LIBEXECDIR)/pcidevfs-nvml \
		$(addprefix $(DESTDIR),$(BINDIR)/pcidevfs $(BASHDIR)/pcidevfs $(ZSHDIR)/_pcidevfs $(FISHDIR)/pcidevfs.fish) \
		$(patsubst deploy/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard deploy/*.service)) \
		$(patsubst deploy/%,$(DESTDIR)$(RULESDIR)/%,$(wildcard deploy/*.rules)) \
		$(patsubst deploy/sysusers.d/%,$(DESTDIR)$(SYSUSERSDIR)/%,$(wildcard deploy/sysusers.d/*)) \
		$(patsubst deploy/tmpfiles.d/%,$(DESTDIR)$(TMPFILESDIR)/%,$(wildcard deploy/tmpfiles.d/*)) \
		$(foreach f,$(pages),$(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(f)))/$(notdir $(f))) \
		$(patsubst %,$(DESTDIR)$(DOCDIR)/%,README.md CHANGELOG.md LICENSE pcidevfs-alerts.yml pcidevfs-grafana.json pcidevfs-hook $(wildcard docs/*.md) $(manifests) $(credential))
	$(Q)[ ! -d $(DESTDIR)$(DOCDIR) ] || find $(DESTDIR)$(DOCDIR) -depth -type d -empty -delete
	@echo 'left: /var/lib/pcidevfs with the stored intents, and devices as they are'

# The same bytes from the same programs, at any time.
IMAGE ?= registry.example/pcidevfs:$(VERSION)
CHART ?= $(VERSION)
triplet = $(shell $(CC) -dumpmachine)
# What runs several programs in one container (deploy/kustomize/unprivileged); none, where the processor is another one.
TOOLS ?= $(if $(filter $(triplet),$(shell gcc -dumpmachine)),$(addprefix /usr/lib/execline/bin/,background loopwhilex))
image: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
image: all
	$(Q)mkdir -p $(B)/image
	$(Q)deploy/image/image --name $(IMAGE) --triplet $(triplet) --strip $(shell $(CC) -print-prog-name=strip) \
		--sbom $(B)/image/pcidevfs-$(triplet).spdx.json $(if $(OPT),--opt $(B)/image/pcidevfs-opt-$(triplet).tar.gz) \
		$(TOOLS:%=--tool %) $(B)/image/pcidevfs-$(triplet).tar $(programs:%=$(B)/bin/%)

chart: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
chart:
	$(Q)deploy/helm/package $(CHART) $(IMAGE) $(B)/chart

# What git has, as it is in the working tree, built as a package.
deb:
	$(Q)tests/deps build deb
	$(Q)deploy/packages/deb $(abspath $(B)/deb) $(VERSION)$(REVISION:%=+%)

rpm:
	$(Q)tests/deps build rpm
	$(Q)deploy/packages/rpm $(abspath $(B)/rpm) $(VERSION)

# On bare machines of two releases: minutes, and a network.
test-packages:
	$(Q)for r in trixie bookworm; do tests/packages/run $$r || exit 1; done

.PHONY: deb rpm test-packages

clean:
	rm -rf $(B)/bin $(B)/obj $(B)/image $(B)/chart $(B)/tests $(B)/asan $(B)/tsan $(B)/fuzz $(B)/list $(B)/mutate
	rm -rf $(B)/deb $(B)/rpm

.PHONY: all $(programs) help tests deps demo demo-stop demo-reboot test test-unit test-fs test-lab test-k8s k8s-ground test-jitter torture torture-k8s test-asan test-tsan fuzz check-clang lint mutate \
	format docs check-docs bench bench-k8s install uninstall image chart clean FORCE
.DELETE_ON_ERROR:
