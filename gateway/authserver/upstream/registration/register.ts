import type { ServerMetadata } from 'openid-client';
import { Type, type Static } from 'typebox';
import { toUpstreamError, UpstreamError } from '../upstream-error.ts';
import { parseSeconds } from '../protocol/token-reply.ts';
import { parseObject, textsIn, type JsonObject } from '../../../contract/json.ts';
import type { Outbound, OutboundRequest } from '../../../outbound/fetch.ts';
import type { DcrConfig } from '../../../contract/run-config/upstreams.ts';

/** Registration of vmcp as a client. A secret. @see RFC 7591 §3.2.1 */
export const ClientRecord = Type.Object({
  issuer: Type.String(),
  client_id: Type.String(),
  redirect_uri: Type.String(),
  auth_method: Type.String(),
  client_secret: Type.Optional(Type.String()),
  /** ms since the epoch. */
  secret_expires_at: Type.Optional(Type.Number()),
  /** URL and token for updates of the registration. @see RFC 7592 §3 */
  registration_uri: Type.Optional(Type.String()),
  registration_token: Type.Optional(Type.String()),
});
export type ClientRecord = Static<typeof ClientRecord>;

const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;

/** Form in which vmcp presents itself. */
export interface ClientProfile {
  /** Methods of client authentication, the preferred one first. */
  readonly methods: readonly string[];
  /** Further members of the metadata. */
  readonly members: JsonObject;
  /** When absent, only the redirect URI of the request. */
  readonly redirectUris?: readonly string[];
  /** @see RFC 7591 §3.1 */
  readonly initialAccessToken?: string | undefined;
}

/** A program on the user's machine keeps no secret. @see RFC 8252 §8.5 */
const NATIVE: ClientProfile = {
  methods: ['none', 'client_secret_basic', 'client_secret_post'],
  members: { application_type: 'native' },
};
/** RFC 8414 §2: default of `token_endpoint_auth_methods_supported`. */
const DEFAULT_METHODS: readonly string[] = ['client_secret_basic'];

interface RegistrationRequest {
  readonly metadata: ServerMetadata;
  readonly outbound: Outbound;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** That of a program on the user's machine when absent. */
  readonly profile?: ClientProfile | undefined;
}

/** Registers vmcp as a client. Rejects with `UpstreamError`. @see RFC 7591 §3 */
export async function registerAtProvider(request: RegistrationRequest): Promise<ClientRecord> {
  const { metadata, outbound, redirectUri, scopes, profile = NATIVE } = request;
  const { registration_endpoint: url, token_endpoint_auth_methods_supported: supported } = metadata;
  if (url === undefined) {
    const message = `${metadata.issuer} offers no registration of clients: register vmcp there by hand, and set client_id`;
    throw new UpstreamError('misconfigured', message);
  }
  const method = profile.methods.find((one) => (supported ?? DEFAULT_METHODS).includes(one));
  if (method === undefined) throw new UpstreamError('misconfigured', `${metadata.issuer} supports no usable client authentication`); // oxfmt-ignore
  const { initialAccessToken: token } = profile;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const reply = await withFewerScopes(scopes, (each) => {
    const wanted = clientMetadata(redirectUri, method, each, profile);
    return send(outbound, { url, method: 'POST', headers }, wanted, 'the registration');
  });
  return recordOf(reply, { issuer: metadata.issuer, redirect_uri: redirectUri, auth_method: method });
}

/** Renews the client secret. Rejects with `UpstreamError`. @see RFC 7592 §2.2 */
export async function renew(
  old: ClientRecord,
  scopes: readonly string[],
  outbound: Outbound,
  profile = NATIVE,
): Promise<ClientRecord> {
  const { registration_uri: url = '', registration_token: token = '', client_id, redirect_uri, auth_method } = old;
  const body = { ...clientMetadata(redirect_uri, auth_method, scopes, profile), client_id };
  const headers = { authorization: `Bearer ${token}` };
  const reply = await send(outbound, { url, method: 'PUT', headers }, body, 'the renewal of the client secret');
  return { registration_uri: url, registration_token: token, ...recordOf(reply, { ...old }) };
}

