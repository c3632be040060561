#!/usr/bin/env bash
# Pid 1 of the node: runs in mount, network, pid, uts, ipc and cgroup namespaces of its own (see up.sh),
# so that its mounts, routes and filters are invisible outside and end with this process.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
hostname node
mkdir -p "$RUN"/{log,cni,etcd,var/{lib,log,tmp}}

# A private view of /sys, the cgroup hierarchies (from our own cgroup down), /run and /var.
mount --make-rshared /
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup
while IFS=: read -r _ controllers _; do
  [[ -n $controllers ]] || continue   # the line of the (empty) unified hierarchy
  dir=/sys/fs/cgroup/${controllers#name=}
  mkdir "$dir"
  mount -t cgroup -o "${controllers/#name=/none,name=}" cgroup "$dir"
done </proc/self/cgroup
mount -t tmpfs tmpfs /run
mount --bind "$RUN/var" /var
ln -sfn /run /var/run

# The kubelet requires these machine-wide settings. It sees files with the required values.
mkdir /run/sysctl
while read -r name value; do
  echo "$value" >"/run/sysctl/${name//\//.}"
  mount --bind "/run/sysctl/${name//\//.}" "/proc/sys/$name"
done <<'LIST'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
LIST

ip link set lo up
until_ok 30 "the link to the host" ip link show eth0
ip addr add "$NODE_IP/30" dev eth0
ip link set eth0 up
ip route add default via "$LINK.1"    # the host does not forward: pods reach the host, and nothing beyond
sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1

# start NAME COMMAND...: starts a daemon with a log; appends its exit code to the log.
start() {
  local name=$1
  shift
  { "$@" && code=0 || code=$?; echo "EXITED $name: $code"; } >>"$RUN/log/$name.log" 2>&1 &
}

for t in containerd.toml kubelet.yaml kube-proxy.yaml; do fill "$t" >"$RUN/$t"; done
fill cni.conflist >"$RUN/cni/10-pods.conflist"
: >"$RUN/resolv.conf"

start etcd "$BIN/etcd" --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn \
  --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
mapfile -t flags < <(apiserver_flags http://127.0.0.1:2379)
start kube-apiserver "$BIN/kube-apiserver" "${flags[@]}" --advertise-address="$NODE_IP" \
  --kubelet-client-certificate="$RUN/pki/apiserver-kubelet.crt" --kubelet-client-key="$RUN/pki/apiserver-kubelet.key" \
  --kubelet-certificate-authority="$RUN/pki/ca.crt" --kubelet-preferred-address-types=InternalIP \
  --requestheader-client-ca-file="$RUN/pki/ca.crt" --requestheader-allowed-names=front-proxy \
  --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
  --proxy-client-cert-file="$RUN/pki/front-proxy.crt" --proxy-client-key-file="$RUN/pki/front-proxy.key"
PATH=$BIN:$PATH start containerd "$BIN/containerd" --config "$RUN/containerd.toml"

until_ok 60 containerd "$BIN/ctr" -n k8s.io images import "$RUN/images/pause.tar"
for tar in "$RUN"/images/*.tar; do "$BIN/ctr" -n k8s.io images import "$tar" >/dev/null; done
until_ok 60 kube-apiserver "$BIN/kubectl" --kubeconfig "$RUN/admin.kubeconfig" get --raw /readyz

mapfile -t flags < <(controller_manager_flags)
start kube-controller-manager "$BIN/kube-controller-manager" "${flags[@]}"
start kube-scheduler "$BIN/kube-scheduler" --kubeconfig="$RUN/kube-scheduler.kubeconfig" --leader-elect=false \
  --authentication-kubeconfig="$RUN/kube-scheduler.kubeconfig" --authorization-kubeconfig="$RUN/kube-scheduler.kubeconfig"
start kubelet "$BIN/kubelet" --config="$RUN/kubelet.yaml" --kubeconfig="$RUN/kubelet-client.kubeconfig" --hostname-override=node --node-ip="$NODE_IP"
start kube-proxy "$BIN/kube-proxy" --config="$RUN/kube-proxy.yaml"

touch "$RUN/started"
while :; do wait || true; sleep 1; done   # reaps what the shims leave behind
