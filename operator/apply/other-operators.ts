import type { KubeObject } from '../../gateway/kube/resource.ts';

/** Which operator applied an object last: namespace and name of its Lease. */
export const APPLIED_BY = 'vmcp.dev/applied-by';

/** For so long objects of another operator must stand still before they are taken over: it may just be late. */
const AT_REST_MS = 30_000;
/** An operator that answers a take-over within this time runs. */
const ANSWER_MS = 300_000;

/** What is known of the objects of one owner that another operator applied. */
interface Sighting {
  /** What the other one made of them, by object. */
  marks: ReadonlyMap<string, string>;
  since: number;
  /** Whether these marks were seen on nothing but what is wanted. */
  isAgreed: boolean;
  tookOverAt?: number;
  /** They were taken over, and changed to something else: the other operator runs, and this one leaves them alone. */
  isLost: boolean;
}

/** Who has the objects, and when to ask again; not at all when it is certain that it keeps them. */
export interface Possession {
  readonly other: string;
  readonly againInMs?: number;
}

/**
 * Keeps two operators with different settings from undoing each other's work for ever. What another operator applied is
 * taken over once it stands still, for that operator may be gone; who loses it again gives in. So the one that was there
 * first wins.
 */
export class OtherOperators {
  readonly #identity: string;
  readonly #now: () => number;
  readonly #hashAnnotation: string;
  /** By uid of the owner. */
  readonly #sightings = new Map<string, Sighting>();

  /** @param hashAnnotation tells one state of an object that an operator applied from another */
  constructor(identity: string, now: () => number, hashAnnotation: string) {
    this.#identity = identity;
    this.#now = now;
    this.#hashAnnotation = hashAnnotation;
  }

  isOthers({ metadata }: KubeObject): boolean {
    const by = metadata.annotations?.[APPLIED_BY];
    return by !== undefined && by !== this.#identity;
  }

  /** Takes what is there of an owner now. */
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
    forgive(sighting, now);
    if ([...marks].some(([id, mark]) => sighting.marks.get(id) !== mark)) {
      sighting.since = now;
      sighting.isAgreed = false;
    }
    sighting.marks = marks;
  }

  /** All objects of an owner are as wanted, whoever applied them: with an operator that wants the same there is no fight. */
  agree({ metadata: { uid = '' } }: KubeObject): void {
    const sighting = this.#sightings.get(uid);
    if (sighting) sighting.isAgreed = true;
  }

  /** Undefined when the objects of an owner, which have been seen, may be taken over now: all of them. */
  takeOver({ metadata: { uid = '' } }: KubeObject, objects: readonly KubeObject[]): Possession | undefined {
    const other = objects.find((each) => this.isOthers(each))?.metadata.annotations?.[APPLIED_BY];
    const sighting = this.#sightings.get(uid);
    if (other === undefined || !sighting) return undefined;
    const againInMs = sighting.since + AT_REST_MS - this.#now();
    if (sighting.isLost) return { other };
    if (againInMs > 0) return { other, againInMs };
    const { tookOverAt, since } = sighting;
    // By now both have seen the same: what is there is what the other one wants.
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

/** An agreement that lasted ends a fight: what was half written may look like one. */
function forgive(sighting: Sighting, now: number): void {
  if (!sighting.isAgreed || now - sighting.since < AT_REST_MS) return;
  delete sighting.tookOverAt;
  sighting.isLost = false;
}
