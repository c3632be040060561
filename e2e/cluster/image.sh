#!/usr/bin/env bash
# Packs folders into an OCI image archive, without any image tool. Equal input gives equal bytes. The archive has the index of
# `docker save` too, for `docker load` and `crane push`.
#   image.sh NAME:TAG OUT.tar CONFIG LAYER_FOLDER...
# CONFIG is the `config` member of an OCI image configuration: '{"Entrypoint":["/pause"]}'.
set -euo pipefail

name=$1 out=$2 config=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
blobs=$tmp/blobs/sha256
mkdir -p "$blobs"
oci=application/vnd.oci.image
case $(uname -m) in
  x86_64) architecture=amd64 ;;
  aarch64 | arm64) architecture=arm64 ;;
  *) architecture=$(uname -m) ;;
esac

# blob FILE: moves the file to the blobs and prints its digest.
blob() {
  local sum
  sum=$(sha256sum "$1" | cut -d' ' -f1)
  mv "$1" "$blobs/$sum"
  echo "$sum"
}
# descriptor TYPE DIGEST [MORE_MEMBERS]
descriptor() { printf '{"mediaType":"%s.%s","digest":"sha256:%s","size":%s%s}' "$oci" "$1" "$2" "$(stat -c %s "$blobs/$2")" "${3:-}"; }

layers='' diffs='' files=''
for folder; do
  tar -C "$folder" --sort=name --mtime=@0 --numeric-owner --owner=0 --group=0 -cf "$tmp/layer" .
  layer=$(blob "$tmp/layer")
  layers+=${layers:+,}$(descriptor layer.v1.tar "$layer")
  diffs+=${diffs:+,}\"sha256:$layer\"
  files+=${files:+,}\"blobs/sha256/$layer\"
done
printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
  "$architecture" "$config" "$diffs" >"$tmp/config"
config=$(blob "$tmp/config")
printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":%s,"layers":[%s]}' \
  "$oci" "$(descriptor config.v1+json "$config")" "$layers" >"$tmp/manifest"
manifest=$(blob "$tmp/manifest")
names=$(printf ',"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}' "$name" "${name##*:}")
printf '{"schemaVersion":2,"manifests":[%s]}' "$(descriptor manifest.v1+json "$manifest" "$names")" >"$tmp/index.json"
printf '[{"Config":"blobs/sha256/%s","RepoTags":["%s"],"Layers":[%s]}]' "$config" "$name" "$files" >"$tmp/manifest.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$tmp/oci-layout"
mkdir -p "$(dirname "$out")"
tar -C "$tmp" --sort=name --mtime=@0 --numeric-owner --owner=0 --group=0 -cf "$out.part" blobs index.json manifest.json oci-layout
mv "$out.part" "$out"
