import { hash } from 'node:crypto';
import { ApiError } from '../../gateway/kube/client.ts';
import { objectKey, RESOURCES, resourceOf, type KubeObject, type ResourceType } from '../../gateway/kube/resource.ts';
import type { ObjectProblem } from '../resolve/problems.ts';
import { drift, type Difference } from './drift.ts';
import { replicasToKeep, REPLICAS_MANAGER } from './given-replicas.ts';
import { APPLIED_BY, OtherOperators } from './other-operators.ts';
import { inOrder, inStages, isWorkload, OWNED_TYPES, ownership } from './owned.ts';
import { anotherOperator, nameTaken, refusalOf } from './refusals.ts';
import { isNeededByPods, isRolledOut } from './rolled-out.ts';
import type { WrittenObjects } from './written-objects.ts';

export const FIELD_MANAGER = 'vmcp-operator';
/** Digest of what was applied last: a field that is wanted no longer shows in nothing else. */
export const APPLIED_HASH = 'vmcp.dev/applied-hash';

/** What the target asks of an API server. */
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
    options?: { fieldManager: string },
  ): Promise<KubeObject>;
  delete(
    type: ResourceType,
    namespace: string,
    name: string,
    options: { uid?: string; propagationPolicy?: 'Background' },
  ): Promise<void>;
}

/** What the watches have brought so far. */
export interface Seen {
  raw(type: ResourceType, namespace: string, name: string): KubeObject | undefined;
  owned(type: ResourceType, namespace: string, ownerUid: string): readonly KubeObject[];
}

export interface Applied {
  /** As they are now; those that could not be applied as they were before, if they are there. */
  readonly objects: readonly KubeObject[];
  /** What a person has to solve. */
  readonly problems: readonly ObjectProblem[];
  /** Something is on its way out and in the way: look again soon. */
  readonly waiting: boolean;
  /** Another operator applied the objects; they may be taken over after so long. */
  readonly againInMs?: number;
}

export interface KubeTargetOptions {
  readonly client: Writer;
  readonly seen: Seen;
  readonly written: WrittenObjects;
  /** Tells this operator from others, over restarts. */
  readonly identity: string;
  readonly now: () => number;
}

interface One {
  readonly object?: KubeObject;
  readonly problem?: ObjectProblem;
  /** Something is on its way out and in the way. */
  readonly isWaiting?: boolean;
}

/** resourceVersions start higher: an object that is there is newer, and the request is refused as a conflict. */
const ONLY_IF_ABSENT = '1';

/** Brings the objects of one owner to what is wanted, with no more requests than there are differences. */
export class KubeTarget {
  readonly #client: Writer;
  readonly #seen: Seen;
  readonly #written: WrittenObjects;
  /** The digest by which an object was last found to be as wanted. */
  readonly #clean = new WeakMap<KubeObject, string>();
  /** What the API server makes of our own words (`1000m` becomes `1`), by uid: no reason to write again. */
  readonly #settled = new Map<string, { readonly digest: string; readonly texts: ReadonlySet<string> }>();
  /** Names that were not ours when they were last looked at. The watches do not show who has them. */
  readonly #taken = new Set<string>();
  readonly #identity: string;
  readonly #others: OtherOperators;

  constructor({ client, seen, written, identity, now }: KubeTargetOptions) {
    this.#client = client;
    this.#seen = seen;
    this.#written = written;
    this.#identity = identity;
    this.#others = new OtherOperators(identity, now, APPLIED_HASH);
  }

