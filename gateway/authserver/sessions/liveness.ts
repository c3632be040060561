import type { LoginLiveness } from '../../incoming/token-validator.ts';
import { ExpiringMap } from '../../kit/cache.ts';
import { Flights } from '../../kit/tasks.ts';
import type { LivenessRecord } from '../storage/records.ts';
import type { Store } from '../storage/store.ts';

/** Answers of the store whether the login of an access token is live. Rejects with `StoreUnavailable`. */
export interface LivenessCache extends Pick<LoginLiveness, 'isLive'> {
  /** Called when a request to this process has ended the login. Its tokens are invalid from now on. */
  forget(tsid: string): void;
}

/** Cache time: the delay after which an end in another process is noticed. */
const CACHED_MS = 5_000;
const MAX_LOGINS = 10_000;

type Login = Parameters<LoginLiveness['isLive']>[0];

const matches = (found: LivenessRecord | undefined, { userId, clientId }: Login): boolean =>
  found !== undefined && found.userId === userId && found.clientId === clientId;

/**
 * Creates a cache of the store's answers, which last 5 s. `onEnded` is called for a login that ends in this process.
 * @param now ms since the epoch.
 */
export function createLoginLiveness(
  store: Pick<Store, 'live'>,
  now: () => number,
  onEnded: (tsid: string) => void = () => undefined,
): LivenessCache {
  const known = new ExpiringMap<{ readonly liveness: LivenessRecord | undefined }>(now, undefined, MAX_LOGINS);
  const flights = new Flights<string, LivenessRecord | undefined>();

  const remember = (tsid: string, liveness: LivenessRecord | undefined, forMs: number): void => {
    known.set(tsid, { liveness }, forMs);
  };

  const lookUp = (tsid: string): Promise<LivenessRecord | undefined> => {
    const askedAt = now();
    const flight: Promise<LivenessRecord | undefined> = flights.run(tsid, async () => {
      const liveness = await store.live.get(tsid);
      if (flights.get(tsid) !== flight) return known.get(tsid)?.liveness; // the login has ended meanwhile
      remember(tsid, liveness, askedAt + CACHED_MS - now());
      return liveness;
    });
    return flight;
  };

  return {
    isLive(login) {
      const found = known.get(login.tsid);
      if (found) return matches(found.liveness, login);
      return lookUp(login.tsid).then((liveness) => matches(liveness, login));
    },
    forget(tsid) {
      flights.forget(tsid);
      remember(tsid, undefined, CACHED_MS);
      onEnded(tsid);
    },
  };
}
