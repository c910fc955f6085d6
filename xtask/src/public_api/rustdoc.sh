#!/bin/sh
# The pinned rustdoc, told that forms of output that are not stable yet are meant. Only rustdoc is
# told: what cargo has compiled for other checks stays fit for use.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
