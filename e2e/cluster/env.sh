# shellcheck shell=bash disable=SC2034
# Settings of the scripts in this folder; the environment can override each value.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${CLUSTER_CACHE:-$(cd "$here/../.." && pwd)/.cache/test-cluster}
RUN=${CLUSTER_RUN:-$CACHE/run}
BIN=$CACHE/bin
LINK=${CLUSTER_LINK:-172.31.250}   # host end .1, node end .2
NODE_IP=$LINK.2
PODS=${CLUSTER_PODS:-10.244.0.0/24}
SERVICES=${CLUSTER_SERVICES:-10.96.0.0/16}
DNS=${SERVICES%.*.*}.0.10
APISERVER_IP=${SERVICES%.*.*}.0.1
VETH=${CLUSTER_VETH:-tcluster0}    # the only thing made in the host network namespace; also names the cgroup

log() { printf '%(%H:%M:%S)T %s\n' -1 "$*" >&2; }
die() { log "$*"; exit 1; }

# until_ok SECONDS WHAT COMMAND...: repeats the command until it succeeds.
until_ok() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || die "gave up waiting for $what; logs in $RUN/log"
    sleep 0.1
  done
}

# fill TEMPLATE: prints the file with its @NAMES@ replaced.
fill() { sed -e "s#@RUN@#$RUN#g; s#@BIN@#$BIN#g; s#@PODS@#$PODS#g; s#@DNS@#$DNS#g" "$here/conf/$1"; }

# apiserver_flags URL_OF_ETCD
apiserver_flags() {
  printf '%s\n' --etcd-servers="$1" --service-cluster-ip-range="$SERVICES" --authorization-mode=Node,RBAC \
    --client-ca-file="$RUN/pki/ca.crt" --tls-cert-file="$RUN/pki/apiserver.crt" --tls-private-key-file="$RUN/pki/apiserver.key" \
    --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$RUN/pki/sa.pub" --service-account-signing-key-file="$RUN/pki/sa.key" \
    --allow-privileged --enable-admission-plugins=NodeRestriction --profiling=false
}

# The controllers of Deployments, ServiceAccounts, garbage collection, namespaces and the rest, each with its own account.
controller_manager_flags() {
  printf '%s\n' --kubeconfig="$RUN/kube-controller-manager.kubeconfig" \
    --authentication-kubeconfig="$RUN/kube-controller-manager.kubeconfig" --authorization-kubeconfig="$RUN/kube-controller-manager.kubeconfig" \
    --leader-elect=false --use-service-account-credentials --kube-api-qps=500 --kube-api-burst=1000 \
    --root-ca-file="$RUN/pki/ca.crt" --service-account-private-key-file="$RUN/pki/sa.key" \
    --cluster-signing-cert-file="$RUN/pki/ca.crt" --cluster-signing-key-file="$RUN/pki/ca.key"
}
