import { circular, isServedBy, type LoginAddresses } from '../../contract/auth-server-addresses.ts';
import type { Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';

type Entry = NonNullable<EmbeddedAuthServerConfig['upstreams']>[number];

const ADVICE =
  'name an identity provider here; the issuer of the authorization server is the URL of the gateway, not that of a provider';

/** Lists the addresses of a provider that point to this authorization server. Paths start at the entry. */
export const circularProblems = (entry: Entry, own: LoginAddresses): Problem[] =>
  Object.entries(addressesOf(entry)).flatMap(([path, url]) =>
    url !== undefined && isServedBy(url, own) ? [{ reason: 'CircularAddress', path, message: circular(ADVICE) }] : [],
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
