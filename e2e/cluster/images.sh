#!/usr/bin/env bash
# Builds the images of the project as archives: .cache/images/{gateway,operator,local}.tar.
#   images.sh docker|podman     from the Dockerfile, with that engine
#   images.sh none              gateway and operator with the same root file systems, packed from dist/ without an engine (Linux);
#                               and e2e-backend.tar
#   images.sh                   docker or podman if one of them can build, else packed
# A base image of the Dockerfile (BUILD_IMAGE, BASE_IMAGE, UV_IMAGE) in the environment replaces its default, for example with a digest.
# OUT is another folder for the archives. The packed base is the Node of node_modules, the shared libraries that it needs, CA certificates and two accounts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${OUT:-$root/.cache/images}
node=$root/node_modules/node/bin/node
version=$("$node" -p 'JSON.parse(fs.readFileSync(process.argv[1])).version' "$root/package.json")

die() { echo "$*" >&2; exit 1; }
answers() { command -v "$1" >/dev/null && timeout 20 "$1" info >/dev/null 2>&1; }

engine=${1:-none}
if [[ -z ${1:-} ]]; then
  for candidate in podman docker; do ! answers "$candidate" || engine=$candidate; done
fi
mkdir -p "$out"

# Base images that the environment names, as options of an engine.
bases=()
while read -r name; do
  [[ -z ${!name:-} ]] || bases+=(--build-arg "$name=${!name}")
