import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import type { Deletion } from './references.ts';
import type { ObservedWorkload } from './pods.ts';

/** Input for the status of every kind. */
export interface StatusInput {
  /** The object on the API server, with its status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** Problems for which the object was rejected. The snapshot then lists it as broken. */
  readonly refused?: readonly ObjectProblem[];
  /** RFC 3339. */
  readonly now: string;
}

/** Input for the status of an object that others refer to. */
export interface SharedObjectInput extends StatusInput {
  readonly deletion: Deletion;
}

/** Input for the status of an object that has pods. */
export interface WorkloadInput extends StatusInput {
  readonly observed: ObservedWorkload;
}
