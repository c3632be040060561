import { hash } from 'node:crypto';
import { ApiError } from '../../gateway/kube/client.ts';
import { objectKey, resourceOf, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/scope.ts';
import { isRolledOut } from '../status/pods.ts';
import { refersToOtherRole, repairOf, type Repair, replicasToKeep, REPLICAS_MANAGER } from './conflicting-fields.ts';
import { drift, type Difference } from './drift.ts';
import { APPLIED_BY, OtherOperators } from './other-operators.ts';
import { inApplyOrder, inStages, isNeededByPods, isWorkload, OWNED_TYPES, ownership } from './owned.ts';
import { anotherOperator, nameTaken, refusalOf } from './refusals.ts';
import type { WrittenObjects } from './written-objects.ts';

export const FIELD_MANAGER = 'vmcp-operator';
/** Annotation with the digest of the last applied object. Only it shows that a field is no longer desired. */
export const APPLIED_HASH = 'vmcp.dev/applied-hash';

/** Requests to the API server. */
export interface Writer {
  get(type: ResourceType, namespace: string, name: string): Promise<KubeObject | undefined>;
  apply(
    object: KubeObject,
    options: { fieldManager: string; force: boolean; subresource?: 'status' },
  ): Promise<KubeObject>;
  mergePatch(
    type: ResourceType,
    namespace: string,
    name: string,
    patch: object,
    options?: { fieldManager: string; isStrategic?: boolean },
  ): Promise<KubeObject>;
  delete(
    type: ResourceType,
    namespace: string,
    name: string,
    options: { uid?: string; propagationPolicy?: 'Background' },
  ): Promise<void>;
}

/** Objects that the watches have reported. */
export interface Seen {
  raw(type: ResourceType, namespace: string, name: string): KubeObject | undefined;
  owned(type: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[];
}

export interface Applied {
  /** Applied objects. An object that could not be applied is included in its previous state, if it exists. */
  readonly objects: readonly KubeObject[];
  /** Problems that a user has to solve. */
  readonly problems: readonly ObjectProblem[];
  /** True when an object that is being deleted blocks the change: retry soon. */
  readonly waiting: boolean;
  /** True when others had changed the number of pods that the operator sets, and it was set back. */
  readonly scaledBack?: boolean;
  /** Another operator applied the objects. Time until they can be taken over. */
  readonly againInMs?: number;
}

export interface ApplierOptions {
  readonly client: Writer;
  readonly seen: Seen;
  readonly written: WrittenObjects;
  /** Identifies this operator across restarts. */
  readonly identity: string;
  readonly now: () => number;
}

interface ApplyResult {
  readonly object?: KubeObject;
  readonly problem?: ObjectProblem;
  /** True when an object that is being deleted blocks the change. */
  readonly isWaiting?: boolean;
  readonly isScaledBack?: boolean;
}

/** resourceVersion below every real one: the API server rejects the request as a conflict when the object exists. */
const ONLY_IF_ABSENT = '1';

/** Applies the desired objects of an owner. Sends requests only for objects that differ. */
export class Applier {
  readonly #client: Writer;
  readonly #seen: Seen;
  readonly #written: WrittenObjects;
  /** Digest for which an object was last found up to date. */
  readonly #upToDate = new WeakMap<KubeObject, string>();
  /** Differences that remain right after a write, by uid: the API server normalises values (`1000m` becomes `1`). */
  readonly #remaining = new Map<string, { readonly digest: string; readonly texts: ReadonlySet<string> }>();
  /** Names that foreign objects had at the last check. The watches do not report foreign objects. */
  readonly #taken = new Set<string>();
  readonly #identity: string;
  readonly #others: OtherOperators;

  constructor({ client, seen, written, identity, now }: ApplierOptions) {
    this.#client = client;
    this.#seen = seen;
    this.#written = written;
    this.#identity = identity;
    this.#others = new OtherOperators(identity, now, APPLIED_HASH);
  }

  /** Applies the desired objects. Throws errors that a retry may resolve. */
  async apply(owner: KubeObject, desired: readonly KubeObject[]): Promise<Applied> {
    const existing = this.#existing(owner, desired);
    this.#others.see(owner, existing);
    const isOthers = existing.some((each) => this.#others.isOthers(each));
    const isAgreed = isOthers && this.#areAllUpToDate(owner, desired);
    if (isAgreed) this.#others.agree(owner);
    if (isAgreed || !isOthers) return this.#applyAll(owner, desired, false);
    const turn = this.#others.takeOver(owner, existing);
    if (turn) {
      const { other, againInMs } = turn;
      const objects = inApplyOrder(desired).flatMap((each) => this.#currentState(each).object ?? []);
      const problems = [anotherOperator(owner, other, againInMs)];
      return { objects, problems, waiting: false, ...(againInMs !== undefined && { againInMs }) };
    }
    try {
      return await this.#applyAll(owner, desired, true);
    } finally {
      this.#others.see(owner, this.#existing(owner, desired)); // objects that are not applied yet are no reaction of the other operator
    }
  }

  async #applyAll(owner: KubeObject, desired: readonly KubeObject[], isTakeOver: boolean): Promise<Applied> {
    const done: ApplyResult[] = [];
    const isBlocked = () => done.some(({ problem, isWaiting }) => problem !== undefined || isWaiting === true);
    for (const stage of inStages(desired)) {
      // A workload with incomplete inputs would start pods that cannot run. The old pods keep running.
      const isSkipped = isBlocked();
      const applyEach = async (each: KubeObject): Promise<ApplyResult> =>
        isSkipped && isWorkload(each) ? this.#currentState(each) : this.#applyOne(owner, each, isTakeOver);
      done.push(...(await settledAll(stage.map(applyEach))));
    }
    const objects = done.flatMap(({ object }) => object ?? []);
    if (!isBlocked()) await this.#prune(owner, desired, objects);
    return {
      objects,
      problems: done.flatMap(({ problem }) => problem ?? []),
      waiting: done.some(({ isWaiting }) => isWaiting === true),
      scaledBack: done.some(({ isScaledBack }) => isScaledBack === true),
    };
  }

  /** Returns an object in its current state without changing it. */
  live(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#written.latest(type, namespace, name, this.#seen.raw(type, namespace, name));
  }

  #currentState({ apiVersion, kind, metadata }: KubeObject): ApplyResult {
    const object = this.live(resourceOf({ apiVersion, kind }), metadata.namespace ?? '', metadata.name);
    return object ? { object } : {};
  }

  /** Lists the existing objects of the owner, desired or not. */
  #existing(owner: KubeObject, desired: readonly KubeObject[]): KubeObject[] {
    const named = desired.flatMap((each) => this.#currentState(each).object ?? []);
    return [...named.filter((each) => ownership(each, owner) === 'ours'), ...this.#leftOver(owner, desired)];
  }

  #areAllUpToDate(owner: KubeObject, desired: readonly KubeObject[]): boolean {
    if (this.#leftOver(owner, desired).length > 0) return false;
    return desired.every((each) => {
      const live = this.#currentState(each).object;
      return live !== undefined && this.#isUpToDate(live, each, digestOf(each));
    });
  }

  async #applyOne(owner: KubeObject, desired: KubeObject, isTakeOver: boolean): Promise<ApplyResult> {
    const type = resourceOf(desired);
    const { namespace = '', name } = desired.metadata;
    const digest = digestOf(desired);
    const isTaken = this.#taken.has(objectKey(desired));
    const isFromOther = (object: KubeObject | undefined) => object !== undefined && this.#others.isOthers(object);
    let live = isTaken ? await this.#client.get(type, namespace, name) : this.live(type, namespace, name);
    if (live && !(isTakeOver && isFromOther(live)) && this.#isUpToDate(live, desired, digest)) return { object: live };
    let conflict: ApiError;
    try {
      return await this.#write(owner, desired, digest, live);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) return this.#onRejection(error, owner, desired, live);
      conflict = error;
    }
    // The watched state is outdated: read the object from the API server.
    this.#written.forget(type, namespace, name);
    try {
      live = await this.#client.get(type, namespace, name);
      if (!isTakeOver && isFromOther(live)) throw conflict; // another operator was faster
      return await this.#write(owner, desired, digest, live);
    } catch (error) {
      return this.#onRejection(error, owner, desired, live);
    }
  }

  /** Returns the problem for a rejected request. Throws other errors. */
  async #onRejection(
    error: unknown,
    owner: KubeObject,
    desired: KubeObject,
    live: KubeObject | undefined,
  ): Promise<ApplyResult> {
    if (!(error instanceof ApiError)) throw error;
    const repair = live && error.status === 422 ? repairOf(desired, live) : undefined;
    if (repair && (await this.#repair(desired, repair))) return this.#applyOne(owner, desired, false);
    if (live && error.status === 422 && refersToOtherRole(desired, live)) {
      await this.#remove(live);
      return { isWaiting: true };
    }
    const problem = refusalOf(error, desired, owner);
    if (!problem) throw error;
    return { problem, ...(live && { object: live }) };
  }

  /** Replaces fields of others that conflict with the desired ones. Returns false when the API server rejects that, too. */
  async #repair(desired: KubeObject, { patch, isStrategic }: Repair): Promise<boolean> {
    const type = resourceOf(desired);
    const { namespace = '', name } = desired.metadata;
    try {
      await this.#written.write(type, desired, () =>
        this.#client.mergePatch(type, namespace, name, patch, { fieldManager: FIELD_MANAGER, isStrategic }),
      );
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 422) return false;
      throw error;
    }
  }

  async #write(
    owner: KubeObject,
    desired: KubeObject,
    digest: string,
    live: KubeObject | undefined,
  ): Promise<ApplyResult> {
    if (live) {
      const whose = ownership(live, owner);
      if (whose === 'foreign') {
        this.#taken.add(objectKey(desired));
        return { problem: nameTaken(owner, desired) };
      }
      if (whose === 'left-over') await this.#remove(live);
      if (whose === 'left-over' || live.metadata.deletionTimestamp !== undefined) return { isWaiting: true };
    }
    this.#taken.delete(objectKey(desired));
    const type = resourceOf(desired);
    if (live && isWorkload(desired)) await this.#keepReplicas(desired, live);
    const request = this.#asRequest(desired, digest, live);
    const object = await this.#written.write(type, desired, () =>
      this.#client.apply(request, { fieldManager: FIELD_MANAGER, force: true }),
    );
    this.#recordRemaining(desired, digest, object);
    return { object, isScaledBack: isScaledByOthers(live, desired, digest) };
  }

  /** Keeps the current number of replicas when the spec has none: an autoscaler or an earlier spec may have set it. */
  async #keepReplicas(desired: KubeObject, live: KubeObject): Promise<void> {
    if ((desired['spec'] as { replicas?: number } | undefined)?.replicas !== undefined) return;
    const type = resourceOf(desired);
    const { namespace = '', name } = desired.metadata;
    const current = await this.#client.get(type, namespace, name);
    if (!current || current.metadata.uid !== live.metadata.uid) return;
    const kept = replicasToKeep(current, FIELD_MANAGER);
    if (!kept) return;
    const options = { fieldManager: REPLICAS_MANAGER, force: false };
    await this.#written.write(type, desired, () => this.#client.apply(kept, options));
  }

  #isUpToDate(live: KubeObject, desired: KubeObject, digest: string): boolean {
    if (live.metadata.deletionTimestamp !== undefined) return false;
    if (this.#upToDate.get(live) === digest) return true;
    if (live.metadata.annotations?.[APPLIED_HASH] !== digest) return false;
    const settled = this.#remaining.get(live.metadata.uid ?? '');
    const known = settled?.digest === digest ? settled.texts : undefined;
    if (drift(desired, live).some((difference) => known?.has(textOf(difference)) !== true)) return false;
    this.#upToDate.set(live, digest);
    return true;
  }

  /** Records the differences that remain right after a write. They are permanent. */
  #recordRemaining(desired: KubeObject, digest: string, result: KubeObject): void {
    const { uid = '' } = result.metadata;
    const texts = new Set(drift(desired, result).map(textOf));
    if (texts.size > 0) this.#remaining.set(uid, { digest, texts });
    else this.#remaining.delete(uid);
  }

  /**
   * Deletes the owner's objects that are no longer desired. Objects that old pods may need are deleted after the rollout;
   * until then every status change of the workload triggers another attempt.
   */
  async #prune(owner: KubeObject, desired: readonly KubeObject[], objects: readonly KubeObject[]): Promise<void> {
    const leftOver = this.#leftOver(owner, desired);
    const mayGo = objects.filter(isWorkload).every(isRolledOut)
      ? leftOver
      : leftOver.filter((each) => !isNeededByPods(each));
    for (const object of mayGo) await this.#remove(object);
  }

  /** Lists the owner's objects that are not desired, workloads first, since their pods use the others. */
  #leftOver(owner: KubeObject, desired: readonly KubeObject[]): KubeObject[] {
    const { uid = '', namespace = '' } = owner.metadata;
    const wanted = new Set(desired.map(objectKey));
    const written = this.#written.controlledBy(namespace, uid);
    return OWNED_TYPES.toReversed()
      .flatMap((type) => {
        const seen = this.#seen.owned(type, namespace, uid);
        const names = new Set(seen.map(({ metadata }) => metadata.name));
        return [...seen, ...written.filter(({ kind, metadata }) => kind === type.kind && !names.has(metadata.name))];
      })
      .filter(
        (object) =>
          object.metadata.deletionTimestamp === undefined &&
          ownership(object, owner) === 'ours' &&
          !wanted.has(objectKey(object)),
      );
  }

  /** Adds the digest, this operator's identity, and preconditions that protect a recreated or foreign object. */
  #asRequest(desired: KubeObject, digest: string, live: KubeObject | undefined): KubeObject {
    const { metadata } = desired;
    const annotations = { ...metadata.annotations, [APPLIED_HASH]: digest, [APPLIED_BY]: this.#identity };
    return {
      ...desired,
      metadata: {
        ...metadata,
        annotations,
        ...(live?.metadata.uid === undefined ? { resourceVersion: ONLY_IF_ABSENT } : { uid: live.metadata.uid }),
      },
    };
  }

  async #remove(object: KubeObject): Promise<void> {
    const type = resourceOf(object);
    const { namespace = '', name, uid } = object.metadata;
    if (object.metadata.deletionTimestamp !== undefined) return;
    await this.#client.delete(type, namespace, name, {
      ...(uid !== undefined && { uid }),
      propagationPolicy: 'Background',
    });
    this.#written.forget(type, namespace, name);
    this.#remaining.delete(uid ?? '');
  }
}

/** Waits for all runs even when one fails, so that no write outlives its reconcile. */
async function settledAll<T>(runs: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

/** Returns true when the number of pods changed after this very object had been applied. */
function isScaledByOthers(live: KubeObject | undefined, desired: KubeObject, digest: string): boolean {
  if (!live || !isWorkload(desired) || live.metadata.annotations?.[APPLIED_HASH] !== digest) return false;
  const replicasIn = (object: KubeObject) => (object['spec'] as { readonly replicas?: number } | undefined)?.replicas;
  return replicasIn(desired) !== undefined && replicasIn(live) !== replicasIn(desired);
}

const digestOf = (desired: KubeObject): string => hash('sha256', JSON.stringify(desired), 'hex').slice(0, 32);

const textOf = ({ path, live }: Difference): string => JSON.stringify([path, live]);
