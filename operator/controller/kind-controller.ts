import type { KubeObject, ResourceType } from '../../gateway/kube/resource.ts';
import type { RenderOptions } from '../render/index.ts';
import type { ObjectProblem, ObjectRef } from '../resolve/problems.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import type { ObjectStatus } from '../status/index.ts';

/** What a controller sees of one custom resource and its namespace. */
export interface Look {
  /** As the API server has it, with its status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** What is wrong with the object by itself: it is not in the snapshot then. */
  readonly problems: readonly ObjectProblem[];
  readonly referrers: readonly ObjectRef[];
  /** Who keeps it from being deleted, as `Kind/name`; there only while it is to be deleted. */
  readonly blockedBy: readonly string[];
  readonly render: RenderOptions;
  /** RFC 3339, in whole seconds. */
  readonly now: string;
}

/** What was found after everything was applied. */
export interface Observed {
  /** What the pods come from, as it is now; absent when it is not there. */
  readonly workload?: KubeObject;
  /** The pods of a workload that does not come up; absent until somebody has looked. */
  readonly pods?: readonly KubeObject[];
  /** What the API server has against the objects. */
  readonly problems: readonly ObjectProblem[];
}

export interface Decision {
  /** What should be there, and nothing else; absent: whatever is there goes on. */
  readonly objects?: readonly KubeObject[];
  /** Where the workload is looked for when `objects` has none. */
  readonly workloads?: readonly WorkloadName[];
  /** Pure. */
  readonly say: (observed: Observed) => ObjectStatus;
}

export interface WorkloadName {
  readonly type: ResourceType;
  readonly name: string;
}

/** How one kind is brought to what its spec says. `decide` is pure: the frame around it does the rest. */
export interface KindController {
  readonly kind: string;
  readonly decide: (look: Look) => Decision;
}
