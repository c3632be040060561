import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Issuer } from '../../../e2e/harness/issuer.ts';
import type { Scope } from '../../../e2e/harness/scope.ts';
import type { Identity } from '../../contract/identity.ts';
import { createOutbound } from '../../outbound/fetch.ts';
import { readSecretFile } from '../../outbound/watched-file.ts';
import { DependencyDown, TokenRefused } from '../refusal.ts';
import type { IncomingConfig, IssuerValidator, TokenValidator, ValidatorDeps } from '../token-validator.ts';
import { createTokenValidator } from '../sources/index.ts';

export const AUDIENCE = 'vmcp';

export interface LogLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly message: string;
  readonly facts: unknown;
}

/** A validator with the real outbound guard, whose clock a test can put forward. */
export interface UnderTest {
  readonly validator: IssuerValidator;
  readonly log: LogLine[];
  /** Puts the clock forward. */
  elapse(ms: number): void;
}

type Oidc = NonNullable<IncomingConfig['oidc_config']>;
type Incoming = Partial<IncomingConfig['vmcp']['incoming']>;

export interface Setup {
  readonly oidc?: Oidc;
  readonly incoming?: Incoming;
  /** Namespace of the virtual server. */
  readonly namespace?: string;
  readonly deps?: Partial<ValidatorDeps>;
}

export const configFor = (issuer: string | undefined, { oidc, incoming, namespace }: Setup = {}): IncomingConfig => ({
  oidc_config: { ...(issuer !== undefined && { issuer }), audience: AUDIENCE, ...oidc },
  vmcp: { incoming: { type: 'oidc', ...incoming }, ...(namespace !== undefined && { namespace }) },
});

export function validatorFor(scope: Scope, issuer: string | undefined, setup: Setup = {}): UnderTest {
  const log: LogLine[] = [];
  const write = (level: LogLine['level']) => (message: string, facts?: unknown) => {
    log.push({ level, message, facts });
  };
  let offset = 0;
  const validator = createTokenValidator(configFor(issuer, setup), {
    now: () => Date.now() + offset,
    log: { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') },
    outbound: createOutbound,
    readSecret: readSecretFile,
    retryPausesMs: [5, 10],
    ...setup.deps,
  });
  scope.defer(() => {
    validator.close();
  });
  return {
    validator,
    log,
    elapse: (ms) => {
      offset += ms;
    },
  };
}

/** A folder of files that ends with the scope: path by name. */
export async function filesIn<Name extends string>(
  scope: Scope,
  contents: Readonly<Record<Name, string>>,
): Promise<Record<Name, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-incoming-'));
  scope.defer(() => rm(folder, { recursive: true }));
  const paths: Partial<Record<Name, string>> = {};
  for (const [name, content] of Object.entries(contents) as [Name, string][]) {
    paths[name] = join(folder, name);
    await writeFile(paths[name], content);
  }
  return paths as Record<Name, string>;
}

/** The subject, or why there is none: a reason of `TokenRefused`, or `down: <dependency>`. */
export async function verdictOn(validator: TokenValidator, token: string): Promise<string> {
  try {
    const { subject }: Identity = await validator.validate(token);
    return `sub: ${subject}`;
  } catch (error) {
    if (error instanceof TokenRefused) return error.reason;
    if (error instanceof DependencyDown) return `down: ${error.dependency}`;
    throw error;
  }
}

export const requestsFor = (issuer: Issuer, endpoint: 'discovery' | 'jwks' | 'introspection'): number =>
  issuer.seen.filter((request) => request.endpoint === endpoint).length;
