import { invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import { oauth2 } from './oauth2.ts';
import { oidc } from './oidc.ts';
import type { Upstream, UpstreamDeps, UpstreamScope } from './upstream.ts';
import { circular, isServedBy, type LoginAddresses } from '../../contract/addresses.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';

/** All types of upstream providers. A new one is one line here. */
export const UPSTREAMS = [oauth2, oidc] as const;

/** Provider of any type. */
interface AnyUpstream {
  readonly type: string;
  resolve(spec: never, scope: UpstreamScope): object;
  check(config: never): Problem[];
  create(config: never, deps: UpstreamDeps): Upstream;
}

/** Item of `embedded_auth_server_config.upstreams`. Its member `<type>_config` holds the settings of the type. */
export interface UpstreamEntry {
  readonly name?: string;
  readonly type?: string;
}

const typeNamed = (type: string | undefined): AnyUpstream | undefined => UPSTREAMS.find((each) => each.type === type);

const blockOf = (entry: object, member: string): unknown => (entry as Readonly<Record<string, unknown>>)[member];

/** Lists the problems of an entry that matches its schema. Paths start at the entry. */
export function upstreamProblems(entry: UpstreamEntry): Problem[] {
  const upstream = typeNamed(entry.type);
  if (!upstream) {
    const message = `must be one of ${UPSTREAMS.map(({ type }) => type).join(', ')}`;
    return [invalid('type', message)];
  }
  const member = `${upstream.type}_config`;
  const config = blockOf(entry, member);
  if (config === undefined) return [missing(member, `set ${member}`)];
  return upstream.check(config as never).map((found) => ({ ...found, path: `${member}.${found.path}` }));
}

/** Creates the provider of an entry. Throws an Error when the entry has problems. */
export function createUpstream(entry: UpstreamEntry, deps: UpstreamDeps): Upstream {
  const [problem] = upstreamProblems(entry);
  const upstream = typeNamed(entry.type);
  if (problem || !upstream) {
    throw new Error(`upstream provider "${deps.name}": ${problem?.path ?? 'type'}: ${problem?.message ?? 'unknown'}`);
  }
  return upstream.create(blockOf(entry, `${upstream.type}_config`) as never, deps);
}

/** Resolves an item of `upstreamProviders`. Paths of problems start at the member that the type names. */
export function resolveUpstream(
  provider: { readonly name: string; readonly type: string },
  scope: UpstreamScope,
): UpstreamEntry {
  const upstream = typeNamed(provider.type);
  if (!upstream) throw new Error(`no upstream type "${provider.type}"`);
  const config = upstream.resolve(blockOf(provider, `${upstream.type}Config`) as never, scope);
  return { name: provider.name, type: upstream.type, [`${upstream.type}_config`]: config };
}

type Entry = NonNullable<EmbeddedAuthServerConfig['upstreams']>[number];

const ADVICE =
  'name an identity provider here; the issuer of the authorization server is the URL of the gateway, not that of a provider';

/** Lists the addresses of a provider that point to this authorization server. Paths start at the entry. */
export const circularProblems = (entry: Entry, own: LoginAddresses): Problem[] =>
  Object.entries(addressesOf(entry)).flatMap(([path, url]) =>
    url !== undefined && isServedBy(url, own) ? [problem('CircularAddress', path, circular(ADVICE))] : [],
  );

const addressesOf = ({
  oauth2_config: oauth2,
  oidc_config: oidc,
}: Entry): Readonly<Record<string, string | undefined>> => ({
  'oauth2_config.authorization_endpoint': oauth2?.authorization_endpoint,
  'oauth2_config.token_endpoint': oauth2?.token_endpoint,
  'oauth2_config.revocation_endpoint': oauth2?.revocation_endpoint,
  'oauth2_config.dcr_config.discovery_url': oauth2?.dcr_config?.discovery_url,
  'oauth2_config.dcr_config.registration_endpoint': oauth2?.dcr_config?.registration_endpoint,
  'oauth2_config.userinfo.endpoint_url': oauth2?.userinfo?.endpoint_url,
  'oidc_config.issuer_url': oidc?.issuer_url,
  'oidc_config.dcr_config.registration_endpoint': oidc?.dcr_config?.registration_endpoint,
  'oidc_config.userinfo_override.endpoint_url': oidc?.userinfo_override?.endpoint_url,
});
