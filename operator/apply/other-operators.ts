import type { KubeObject } from '../../gateway/kube/resource.ts';

/** Annotation with the operator that applied an object last: namespace and name of its Lease. */
export const APPLIED_BY = 'vmcp.dev/applied-by';

/** Time without changes after which objects of another operator are taken over. That operator may just be slow. */
const AT_REST_MS = 30_000;
/** An operator that applies its objects again within this time is running. */
const ANSWER_MS = 300_000;

/** State of the objects of one owner that another operator applied. */
interface Sighting {
  /** Digest that the other operator applied, by object. */
  marks: ReadonlyMap<string, string>;
  since: number;
  /** True when all objects with these marks matched the desired state. */
  isAgreed: boolean;
  tookOverAt?: number;
  /** True when the other operator changed them back after a take-over: it is running and keeps them. */
  isLost: boolean;
}

/** Operator that owns the objects, and the time to the next check; absent when it certainly keeps them. */
export interface Possession {
  readonly other: string;
  readonly againInMs?: number;
}

/**
 * Prevents two operators with different settings from overwriting each other for ever. Objects of another operator are
 * taken over when they have not changed for a while, since that operator may be gone. If it changes them back, it keeps
 * them. So the operator that was first wins.
 */
export class OtherOperators {
  readonly #identity: string;
  readonly #now: () => number;
  readonly #hashAnnotation: string;
  /** Sightings by uid of the owner. */
  readonly #sightings = new Map<string, Sighting>();

  /** @param hashAnnotation annotation that identifies the state that an operator applied */
  constructor(identity: string, now: () => number, hashAnnotation: string) {
    this.#identity = identity;
    this.#now = now;
    this.#hashAnnotation = hashAnnotation;
  }

  isOthers({ metadata }: KubeObject): boolean {
    const by = metadata.annotations?.[APPLIED_BY];
    return by !== undefined && by !== this.#identity;
  }

  /** Records the current objects of an owner. */
  see({ metadata: { uid = '' } }: KubeObject, objects: readonly KubeObject[]): void {
    const marks = this.#marksOf(objects);
    const now = this.#now();
    const before = this.#sightings.get(uid);
    if (marks.size === 0 && before?.tookOverAt === undefined) {
      this.#sightings.delete(uid);
      return;
    }
    const sighting = before ?? { marks: new Map<string, string>(), since: now, isAgreed: false, isLost: false };
    this.#sightings.set(uid, sighting);
    resetConflict(sighting, now);
    if ([...marks].some(([id, mark]) => sighting.marks.get(id) !== mark)) {
      sighting.since = now;
      sighting.isAgreed = false;
    }
    sighting.marks = marks;
  }

  /** Records that all objects of an owner match the desired state: the two operators do not conflict. */
  agree({ metadata: { uid = '' } }: KubeObject): void {
    const sighting = this.#sightings.get(uid);
    if (sighting) sighting.isAgreed = true;
  }

  /** Returns undefined when all recorded objects of an owner can be taken over now, else the operator that owns them. */
  takeOver({ metadata: { uid = '' } }: KubeObject, objects: readonly KubeObject[]): Possession | undefined {
    const other = objects.find((each) => this.isOthers(each))?.metadata.annotations?.[APPLIED_BY];
    const sighting = this.#sightings.get(uid);
    if (other === undefined || !sighting) return undefined;
    const againInMs = sighting.since + AT_REST_MS - this.#now();
    if (sighting.isLost) return { other };
    if (againInMs > 0) return { other, againInMs };
    const { tookOverAt, since } = sighting;
    // Both operators have seen the same objects by now, which are in the state that the other one desires.
    sighting.isLost = tookOverAt !== undefined && since >= tookOverAt && since - tookOverAt < ANSWER_MS;
    if (sighting.isLost) return { other };
    sighting.tookOverAt = this.#now();
    sighting.isAgreed = false;
    return undefined;
  }

  #marksOf(objects: readonly KubeObject[]): Map<string, string> {
    return new Map(
      objects
        .filter((each) => this.isOthers(each))
        .map(({ kind, metadata: { name, uid = '', annotations = {} } }) => [
          `${kind}/${name}/${uid}`,
          `${annotations[APPLIED_BY] ?? ''} ${annotations[this.#hashAnnotation] ?? ''}`,
        ]),
    );
  }
}

/** Resets a conflict after a lasting agreement: objects that are only partly written can look like a conflict. */
function resetConflict(sighting: Sighting, now: number): void {
  if (!sighting.isAgreed || now - sighting.since < AT_REST_MS) return;
  delete sighting.tookOverAt;
  sighting.isLost = false;
}
