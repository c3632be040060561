import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { ATOMIC, text, texts } from '../../../gateway/contract/optional.ts';
import { RefName } from '../../../gateway/contract/references.ts';
import { at, rule, union, type Rule } from '../../../gateway/contract/rule.ts';
import { OIDC_SOURCES } from '../../../gateway/incoming/sources/index.ts';
import { variantMembers, variantRules } from './variants.ts';

const resourceUrl = () =>
  text('Public URL of the MCP endpoint (RFC 9728 `resource`).', { pattern: '^https?://[^\\s#]+$', maxLength: 2048 });

/** `oidcConfig`: description of the accepted tokens. */
export const oidcConfig = () =>
  Type.Optional(
    Closed(
      {
        type: Type.Enum(
          OIDC_SOURCES.map(({ type }) => type),
          {
            description:
              '`inline`: tokens of an external identity provider. `kubernetes`: service account tokens of the cluster.',
          },
        ),
        resourceUrl: resourceUrl(),
        ...variantMembers(OIDC_SOURCES),
      },
      { description: 'Description of the accepted tokens.' },
    ),
  );

export const oidcConfigRules = (path: string): Rule[] =>
  at(path, [
    ...union('', 'type', [
      { type: 'inline', member: 'inline' },
      { type: 'kubernetes', member: 'kubernetes', optional: true },
    ]),
    ...variantRules(OIDC_SOURCES),
  ]);

/** `oidcConfigRef`: reference to an MCPOIDCConfig, with the settings of a single server. */
export const oidcConfigRef = () =>
  Type.Optional(
    Closed(
      {
        name: RefName('Name of the MCPOIDCConfig.'),
        audience: text('Expected `aud` claim, unique for each server. `incomingAuth.audience` may hold it instead.', {
          minLength: 1,
          maxLength: 2048,
        }),
        resourceUrl: resourceUrl(),
        scopes: texts('Scopes advertised in the protected resource metadata. None when absent.', {
          maxItems: 64,
          ...ATOMIC,
        }),
      },
      { description: 'MCPOIDCConfig that describes the accepted tokens.' },
    ),
  );

interface Audiences {
  readonly audience?: string;
  readonly oidcConfigRef?: { readonly audience?: string };
}

/** Rules for the audience: beside the reference or in it. If both are set, they must be equal. */
export const audienceRules: Rule[] = [
  rule<Audiences>('', {
    field: 'audience',
    rule: '!has(self.oidcConfigRef) || has(self.audience) || has(self.oidcConfigRef.audience)',
    message: 'audience is required with oidcConfigRef',
    check: ({ audience, oidcConfigRef: ref }) =>
      ref === undefined || audience !== undefined || ref.audience !== undefined,
  }),
  rule<Audiences>('', {
    field: 'audience',
    rule: '!has(self.audience) || !has(self.oidcConfigRef) || !has(self.oidcConfigRef.audience) || self.audience == self.oidcConfigRef.audience',
    message: 'audience and oidcConfigRef.audience must be equal when both are set',
    check: ({ audience, oidcConfigRef: ref }) =>
      audience === undefined || ref?.audience === undefined || audience === ref.audience,
  }),
  rule<Audiences>('', {
    field: 'audience',
    rule: '!has(self.audience) || has(self.oidcConfigRef)',
    message: 'set audience only with oidcConfigRef; in oidcConfig, set it in the inline or kubernetes block',
    check: ({ audience, oidcConfigRef: ref }) => audience === undefined || ref !== undefined,
  }),
];
