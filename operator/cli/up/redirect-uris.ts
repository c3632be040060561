import { ownCallback, sharedCallback } from '../../../gateway/contract/addresses.ts';
import type { ServerSpec } from '../../../gateway/process/gateway.ts';

/** Returns a line with the redirect URI to register at each identity provider. */
export const redirectUriLines = (configs: readonly ServerSpec['config'][]): string[] =>
  configs.flatMap(({ name = '', embedded_auth_server_config: server }) =>
    (server?.upstreams ?? []).map(({ name: provider = 'default', oidc_config, oauth2_config }, index) => {
      const shared = sharedCallback(server?.issuer ?? '');
      const configured = (oauth2_config ?? oidc_config)?.redirect_uri;
      const uri = configured ?? (index === 0 ? shared : ownCallback(server?.issuer ?? '', provider));
      const mayShare = configured === undefined && index > 0 && oidc_config !== undefined;
      const otherwise = mayShare ? `, or ${shared} if its metadata advertises iss (RFC 9207)` : '';
      return `${name}: at the provider "${provider}", register the redirect URI ${uri}${otherwise}`;
    }),
  );
