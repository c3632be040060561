#!/usr/bin/env bash
# Starts the test cluster.
#   up.sh                  one real node: etcd, control plane, kubelet, containerd, kube-proxy, CoreDNS (root; cgroup v1; no Docker)
#   up.sh control-plane    etcd, kube-apiserver and kube-controller-manager on loopback, no node: pods do not run (any user)
#   up.sh light            only etcd and kube-apiserver on loopback (any user)
# The kubeconfig is $CLUSTER_RUN/admin.kubeconfig. Images: put OCI tars into $CLUSTER_CACHE/images, or load.sh later.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"

mode=${1:-node}
[[ $mode == node || $mode == control-plane || $mode == light ]] || die "up.sh [control-plane|light], not $mode"
[[ ! -e $RUN/node.pid ]] || die "already up: run down.sh first"
[[ -x $BIN/kube-apiserver && -x $BIN/etcd && -x $BIN/kubectl ]] || die "no binaries in $BIN; run make cluster-binaries"
command -v openssl >/dev/null || die "needs openssl: apt-get install openssl"
mkdir -p "$RUN/log"
kubectl() { "$BIN/kubectl" --kubeconfig "$RUN/admin.kubeconfig" "$@"; }

# start NAME COMMAND...: starts a daemon; down.sh stops it.
start() {
  local name=$1
  shift
  setsid "$@" >"$RUN/log/$name.log" 2>&1 </dev/null &
  echo $! >>"$RUN/node.pid"
}

if [[ $mode != node ]]; then
  port=${CLUSTER_PORT:-26443}   # and the three ports after it
  etcd=http://127.0.0.1:$((port + 1))
  for taken in "$port" "$((port + 1))" "$((port + 2))" "$((port + 3))"; do
    (: <"/dev/tcp/127.0.0.1/$taken") 2>/dev/null && die "port $taken is in use: set CLUSTER_PORT to the first of four free ports"
  done
  "$here/pki.sh" "https://127.0.0.1:$port" DNS:localhost "$mode"
  start etcd "$BIN/etcd" --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "http://127.0.0.1:$((port + 2))"
  mapfile -t flags < <(apiserver_flags "$etcd")
  start kube-apiserver "$BIN/kube-apiserver" "${flags[@]}" --bind-address=127.0.0.1 --secure-port="$port" \
    --advertise-address=127.0.0.1 --endpoint-reconciler-type=none
  until_ok 60 kube-apiserver kubectl get --raw /readyz
  until_ok 20 "the default namespace" kubectl get namespace default
  if [[ $mode == control-plane ]]; then
    mapfile -t flags < <(controller_manager_flags)
    start kube-controller-manager "$BIN/kube-controller-manager" "${flags[@]}" --bind-address=127.0.0.1 --secure-port="$((port + 3))"
    until_ok 30 kube-controller-manager kubectl -n default get serviceaccount default
  fi
  log "up: export KUBECONFIG=$RUN/admin.kubeconfig"
  exit 0
fi

((EUID == 0)) || die "a node needs root: sudo, or kind (E2E_CLUSTER=kind make e2e)"
[[ $(stat -fc %T /sys/fs/cgroup) == tmpfs ]] || die "this machine has no cgroup v1 hierarchies: use kind (E2E_CLUSTER=kind make e2e)"
for program in runc nft ip unshare nsenter; do
  command -v "$program" >/dev/null || die "needs $program: apt-get install runc nftables iproute2 util-linux procps"
done
[[ $RUN != /run/* && $RUN != /var/* ]] || die "$RUN is hidden inside of the node, which has its own /run and /var: set CLUSTER_RUN"
[[ ! -e /sys/class/net/$VETH ]] || die "$VETH exists: run down.sh"

# Images: pause and CoreDNS are one static binary each; loads the other images of the cache too.
mkdir -p "$CACHE/images" "$RUN/images"
for name in pause coredns; do
  [[ $CACHE/images/$name.tar -nt $BIN/$name ]] && continue
  root=$(mktemp -d)
  install -D "$BIN/$name" "$root/$name"
  "$here/image.sh" "localhost/$name:1" "$CACHE/images/$name.tar" "{\"Entrypoint\":[\"/$name\"]}" "$root"
  rm -r "$root"
done
ln -sf "$CACHE"/images/*.tar "$RUN/images/"
"$here/pki.sh" "https://$NODE_IP:6443" "IP:$NODE_IP" node

# The process tree of the node gets a cgroup below ours in every hierarchy, and separate namespaces.
(
  : >"$RUN/cgroups"
  mine=$(</proc/self/cgroup)   # read whole: it changes as we move
  while IFS=: read -r _ controllers path; do
    [[ -n $controllers ]] || continue
    parent=/sys/fs/cgroup/${controllers#name=}${path%/}
    group=$parent/$VETH
    mkdir -p "$group"
    if [[ $controllers == cpuset ]]; then
      cat "$parent/cpuset.cpus" >"$group/cpuset.cpus"
      cat "$parent/cpuset.mems" >"$group/cpuset.mems"
    fi
    echo "$BASHPID" >"$group/cgroup.procs"
    echo "$group" >>"$RUN/cgroups"
  done <<<"$mine"
  exec setsid unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child --mount-proc \
    "$here/node.sh" >"$RUN/log/node.log" 2>&1 </dev/null
) &
outer=$!
echo "$outer" >"$RUN/node.pid"
# The subshell has other children before it becomes unshare, whose only child is the node.
node_started() { [[ $(<"/proc/$outer/comm") == unshare ]] && { read -r inner _ <"/proc/$outer/task/$outer/children" || [[ $inner ]]; }; }
until_ok 20 "the node process" node_started
echo "$inner" >"$RUN/init.pid"

echo "$VETH" >"$RUN/veth"
ip link add "$VETH" type veth peer name eth0 netns "$inner"
ip addr add "$LINK.1/30" dev "$VETH"
ip link set "$VETH" up
ip route add "$PODS" via "$NODE_IP" dev "$VETH"
ip route add "$SERVICES" via "$NODE_IP" dev "$VETH"

until_ok 90 "the daemons" test -e "$RUN/started"
fill coredns.yaml | kubectl apply -f - >/dev/null
until_ok 60 "the node object" kubectl get node node
kubectl wait --for=condition=Ready node/node --timeout=60s >/dev/null
kubectl -n kube-system rollout status deployment/coredns --timeout=60s >/dev/null
log "up: export KUBECONFIG=$RUN/admin.kubeconfig"