done < <(sed -n 's/^ARG \([A-Z]*_IMAGE\)=.*/\1/p' "$root/Dockerfile")
# no_bases: fails when the environment names a base image that would not be used.
no_bases() {
  [[ ${#bases[@]} -eq 0 ]] ||
    die "images that are packed without an engine have no base image: unset ${bases[1]%%=*}, or use ENGINE=docker or ENGINE=podman"
}

# report NAME:TAG FILE
report() { printf '%-40s %4d MB  %s\n' "$1" "$(($(wc -c <"$2") / 1000000))" "${2#"$root"/}"; }

# image_of TARGET: the image that `vmcp up` runs in has no suffix.
image_of() { [[ $1 == local ]] && echo "vmcp:$version" || echo "vmcp-$1:$version"; }

# Fails when the engine fails: some engines answer but cannot run a container or reach a registry.
build_with_engine() {
  local target image
  for target in gateway operator local; do
    image=localhost/$(image_of "$target")
    "$engine" build ${bases[@]+"${bases[@]}"} --target "$target" --tag "$image" "$root" || return 1
    rm -f "$out/$target.tar"
    save "$image" "$out/$target.tar" || return 1
    report "$image" "$out/$target.tar"
  done
  say_what_next
}

save() {
  if [[ $engine == podman ]]; then podman save --format oci-archive -o "$2" "$1"; else docker save -o "$2" "$1"; fi
}

# each LINE: prints it for the gateway and for the operator, with the names of the archive for ARCHIVE and of the image for IMAGE.
each() {
  local target line
  for target in gateway operator; do
    line=${1//ARCHIVE/${out#"$root"/}/$target.tar}
    printf '  %s\n' "${line//IMAGE/$(image_of "$target")}"
  done
}

say_what_next() {
  printf '\nPush the images to a registry that your cluster reads, such as ghcr.io/YOUR-NAME. '
  if [[ $engine == none ]]; then
    printf 'Use skopeo, crane, or podman on any machine:\n'
    each 'skopeo copy oci-archive:ARCHIVE docker://REGISTRY/IMAGE'
    echo
    each 'crane push ARCHIVE REGISTRY/IMAGE'
    echo
    each 'podman load -i ARCHIVE && podman push localhost/IMAGE REGISTRY/IMAGE'
  else
    printf 'For example:\n'
    each "$engine tag localhost/IMAGE REGISTRY/IMAGE && $engine push REGISTRY/IMAGE"
  fi
  printf '\nA kind cluster needs no registry:\n'
  each 'kind load image-archive ARCHIVE'
  printf '\nThen install the charts. On kind, leave out the two --set options:\n'
  printf '  helm upgrade --install vmcp-crds charts/vmcp-crds --namespace vmcp-system --create-namespace\n'
  printf '  helm upgrade --install vmcp charts/vmcp --namespace vmcp-system --wait \\\n'
  printf '    --set operator.image=REGISTRY/%s \\\n' "$(image_of operator)"
  printf '    --set operator.gatewayImage=REGISTRY/%s\n' "$(image_of gateway)"
  if [[ $engine == none ]]; then
    printf '\nThe image for vmcp up in a container needs an engine: make images ENGINE=docker (or podman)\n'
  else
    # shellcheck disable=SC2016
    printf '\nRun vmcp up in a container:\n  %s run --rm --init -p 127.0.0.1:4483:4483 -v "$PWD/examples/quickstart:/config:ro" localhost/%s\n' \
      "$engine" "$(image_of local)"
  fi
}

# base FOLDER: Node without a distribution around it.
base() {
  local lib
  mkdir -p "$1"/{usr/local/bin,etc/ssl/certs,tmp,proc,sys,dev,run,var}
  chmod 1777 "$1/tmp"
  install -m 755 "$node" "$1/usr/local/bin/node"
  # The loader and the shared libraries of the binary and of DNS look-ups, at their original paths.
  { ldd "$node" | grep -o '/[^ ]*'; ldconfig -p 2>/dev/null | awk '$1 ~ /^libnss_(dns|files)\.so\.2$|^libresolv\.so\.2$/ { print $NF }'; } | sort -u |
    while read -r lib; do install -D -m 755 "$(readlink -f "$lib")" "$1$lib"; done
  [[ -r /etc/ssl/certs/ca-certificates.crt ]] || die "needs CA certificates: apt-get install ca-certificates"
  install -m 644 /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnonroot:x:65532:\n' >"$1/etc/group"
  printf 'hosts: files dns\n' >"$1/etc/nsswitch.conf"
}

# app FOLDER: the files that the Dockerfile copies from its build stage.
app() {
  [[ -f $root/dist/operator/cli/main.js ]] || die "dist/ is not built: run make build"
  mkdir -p "$1/app"
  tar -C "$root" --exclude='*.map' --exclude=.built -cf - dist package.json LICENSE | tar -C "$1/app" -xf -
  chmod -R a+rX,go-w "$1"
}

# backend FOLDER: the MCP servers of the end-to-end tests, in one file.
backend() {
  mkdir -p "$1/app"
  "$root/node_modules/.bin/esbuild" "$here/backend/serve.ts" --bundle --platform=node --format=esm --target=node24 \
    --banner:js="import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);" \
    --log-level=warning --outfile="$1/app/serve.mjs"
  chmod -R a+rX,go-w "$1"
}

# config ENTRY_FILE CMD ENV...: JSON
config() {
  local entry=$1 cmd=$2
  shift 2
  printf '{"User":"65532:65532","WorkingDir":"/app","Env":["PATH=/usr/local/bin","SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"'
  printf ',"%s"' "$@"
  printf '],"Entrypoint":["/usr/local/bin/node","%s"],"Cmd":%s}' "$entry" "$cmd"
}

pack() {
  local image
  no_bases
  [[ $(uname -s) == Linux ]] || die "images are packed without an engine on Linux only: install Docker or Podman"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  base "$work/base"
  app "$work/app"
  local main=/app/dist/operator/cli/main.js
  image=localhost/vmcp-gateway:$version
  "$here/image.sh" "$image" "$out/gateway.tar" \
    "$(config $main '["gateway","--config","/etc/vmcp/config/config.json","--management-host","0.0.0.0"]' NODE_ENV=production)" "$work/base" "$work/app"
  report "$image" "$out/gateway.tar"
  image=localhost/vmcp-operator:$version
  "$here/image.sh" "$image" "$out/operator.tar" "$(config $main '["operator"]' NODE_ENV=production)" "$work/base" "$work/app"
  report "$image" "$out/operator.tar"
  [[ ${1:-} == --with-e2e-backend ]] || return 0
  backend "$work/backend"
  image=localhost/vmcp-e2e-backend:$version
  "$here/image.sh" "$image" "$out/e2e-backend.tar" "$(config /app/serve.mjs '["sdk-1-stateful"]' PORT=8080)" "$work/base" "$work/backend"
  report "$image" "$out/e2e-backend.tar"
}

case ${1:-} in
  docker | podman) build_with_engine || die "$engine could not build the images; without an engine: make images ENGINE=none" ;;
  none)
    pack --with-e2e-backend
    say_what_next
    ;;
  '')
    if [[ $engine != none ]]; then
      ! build_with_engine || exit 0
      echo "$engine could not build the images: packing them without an engine" >&2
      engine=none
    fi
    pack
    say_what_next
    ;;
  *) die "images.sh docker|podman|none, not $engine" ;;
esac
