import type { KubeObject, ResourceType } from '../../../gateway/kube/resource.ts';
import type { RenderOptions } from '../../render/index.ts';
import type { ObjectProblem, ObjectRef } from '../../resolve/problems.ts';
import type { Snapshot } from '../../resolve/snapshot.ts';
import type { ObjectStatus } from '../../status/index.ts';

/** Input of a controller: one custom resource and its namespace. */
export interface ReconcileInput {
  /** Latest version in the API server, with the status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** Problems of the object itself. An object with problems is not in the snapshot. */
  readonly problems: readonly ObjectProblem[];
  readonly referrers: readonly ObjectRef[];
  /** Objects that block its deletion, as `Kind/name`. Empty unless it is being deleted. */
  readonly blockedBy: readonly string[];
  readonly render: RenderOptions;
  /** True where the API server has HTTPRoutes of the Gateway API. */
  readonly servesRoutes: boolean;
  /** RFC 3339, in whole seconds. */
  readonly now: string;
}

/** Observed state after the objects were applied. */
export interface Observed {
  /** Deployment or StatefulSet of the pods. Absent when it does not exist. */
  readonly workload?: KubeObject;
  /** Pods of a workload that does not become ready. Absent until they have been read. */
  readonly pods?: readonly KubeObject[];
  /** HTTPRoute that leads clients to the pods. Absent when it does not exist. */
  readonly route?: KubeObject;
  /** Reasons why the API server rejected objects. */
  readonly problems: readonly ObjectProblem[];
  /** True when others had changed the number of pods, and the operator has set it back. */
  readonly scaledBack?: boolean;
}

export interface Decision {
  /** Desired objects; all others are deleted. When absent, the existing objects stay unchanged. */
  readonly objects?: readonly KubeObject[];
  /** Names of the workload to read when `objects` contains none. */
  readonly workloads?: readonly WorkloadName[];
  /** Name of the HTTPRoute to read when `objects` contains none. */
  readonly route?: string;
  /** Returns the status to write. Pure. */
  readonly statusOf: (observed: Observed) => ObjectStatus;
}

export interface WorkloadName {
  readonly type: ResourceType;
  readonly name: string;
}

/** Controller of one kind. `decide` is pure; the reconciler applies its decision. */
export interface KindController {
  readonly kind: string;
  /** True when the status says that the object is being deleted, or what blocks its deletion. */
  readonly reportsDeletion?: boolean;
  readonly decide: (input: ReconcileInput) => Decision;
}