  /** Throws what a later try may cure. */
  async apply(owner: KubeObject, desired: readonly KubeObject[]): Promise<Applied> {
    const there = this.#there(owner, desired);
    this.#others.see(owner, there);
    const isOthers = there.some((each) => this.#others.isOthers(each));
    const isAgreed = isOthers && this.#isAllAsWanted(owner, desired);
    if (isAgreed) this.#others.agree(owner);
    if (isAgreed || !isOthers) return this.#applyAll(owner, desired, false);
    const turn = this.#others.takeOver(owner, there);
    if (turn) {
      const { other, againInMs } = turn;
      const objects = inOrder(desired).flatMap((each) => this.#asItIs(each).object ?? []);
      const problems = [anotherOperator(owner, other, againInMs)];
      return { objects, problems, waiting: false, ...(againInMs !== undefined && { againInMs }) };
    }
    try {
      return await this.#applyAll(owner, desired, true);
    } finally {
      this.#others.see(owner, this.#there(owner, desired)); // what is not done yet is no answer of the other one
    }
  }

  async #applyAll(owner: KubeObject, desired: readonly KubeObject[], isTakeOver: boolean): Promise<Applied> {
    const done: One[] = [];
    const isBlocked = () => done.some(({ problem, isWaiting }) => problem !== undefined || isWaiting === true);
    for (const stage of inStages(desired)) {
      // A workload whose inputs are incomplete would start pods that cannot run; the old ones go on.
      const isLeft = isBlocked();
      const bring = async (each: KubeObject): Promise<One> =>
        isLeft && isWorkload(each) ? this.#asItIs(each) : this.#one(owner, each, isTakeOver);
      done.push(...(await settledAll(stage.map(bring))));
    }
    const objects = done.flatMap(({ object }) => object ?? []);
    if (!isBlocked()) await this.#prune(owner, desired, objects);
    return {
      objects,
      problems: done.flatMap(({ problem }) => problem ?? []),
      waiting: done.some(({ isWaiting }) => isWaiting === true),
    };
  }

  /** An object of the owner as it is, for who does not want to change anything. */
  live(type: ResourceType, namespace: string, name: string): KubeObject | undefined {
    return this.#written.latest(type, namespace, name, this.#seen.raw(type, namespace, name));
  }

  #asItIs({ apiVersion, kind, metadata }: KubeObject): One {
    const object = this.live(resourceOf({ apiVersion, kind }), metadata.namespace ?? '', metadata.name);
    return object ? { object } : {};
  }

