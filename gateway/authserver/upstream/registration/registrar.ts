import type { ServerMetadata } from 'openid-client';
import { parseObject, type JsonObject } from '../../../contract/json.ts';
import type { DcrConfig, OAuth2ProviderConfig } from '../../../contract/run-config/upstreams.ts';
import type { Outbound } from '../../../outbound/fetch.ts';
import { faultOf } from '../protocol/fault-of.ts';
import type { Guards } from '../protocol/guards.ts';
import type { UpstreamDeps } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import { register, renew, type ClientProfile } from './register.ts';
import { RegisteredClient, type Registrar } from './registered-client.ts';

const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;

type Deps = Pick<UpstreamDeps, 'name' | 'now' | 'log' | 'readSecret' | 'registrations'>;

/** Creates the registered client of a provider with `dcr_config`. */
export function registeredClientOf(
  settings: OAuth2ProviderConfig,
  dcr: DcrConfig,
  deps: Deps,
  { guards, redirectUri }: { readonly guards: Guards; readonly redirectUri: string },
): RegisteredClient {
  const { discovery_url: discovery, registration_endpoint: endpoint, software_id, software_statement } = dcr;
  const { scopes = [] } = settings;
  const { name, now, log, registrations: store } = deps;
  if (!store) throw new Error('a provider with dcr_config needs a store');
  const address = discovery ?? endpoint ?? '';
  const facts = [address, name, redirectUri, [...scopes].toSorted().join(' '), software_id, software_statement];
  return new RegisteredClient({
    facts: facts.map((fact) => fact ?? ''),
    registrar: registrarOf(settings, dcr, deps, { outbound: guards.of(address), redirectUri }),
    ...{ store, name, now, log },
  });
}

function registrarOf(
  { scopes = [] }: OAuth2ProviderConfig,
  dcr: DcrConfig,
  deps: Deps,
  { outbound, redirectUri }: { readonly outbound: Outbound; readonly redirectUri: string },
): Registrar {
  return {
    register: async () => {
      const metadata = await metadataOf(dcr, outbound);
      return register({ metadata, outbound, redirectUri, scopes, profile: profileOf(dcr, deps) });
    },
    renew: (old) => renew(old, scopes, outbound, profileOf(dcr, deps)),
  };
}

/** Reads the initial access token for every registration, so that a changed file takes effect. */
function profileOf(
  { software_id, software_statement, initial_access_token_file: file }: DcrConfig,
  deps: Deps,
): ClientProfile {
  return {
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

/** Returns the members of the metadata that a registration needs. */
async function metadataOf(
  { discovery_url: url, registration_endpoint: endpoint = '' }: DcrConfig,
  outbound: Outbound,
): Promise<ServerMetadata> {
  if (url === undefined) return { issuer: new URL(endpoint).origin, registration_endpoint: endpoint };
  const document = await fetched(url, outbound);
  const { issuer, registration_endpoint: found, token_endpoint_auth_methods_supported: methods } = document;
  if (typeof issuer !== 'string' || new URL(url).origin !== URL.parse(issuer)?.origin)
    throw new UpstreamError('bad_reply', 'the discovery document has no issuer of its own origin');
  if (typeof found !== 'string' || !URL.canParse(found))
    throw new UpstreamError('misconfigured', `${issuer} offers no registration of clients: set clientId`);
  return {
    ...{ issuer, registration_endpoint: found },
    ...(Array.isArray(methods) && {
      token_endpoint_auth_methods_supported: methods.filter((one) => typeof one === 'string'),
    }),
  };
}

async function fetched(url: string, outbound: Outbound): Promise<JsonObject> {
  const what = 'the discovery of the registration endpoint';
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
  const reply = await outbound
    .request({ url, method: 'GET', headers: { accept: 'application/json' }, followRedirects: true, ...limits })
    .catch((error: unknown) => {
      throw faultOf(error, { what, status: undefined });
    });
  const document = reply.status === 200 ? parseObject(reply.body) : undefined;
  if (!document) throw faultOf(undefined, { what, status: reply.status });
  return document;
}