/**
 * Registers with all scopes, without `openid`, and without any while the provider rejects the request: Keycloak does not let clients
 * register for `openid`, and Spring Authorization Server for no scope. Rejects with the first rejection.
 */
async function withFewerScopes<T>(
  scopes: readonly string[],
  attempt: (scopes: readonly string[]) => Promise<T>,
): Promise<T> {
  const others = scopes.filter((scope) => scope !== 'openid');
  const attempts = [scopes, others, []].filter((each, at, all) => at === 0 || each.length < (all[at - 1]?.length ?? 0));
  let first: unknown;
  for (const each of attempts) {
    try {
      return await attempt(each);
    } catch (error) {
      first ??= error;
      if (!(error instanceof UpstreamError) || error.fault !== 'rejected' || error.status === 401) break;
    }
  }
  throw first;
}

const clientMetadata = (
  redirectUri: string,
  method: string,
  scopes: readonly string[],
  { members, redirectUris = [redirectUri] }: ClientProfile,
) => ({
  client_name: 'vmcp',
  ...members,
  redirect_uris: redirectUris,
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: method,
  ...(scopes.length > 0 && { scope: scopes.join(' ') }),
});

async function send(
  outbound: Outbound,
  request: Pick<OutboundRequest, 'url' | 'method' | 'headers'>,
  body: object,
  what: string,
): Promise<JsonObject> {
  const headers = { ...request.headers, accept: 'application/json', 'content-type': 'application/json' };
  const reply = await outbound
    .request({ ...request, headers, body: JSON.stringify(body), maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS })
    .catch((error: unknown) => {
      throw toUpstreamError(error, { what, status: undefined });
    });
  const { status } = reply;
  const document = parseObject(reply.body);
  if ((status === 200 || status === 201) && document) return document;
  if (status >= 500 || status === 429) throw toUpstreamError(undefined, { what, status });
  const { error } = document ?? {};
  const facts = { status, ...(typeof error === 'string' && { providerError: error }) };
  throw new UpstreamError('rejected', `${what} was rejected with status ${String(status)}`, facts);
}

function recordOf(
  reply: JsonObject,
  { issuer, redirect_uri, auth_method }: Pick<ClientRecord, 'issuer' | 'redirect_uri' | 'auth_method'>,
): ClientRecord {
  const textOf = (name: string): string | undefined => {
    const value = reply[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const clientId = textOf('client_id');
  if (clientId === undefined) throw new UpstreamError('bad_reply', 'the registration has no client_id');
  const method = textOf('token_endpoint_auth_method') ?? auth_method;
  const secret = method === 'none' ? undefined : textOf('client_secret');
  const [uri, token] = [textOf('registration_client_uri'), textOf('registration_access_token')];
  const expiresAt = parseSeconds(reply['client_secret_expires_at']); // 0 never
  return {
    ...{ issuer, redirect_uri, client_id: clientId, auth_method: secret === undefined ? 'none' : method },
    ...(secret !== undefined && { client_secret: secret }),
    ...(secret !== undefined && expiresAt !== undefined && { secret_expires_at: expiresAt * 1_000 }),
    ...(uri !== undefined && { registration_uri: uri }),
    ...(token !== undefined && { registration_token: token }),
  };
}

/** Returns the members of the metadata that a registration at a provider without discovery needs. Rejects with `UpstreamError`. */
export async function findRegistrationMetadata(
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
  const supported = textsIn(methods);
  return {
    ...{ issuer, registration_endpoint: found },
    ...(supported && { token_endpoint_auth_methods_supported: supported }),
  };
}

async function fetched(url: string, outbound: Outbound): Promise<JsonObject> {
  const what = 'the discovery of the registration endpoint';
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
  const reply = await outbound
    .request({ url, method: 'GET', headers: { accept: 'application/json' }, followRedirects: true, ...limits })
    .catch((error: unknown) => {
      throw toUpstreamError(error, { what, status: undefined });
    });
  const document = reply.status === 200 ? parseObject(reply.body) : undefined;
  if (!document) throw toUpstreamError(undefined, { what, status: reply.status });
  return document;
}