  /** What there is for the owner now, wanted or not. */
  #there(owner: KubeObject, desired: readonly KubeObject[]): KubeObject[] {
    const wanted = desired.flatMap((each) => this.#asItIs(each).object ?? []);
    return [...wanted.filter((each) => ownership(each, owner) === 'ours'), ...this.#leftOver(owner, desired)];
  }

  #isAllAsWanted(owner: KubeObject, desired: readonly KubeObject[]): boolean {
    if (this.#leftOver(owner, desired).length > 0) return false;
    return desired.every((each) => {
      const live = this.#asItIs(each).object;
      return live !== undefined && this.#isAsWanted(live, each, digestOf(each));
    });
  }

  async #one(owner: KubeObject, desired: KubeObject, isTakeOver: boolean): Promise<One> {
    const type = resourceOf(desired);
    const { namespace = '', name } = desired.metadata;
    const digest = digestOf(desired);
    const isTaken = this.#taken.has(objectKey(desired));
    const bearsOther = (object: KubeObject | undefined) => object !== undefined && this.#others.isOthers(object);
    let live = isTaken ? await this.#client.get(type, namespace, name) : this.live(type, namespace, name);
    if (live && !(isTakeOver && bearsOther(live)) && this.#isAsWanted(live, desired, digest)) return { object: live };
    let conflict: ApiError;
    try {
      return await this.#bring(owner, desired, digest, live);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) return this.#refused(error, owner, desired, live);
      conflict = error;
    }
    // The object is not as the watch said: the API server is asked how it is.
    this.#written.forget(type, namespace, name);
    try {
      live = await this.#client.get(type, namespace, name);
      if (!isTakeOver && bearsOther(live)) throw conflict; // another operator was faster
      return await this.#bring(owner, desired, digest, live);
    } catch (error) {
      return this.#refused(error, owner, desired, live);
    }
  }

  /** Throws what is no refusal. */
  async #refused(error: unknown, owner: KubeObject, desired: KubeObject, live: KubeObject | undefined): Promise<One> {
    if (!(error instanceof ApiError)) throw error;
    const patch = live && error.status === 422 ? replacementOf(desired, live) : undefined;
    if (patch && (await this.#replaceLists(desired, patch))) return this.#one(owner, desired, false);
    const problem = refusalOf(error, desired, owner);
    if (!problem) throw error;
    return { problem, ...(live && { object: live }) };
  }

  /**
   * An edit of the member by which an item of a list is known makes it somebody else's item, which applying leaves
   * alone: a Service then has two ports of one name, and is refused.
   */
  async #replaceLists(desired: KubeObject, patch: object): Promise<boolean> {
    const type = resourceOf(desired);
    const { namespace = '', name } = desired.metadata;
    try {
      await this.#written.write(type, desired, () =>
        this.#client.mergePatch(type, namespace, name, patch, { fieldManager: FIELD_MANAGER }),
      );
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 422) return false;
      throw error;
    }
  }

  async #bring(owner: KubeObject, desired: KubeObject, digest: string, live: KubeObject | undefined): Promise<One> {
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
    this.#settle(desired, digest, object);
    return { object };
  }

  /** With no number wanted, the one that is there stays: it may be an autoscaler's, or what was wanted before. */
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

  #isAsWanted(live: KubeObject, desired: KubeObject, digest: string): boolean {
    if (live.metadata.deletionTimestamp !== undefined) return false;
    if (this.#clean.get(live) === digest) return true;
    if (live.metadata.annotations?.[APPLIED_HASH] !== digest) return false;
    const settled = this.#settled.get(live.metadata.uid ?? '');
    const known = settled?.digest === digest ? settled.texts : undefined;
    if (drift(desired, live).some((difference) => known?.has(textOf(difference)) !== true)) return false;
    this.#clean.set(live, digest);
    return true;
  }

  /** What still differs right after a write differs for good. */
  #settle(desired: KubeObject, digest: string, result: KubeObject): void {
    const { uid = '' } = result.metadata;
    const texts = new Set(drift(desired, result).map(textOf));
    if (texts.size > 0) this.#settled.set(uid, { digest, texts });
    else this.#settled.delete(uid);
  }

  /**
   * Deletes what was made for the owner and is wanted no longer; what pods may still need when the new ones serve. Until
   * then every change of the workload's status leads here again.
   */
  async #prune(owner: KubeObject, desired: readonly KubeObject[], objects: readonly KubeObject[]): Promise<void> {
    const leftOver = this.#leftOver(owner, desired);
    const mayGo = objects.filter(isWorkload).every(isRolledOut)
      ? leftOver
      : leftOver.filter((each) => !isNeededByPods(each));
    for (const object of mayGo) await this.#remove(object);
  }

  /** Workloads first: their pods use the others. */
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

  /** With the digest and our name, and such that neither a new object of that name nor somebody else's is touched. */
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
    this.#settled.delete(uid ?? '');
  }
}

/** A merge patch that makes the ports of a Service those that are wanted; undefined when they are. */
function replacementOf(desired: KubeObject, live: KubeObject): object | undefined {
  if (desired.kind !== RESOURCES.Service.kind) return undefined;
  const { ports } = (desired['spec'] ?? {}) as { ports?: readonly unknown[] };
  const { ports: there } = (live['spec'] ?? {}) as { ports?: readonly unknown[] };
  if (drift({ ports }, { ports: there }).length === 0 && ports?.length === there?.length) return undefined;
  const { uid, resourceVersion } = live.metadata;
  return { metadata: { uid, resourceVersion }, spec: { ports } };
}

/** Waits for all, also when one fails: no write of a reconcile may outlive it. */
async function settledAll<T>(runs: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

const digestOf = (desired: KubeObject): string => hash('sha256', JSON.stringify(desired), 'hex').slice(0, 32);

const textOf = ({ path, live }: Difference): string => JSON.stringify([path, live]);
