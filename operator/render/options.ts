import { MOUNTED_CONFIG_MAPS, MOUNTED_SECRETS } from '../../gateway/contract/gateway-config-files.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem, Platform } from '../resolve/scope.ts';

/** Settings of the installation that apply to all objects. */
export interface RenderOptions {
  readonly gatewayImage: string;
  /** Pull policy of the gateway's image. Images of MCPServers have the default of Kubernetes. */
  readonly imagePullPolicy: string;
  /** Names of the image pull Secrets of every pod. */
  readonly imagePullSecrets: readonly string[];
  /** Networks of the proxies in front of virtual servers that list none. */
  readonly trustedProxies?: readonly string[];
  /** True on OpenShift, which assigns the user of each pod and rejects others. */
  readonly openshift: boolean;
  readonly podDisruptionBudgets: boolean;
  readonly networkPolicies: boolean;
  /** True where the API server has HTTPRoutes of the Gateway API. */
  readonly httpRoutes?: boolean;
  /** Way of the gateways to addresses outside of the cluster; direct, with the usual CAs, when absent. */
  readonly egress?: Egress;
  /** The operator's own account. No other pod may run as it. */
  readonly operatorAccount?: { readonly namespace: string; readonly name: string };
}

/** Forward proxy of the gateways, and CAs that they trust in addition. */
export interface Egress {
  /** Values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY that may be read by everybody. */
  readonly variables: Readonly<Partial<Record<'HTTPS_PROXY' | 'HTTP_PROXY' | 'NO_PROXY', string>>>;
  /** Name of the Secret with HTTPS_PROXY and HTTP_PROXY, in the namespace of each gateway. */
  readonly secret?: string;
  /** PEM bundle. */
  readonly ca?: string;
}

/** All objects of one custom resource, sorted by kind and name, or the problems that prevent rendering. */
export type Rendered = { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] };

/** Platform of a gateway in a pod: where its files are mounted. */
export const CLUSTER_PLATFORM: Platform = {
  mode: 'cluster',
  secretsDir: MOUNTED_SECRETS,
  configMapsDir: MOUNTED_CONFIG_MAPS,
};
