import type { KubeObject } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import type { Snapshot } from '../resolve/snapshot.ts';
import type { Deletion } from './references.ts';
import type { ObservedWorkload } from './workload.ts';

/** What the status of every kind is made of. */
export interface StatusInput {
  /** As the API server has it, with its status. */
  readonly object: KubeObject;
  readonly snapshot: Snapshot;
  /** Why the object was refused; then the snapshot lists it as broken. */
  readonly refused?: readonly ObjectProblem[];
  /** RFC 3339. */
  readonly now: string;
}

/** Of an object that others refer to. */
export interface SharedObjectInput extends StatusInput {
  readonly deletion: Deletion;
}

/** Of an object that pods are made for. */
export interface WorkloadInput extends StatusInput {
  readonly observed: ObservedWorkload;
}
