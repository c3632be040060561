import type { ServerMetadata } from 'openid-client';
import type { DcrConfig } from '../../../contract/run-config/upstreams.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import type { UpstreamDeps } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import { register, renew, type ClientProfile } from './register.ts';
import { RegisteredClient, type Registrar } from './registered-client.ts';

type Deps = Pick<UpstreamDeps, 'name' | 'now' | 'log' | 'readSecret' | 'registrations'>;

/** Place where the gateway registers. */
export interface RegistrationPlace {
  /** Configured URL that leads to the registration endpoint. */
  readonly address: string;
  readonly outbound: Outbound;
  /** Configured scopes. */
  readonly scopes: readonly string[];
  /** Returns the current metadata and the scopes to register for. Rejects with `UpstreamError`. */
  readonly find: () => Promise<{ readonly metadata: ServerMetadata; readonly scopes: readonly string[] }>;
}

/** Creates the registered client of a provider with `dcr_config`. */
export function registeredClientOf(
  dcr: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
  place: RegistrationPlace,
): RegisteredClient {
  const { software_id, software_statement } = dcr;
  const { name, now, log, registrations: store } = deps;
  if (!store) throw new Error('a provider with dcr_config needs a store');
  const scopes = place.scopes.toSorted().join(' ');
  const facts = [place.address, name, redirectUris.join(' '), scopes, software_id, software_statement];
  return new RegisteredClient({
    facts: facts.map((fact) => fact ?? ''),
    registrar: registrarOf(dcr, deps, redirectUris, place),
    ...{ store, name, now, log },
  });
}

function registrarOf(
  dcr: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
  { outbound, find }: RegistrationPlace,
): Registrar {
  const [redirectUri = ''] = redirectUris;
  const profile = () => profileOf(dcr, deps, redirectUris);
  return {
    register: async () => register({ ...(await find()), outbound, redirectUri, profile: profile() }),
    renew: async (old) => renew(old, (await find()).scopes, outbound, profile()),
  };
}

/** Reads the initial access token for every registration, so that a changed file takes effect. */
function profileOf(
  { software_id, software_statement, initial_access_token_file: file }: DcrConfig,
  deps: Deps,
  redirectUris: readonly string[],
): ClientProfile {
  return {
    redirectUris,
    methods: ['client_secret_basic', 'client_secret_post', 'none'],
    members: {
      application_type: 'web',
      ...(software_id !== undefined && { software_id }),
      ...(software_statement !== undefined && { software_statement }),
    },
    ...(file !== undefined && { initialAccessToken: tokenIn(file, deps) }),
  };
}

function tokenIn(file: string, { readSecret }: Deps): string {
  try {
    return readSecret(file).trim();
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be read';
    throw new UpstreamError('misconfigured', `the initial access token is missing: ${message}`);
  }
}
