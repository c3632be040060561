import type { UpstreamTokenOwner } from '../../../outgoing/upstream-tokens.ts';
import type { AuthServerEvent } from '../../events.ts';
import type { FamilyRef, UpstreamRow } from '../../storage/records.ts';
import type { Store } from '../../storage/store.ts';
import { family, SPANS, unique } from '../../storage/testdata/samples.ts';
import { CLIENT_ID } from '../../upstream/testdata/scripted-provider.ts';
import { oidcEntry, upstreamFor } from '../../upstream/testdata/upstream-under-test.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { createLoginLiveness } from '../liveness.ts';
import { createSessions, type Sessions } from '../sessions.ts';
import { rotatingProvider, type ProviderGrant, type RefreshAnswer, type RotatingProvider } from './rotating-provider.ts';

const DAY_MS = 86_400_000;
const PROVIDERS = ['corp', 'github', 'c', 'b-c'] as const;

/** Processes over one store, with their provider and a test clock. */
export interface Replicas {
  readonly sessions: readonly [Sessions, ...Sessions[]];
  readonly store: Store;
  readonly rotating: RotatingProvider;
  /** Events of the processes, with their facts. */
  readonly events: (readonly [AuthServerEvent, unknown])[];
  readonly logged: string[];
  now(): number;
  advance(ms: number): void;
  /** Stores the row of a login with the members of the grant. */
  login(owner: UpstreamTokenOwner, provider: string, login: Login): Promise<FamilyRef>;
  row(owner: UpstreamTokenOwner, provider: string): Promise<UpstreamRow | undefined>;
  refreshCount(): number;
}

export interface Login {
  readonly grant: ProviderGrant;
  /** Answers of the provider to its refresh token. Without them there is no refresh token. */
  readonly refreshes?: readonly RefreshAnswer[] | undefined;
  readonly row?: Partial<UpstreamRow>;
}

export interface ReplicasOptions {
  /** Replaces the scripted provider. */
  readonly upstreams?: (now: () => number) => Promise<ReadonlyMap<string, Upstream>>;
}

/** Starts one process for each store. The stores share their records. */
export async function replicasOver(
  open: (now: () => number) => Promise<readonly [Store, ...Store[]]>,
  options: ReplicasOptions = {},
): Promise<Replicas> {
  let offset = 0;
  const now = () => Date.now() + offset;
  const rotating = await rotatingProvider(now);
  const stores = await open(now);
  const events: Replicas['events'] = [];
  const logged: string[] = [];
  const line = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const replica = async (store: Store): Promise<Sessions> => {
    const own = new Map<string, Upstream>(
      PROVIDERS.map((name) => [name, upstreamFor(oidcEntry(rotating.provider), { name, now }).upstream]),
    );
    return createSessions({
      settings: { providers: ['corp', 'github'], lifespans: { accessToken: 3_600, refreshToken: 604_800, code: 60 } },
      store,
      upstreams: (await options.upstreams?.(now)) ?? own,
      liveness: createLoginLiveness(store, now),
      now,
      log: { error: line, warn: line, info: line, debug: line },
      emit: (event, facts) => void events.push([event, facts]),
    });
  };
  const [store] = stores;
  const [first, ...rest] = await Promise.all(stores.map(replica));
  if (!first) throw new Error('there is no store');
  const login: Replicas['login'] = async (owner, provider, { grant, refreshes, row = {} }) => {
    const { tsid, subject: userId, clientId = '' } = owner;
    const made = family(now(), { tsid, clientId, login: { userId, authTime: now() } });
    await store.families.create(made, unique(), { ...SPANS, liveMs: 400 * DAY_MS });
    const end = (seconds: number | undefined) => (seconds === undefined ? undefined : now() + seconds * 1_000);
    const { accessToken, expiresIn, idToken, idTokenExpiresIn = 3_600 } = grant;
    await store.upstreamTokens.put(
      {
        ...{ tsid, provider, userId, clientId, accessToken, upstreamSubject: 'ann', upstreamClientId: CLIENT_ID },
        refreshToken: refreshes && rotating.refreshToken(refreshes),
        expiresAt: end(expiresIn),
        idToken: idToken === undefined ? undefined : rotating.idToken(idToken, idTokenExpiresIn),
        idTokenExpiresAt: idToken === undefined ? undefined : end(idTokenExpiresIn),
        storedAt: now(),
        ...row,
      },
      400 * DAY_MS,
    );
    return made;
  };
  return {
    ...{ sessions: [first, ...rest], store, rotating, events, logged, now, login },
    advance: (ms) => void (offset += ms),
    row: ({ tsid }, provider) => store.upstreamTokens.get(tsid, provider),
    refreshCount: () => rotating.provider.to('token').length,
  };
}
