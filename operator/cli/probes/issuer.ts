import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { Discovery, discoveredKeys } from '../../../gateway/incoming/keys/discovery.ts';
import { FetchFailure, type JsonGet } from '../../../gateway/incoming/keys/json-get.ts';
import { keySetOf } from '../../../gateway/incoming/keys/key-set.ts';
import { NoReply, type Get } from './http-get.ts';

/** Issuer of a virtual server whose tokens come from elsewhere. */
export interface ExternalIssuer {
  readonly issuer: string;
  /** Discovered when absent. */
  readonly jwksUrl: string | undefined;
}

/**
 * Returns the issuer that a gateway with this configuration asks for keys. Undefined without one, when the gateway is its
 * own issuer, and when only the gateway can ask it: with its own certificates or a token.
 */
export function externalIssuer({
  oidc_config: oidc,
  embedded_auth_server_config: own,
}: GatewayConfig): ExternalIssuer | undefined {
  if (!oidc?.issuer || own || oidc.cacertPath !== undefined || oidc.authTokenFile !== undefined) return undefined;
  return { issuer: oidc.issuer, jwksUrl: oidc.jwksurl };
}

/** Returns the OpenID providers of the embedded authorization server, except those that need certificates of their own. */
export const upstreamIssuers = ({ embedded_auth_server_config: server }: GatewayConfig): ExternalIssuer[] =>
  (server?.upstreams ?? []).flatMap(({ oidc_config: oidc }) =>
    oidc?.issuer_url === undefined || oidc.ca_file !== undefined
      ? []
      : [{ issuer: oidc.issuer_url, jwksUrl: undefined }],
  );

/** Returns the token and userinfo endpoints that a gateway sends requests to, except those that need certificates of their own. */
export function credentialEndpoints({
  embedded_auth_server_config: server,
  vmcp: { outgoing_auth: outgoing = {} },
}: Pick<GatewayConfig, 'embedded_auth_server_config' | 'vmcp'>): string[] {
  const ofProviders = (server?.upstreams ?? []).flatMap(({ oauth2_config: oauth2, oidc_config: oidc }) =>
    (oauth2 ?? oidc)?.ca_file === undefined
      ? [oauth2?.token_endpoint, oauth2?.userinfo?.endpoint_url, oidc?.userinfo_override?.endpoint_url]
      : [],
  );
  const ofExchanges = Object.values(outgoing).map((entry) => (entry as { readonly token_url?: unknown }).token_url);
  const urls = [...ofProviders, ...ofExchanges].filter((url) => typeof url === 'string');
  return [...new Set(urls)];
}

/** Reads the metadata and the keys of an issuer. Returns the reason why tokens could not be validated. */
export async function issuerFault({ issuer, jwksUrl }: ExternalIssuer, get: Get): Promise<string | undefined> {
  const getJson = jsonOver(get);
  try {
    const { document } =
      jwksUrl === undefined
        ? await discoveredKeys(new Discovery(issuer, getJson, () => 0), getJson)
        : await getJson(jwksUrl);
    await keySetOf(document);
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
}

const jsonOver =
  (get: Get): JsonGet =>
  async (url) => {
    const { status, body } = await get(url, { headers: { accept: 'application/json' } }).catch((error: unknown) => {
      throw error instanceof NoReply ? new FetchFailure('KeysUnavailable', error.message) : error;
    });
    if (status !== 200) throw new FetchFailure('UnexpectedStatus', `GET ${url} answered ${String(status)}`, { status });
    try {
      return { document: JSON.parse(body) as unknown, text: body, maxAgeMs: 0 };
    } catch {
      throw new FetchFailure('NotJson', `GET ${url} answered something that is not JSON`);
    }
  };
