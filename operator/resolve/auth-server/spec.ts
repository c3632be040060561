import type { Scope } from '../scope.ts';
import type { VirtualMCPServer } from '../snapshot.ts';
import { circular, isServedBy } from '../../../gateway/contract/addresses.ts';

export type AuthServerSpec = NonNullable<VirtualMCPServer['spec']['authServerConfig']>;

export const AUTH_SERVER_PATH = 'spec.authServerConfig';

/** Names in `authServerConfig.upstreamProviders`. */
export const upstreamNames = ({ vmcp }: Scope): string[] =>
  (vmcp.spec.authServerConfig?.upstreamProviders ?? []).map(({ name }) => name);

/** Configuration members whose field name in a resource is not just their camel-case form. */
const FIELDS: Readonly<Record<string, string>> = {
  allow_private_ips: 'allowPrivateIPs',
  client_secret_file: 'clientSecretRef',
  initial_access_token_file: 'initialAccessTokenRef',
  insecure_allow_http: 'insecureAllowHTTP',
  private_key_file: 'privateKeyRef',
  userinfo: 'userInfo',
  userinfo_override: 'userInfoOverride',
};

/** `oidc_config.userinfo_override.http_method` -> `oidcConfig.userInfoOverride.httpMethod`. Names in maps stay. */
export function fieldOf(path: string): string {
  const [, members = '', name = ''] =
    /^(.*?)((?<=\.(?:additional_(?:headers|authorization_params|token_params)))\..*)?$/su.exec(path) ?? [];
  const camel = (member: string): string =>
    FIELDS[member] ?? member.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());
  return members.split('.').map(camel).join('.') + name;
}

/** Returns true when a URL belongs to the embedded authorization server. */
export function isOwnAddress(url: string, { vmcp }: Scope): boolean {
  const own = vmcp.spec.authServerConfig;
  return own !== undefined && isServedBy(url, own);
}

/** Returns the message for a token exchange at the embedded authorization server. */
export const circularExchange = (url: string, { vmcp }: Scope): string =>
  url === `${String(vmcp.spec.authServerConfig?.issuer)}/oauth/token`
    ? 'the embedded authorization server of the same VirtualMCPServer issues tokens for this server only: use a config of type upstreamInject to send upstream tokens, or use another address'
    : circular('name another address');
