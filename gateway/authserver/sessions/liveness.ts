import { ExpiringMap } from '../storage/expiring-map.ts';
import type { Liveness } from '../storage/records.ts';
import type { Store } from '../storage/store.ts';

/** Whether the login behind an access token still counts. */
export interface LoginLiveness {
  /**
   * At once when it was looked up less than 5 s ago. False: over, revoked, or of another user or client.
   * Rejects with `StoreUnavailable`.
   */
  isLive(login: {
    readonly tsid: string;
    readonly userId: string;
    readonly clientId: string;
  }): boolean | Promise<boolean>;
  /** The login has ended by a request to this process: no token of it counts from now on. */
  forget(tsid: string): void;
}

/** How long an answer of the store is believed: so much later an end by another process counts here. */
const BELIEVED_MS = 5_000;
const MAX_LOGINS = 10_000;

type Login = Parameters<LoginLiveness['isLive']>[0];

const matches = (found: Liveness | undefined, { userId, clientId }: Login): boolean =>
  found !== undefined && found.userId === userId && found.clientId === clientId;

/**
 * Answers of the store about logins, asked once in 5 s for each. `onEnded` is called for a login that ends in this process.
 * @param now ms since the epoch.
 */
export function createLoginLiveness(
  store: Pick<Store, 'live'>,
  now: () => number,
  onEnded: (tsid: string) => void = () => undefined,
): LoginLiveness {
  const known = new ExpiringMap<{ readonly liveness: Liveness | undefined }>(now);
  const flights = new Map<string, Promise<Liveness | undefined>>();

  const remember = (tsid: string, liveness: Liveness | undefined, forMs: number): void => {
    known.delete(tsid);
    known.dropOldest(MAX_LOGINS);
    known.set(tsid, { liveness }, forMs);
  };

  const lookUp = (tsid: string): Promise<Liveness | undefined> => {
    const flying = flights.get(tsid);
    if (flying) return flying;
    const askedAt = now();
    const flight: Promise<Liveness | undefined> = store.live
      .get(tsid)
      .then((liveness) => {
        if (flights.get(tsid) !== flight) return known.get(tsid)?.liveness; // it has ended meanwhile
        remember(tsid, liveness, askedAt + BELIEVED_MS - now());
        return liveness;
      })
      .finally(() => {
        if (flights.get(tsid) === flight) flights.delete(tsid);
      });
    flights.set(tsid, flight);
    return flight;
  };

  return {
    isLive(login) {
      const found = known.get(login.tsid);
      if (found) return matches(found.liveness, login);
      return lookUp(login.tsid).then((liveness) => matches(liveness, login));
    },
    forget(tsid) {
      flights.delete(tsid);
      remember(tsid, undefined, BELIEVED_MS);
      onEnded(tsid);
    },
  };
}
