#!/usr/bin/env bash
# Loads OCI or docker image tars into the running node (as `kind load image-archive`).
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
[[ -e $RUN/init.pid ]] || die "no node is up: run up.sh first"
for tar; do
  said=$(nsenter -t "$(<"$RUN/init.pid")" -m -n -p "$BIN/ctr" -n k8s.io images import "$(realpath "$tar")" 2>&1) || die "$tar: $said"
done
