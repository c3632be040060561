import { Closed } from '../contract/fields.ts';
import { rule } from '../contract/rule.ts';
import { defineMode } from './mode.ts';
import { oidcProblems } from './oidc-problems.ts';
import { createTokenValidator } from './sources/index.ts';

interface OidcAuth {
  readonly type: string;
  readonly oidcConfig?: unknown;
  readonly oidcConfigRef?: unknown;
}

/** Bearer tokens of one issuer, which `oidcConfig` or `oidcConfigRef` describes. */
export const oidc = defineMode({
  type: 'oidc',
  description: 'clients must send a bearer token.',
  hasUsers: true,
  acceptsAuthServer: true,
  spec: undefined,
  members: ['oidcConfig', 'oidcConfigRef'],
  incomingRules: [
    rule<OidcAuth>('', {
      rule: "self.type != 'oidc' || has(self.oidcConfig) != has(self.oidcConfigRef)",
      message: 'when type is oidc, set exactly one of oidcConfig and oidcConfigRef',
      check: ({ type, oidcConfig, oidcConfigRef }) =>
        type !== 'oidc' || (oidcConfig === undefined) !== (oidcConfigRef === undefined),
    }),
  ],
  config: Closed({}),
  resolve: (_, scope) => scope.tokens() ?? {},
  check: oidcProblems,
  issuer: ({ oidc_config: config }) => config?.issuer ?? 'the cluster',
  create: (_, { document, ...deps }) => createTokenValidator(document, deps),
});
