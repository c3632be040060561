import { MOUNTED_CONFIG_MAPS, MOUNTED_SECRETS } from '../../gateway/contract/mounted-files.ts';
import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import type { Platform } from '../resolve/scope.ts';

/** What the installation says for all objects. */
export interface RenderOptions {
  readonly gatewayImage: string;
  /** Of the gateway's image; those of MCPServers are pulled as Kubernetes does by default. */
  readonly imagePullPolicy: string;
  /** Names of Secrets that every pod pulls images with. */
  readonly imagePullSecrets: readonly string[];
  /** The platform gives each namespace users of its own and refuses others. */
  readonly openshift: boolean;
  readonly podDisruptionBudgets: boolean;
  readonly networkPolicies: boolean;
  /** The operator's own account. Pods that ran as it would have all its rights. */
  readonly operatorAccount?: { readonly namespace: string; readonly name: string };
}

/** All objects of one custom resource by kind, then name; or what keeps them from being made. */
export type Rendered = { readonly objects: KubeObject[] } | { readonly problems: ObjectProblem[] };

/** Where a gateway in a pod finds what its configuration names. */
export const CLUSTER_PLATFORM: Platform = {
  mode: 'cluster',
  secretsDir: MOUNTED_SECRETS,
  configMapsDir: MOUNTED_CONFIG_MAPS,
};
