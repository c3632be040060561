import { durationMs } from '../../contract/fields.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';

/** Lifetimes of issued tokens and codes, in whole seconds. */
export interface Lifespans {
  readonly accessToken: number;
  readonly refreshToken: number;
  readonly code: number;
}

type Configured = NonNullable<EmbeddedAuthServerConfig['token_lifespans']>;

interface Bounds {
  readonly member: keyof Configured;
  readonly usual: string;
  readonly least: string;
  readonly most: string;
}

const BOUNDS: Readonly<Record<keyof Lifespans, Bounds>> = {
  accessToken: { member: 'access_token_lifespan', usual: '1h', least: '1m', most: '24h' },
  refreshToken: { member: 'refresh_token_lifespan', usual: '168h', least: '1h', most: '720h' },
  code: { member: 'auth_code_lifespan', usual: '60s', least: '30s', most: '10m' },
};

/** Lifetimes of a login attempt, of a leg, and of the mark of a used code; in seconds. */
export const FIXED_LIFESPANS = { loginAttempt: 30 * 60, upstreamLeg: 10 * 60, usedCode: 30 * 60 } as const;

const PATH = 'token_lifespans';

/** Reads the configured lifespans and their problems. Paths start at `embedded_auth_server_config`. */
export function readLifespans(configured: Configured = {}): {
  readonly lifespans: Lifespans;
  readonly problems: readonly Problem[];
} {
  const lifespans = {
    accessToken: secondsOf(configured, 'accessToken'),
    refreshToken: secondsOf(configured, 'refreshToken'),
    code: secondsOf(configured, 'code'),
  };
  const problems = Object.values(BOUNDS).flatMap((bounds) => boundProblems(configured, bounds));
  if (problems.length === 0 && lifespans.refreshToken <= lifespans.accessToken)
    problems.push(
      lifespanProblem('refresh_token_lifespan', 'refresh tokens must outlive access tokens: use a longer duration'),
    );
  return { lifespans, problems };
}

function secondsOf(configured: Configured, name: keyof Lifespans): number {
  const { member, usual } = BOUNDS[name];
  return Math.floor(msOf(configured[member] ?? usual) / 1_000);
}

function boundProblems(configured: Configured, { member, least, most }: Bounds): Problem[] {
  const text = configured[member];
  if (text === undefined) return [];
  const ms = msOf(text);
  if (ms >= durationMs(least) && ms <= durationMs(most)) return [];
  return [lifespanProblem(member, `${text} is not a duration from ${least} to ${most}`)];
}

/** Returns the duration in ms; NaN, which fails every limit, for an invalid one. */
function msOf(text: string): number {
  try {
    return durationMs(text);
  } catch {
    return Number.NaN;
  }
}

const lifespanProblem = (member: keyof Configured, message: string): Problem =>
  problem('InvalidLifespan', `${PATH}.${member}`, message);
