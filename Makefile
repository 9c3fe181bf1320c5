# The front door.  CMake and Ninja do the work; this file knows which trees there are:
#   build/       what ships                      (commands in build/bin)
#   build/asan   the same under ASan and UBSan   (its tests are called asan:...)
#   build/tsan   what has threads, under TSan    (tsan:...)
#   build/fuzz   the fuzz targets, by clang
#   build/release  what packagers build (-O3): it must compile without a warning

FUZZ_SECONDS ?= 600
FUZZ_CC ?= clang-14
prefix ?= /usr/local

# $(call tree,FOLDER,OPTIONS,WHAT): configure and build one tree.  CMake runs every time (a fraction of a
# second), because Ninja would not notice that a test script became executable.
tree = cmake -G Ninja --log-level=NOTICE -S . -B $(1) $(2) && cmake --build $(1) $(3)
asan_options = -DMUSTER_SANITIZE=address,undefined
tsan_options = -DMUSTER_SANITIZE=thread
fuzz_options = -DMUSTER_FUZZ=ON -DCMAKE_C_COMPILER=$(FUZZ_CC)
release_options = -DCMAKE_BUILD_TYPE=Release
quick_tests = ^(unit/|tidy$$|system/(seeds|sim_|tidy_catches|man$$|libraries))
fuzz_names = $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

# Targets share the trees, so they take turns; Ninja and CTest are parallel by themselves.
.NOTPARALLEL:
.PHONY: all shipped demo test check soak tidy format fuzz dist install uninstall clean help setup test-setup

all: setup             ## build everything into build/ (the default), tests included where that can be
	@$(call tree,build)

# Only what is installed, and the examples.
shipped: setup
	@$(call tree,build,,--target shipped)

demo: shipped          ## show what muster does, in a few seconds
	@tools/demo

test: test-setup all   ## build all trees and run every test: what CI runs
	@$(call tree,build/asan,$(asan_options))
	@$(call tree,build/tsan,$(tsan_options))
	@$(call tree,build/fuzz,$(fuzz_options))
	@$(call tree,build/release,$(release_options))
	@ctest --test-dir build --output-on-failure -j "$$(($$(nproc) + 1))" # most tests wait most of the time

check: test-setup all  ## the daily loop: unit tests, seeds, short simulations, tidy
	@ctest --test-dir build --output-on-failure -j "$$(($$(nproc) + 1))" -R '$(quick_tests)'

soak: all              ## what takes hours: many more worlds for the simulator
	@failed=0; for script in tests/soak/*.sh; do MUSTER="$(CURDIR)/build/bin/muster" $$script || failed=1; done; exit $$failed

tidy: test-setup all   ## check what a machine can check about the source
	@tools/tidy . build

format: test-setup     ## lay out every C file as .clang-format says
	@tools/format .

fuzz: test-setup       ## every fuzz target for FUZZ_SECONDS; what is new goes to tests/fuzz/corpus
	@$(call tree,build/fuzz,$(fuzz_options))
	@failed=0; for name in $(fuzz_names); do \
	    tools/fuzz --keep build/fuzz $$name $(FUZZ_SECONDS) || failed=1; \
	done; exit $$failed

install: shipped       ## install under prefix=/usr/local (DESTDIR is honoured)
	@cmake --install build --prefix "$(prefix)"

uninstall:             ## remove what 'make install' has put there, with the same prefix and DESTDIR
	@test -e build/install_manifest.txt || { echo "make uninstall: nothing was installed from this tree (no build/install_manifest.txt)" >&2; exit 1; }
	@sed 's,^,$(DESTDIR),' build/install_manifest.txt | tr '\n' '\0' | xargs -0 rm -f --
	@rm -f build/install_manifest.txt

dist:                  ## what HEAD has, as build/muster-VERSION.tar.gz
	@mkdir -p build; name=muster-$$(sed -n 's/^project(muster VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) && \
	    git archive --prefix="$$name/" -o "build/$$name.tar.gz" HEAD && echo "build/$$name.tar.gz"

clean:                 ## remove everything that was built
	@rm -rf build

help:                  ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 16

setup:
	@tools/setup build

test-setup:
	@tools/setup test
