import { Type, type Static } from 'typebox';
import { Closed } from '../contract/fields.ts';
import { flag, text, texts } from '../contract/optional.ts';
import type { Problem } from '../contract/problem.ts';
import { isEncrypted } from '../contract/rule.ts';
import { placementProblems } from './credential-header.ts';

/** `token_exchange` in `vmcp.outgoing_auth`. */
export const tokenExchangeConfig = Closed({
  token_url: Type.String({ minLength: 1, description: 'Exchange endpoint.' }),
  client_id: text('Client identifier.', { minLength: 1 }),
  client_secret_file: text('Path of the file that holds the client secret.', { minLength: 1 }),
  audience: text('`audience` of the request; left out when empty.'),
  resource: text('`resource` of the request (RFC 8707); left out when absent.', { minLength: 1 }),
  scopes: texts('`scope` of the request.'),
  subject_provider_name: text('Upstream provider whose stored token is the subject; the caller’s token when absent.'),
  subject_token_type: text('`subject_token_type` of the request, short or as URN.'),
  header_strategy: Type.Optional(
    Type.Enum(['replace', 'custom'], { default: 'replace', description: '`replace` is Authorization.' }),
  ),
  external_token_header_name: text('Header that carries the exchanged token when the strategy is `custom`.'),
  allow_private_ips: flag('Let the endpoint resolve to a private address.'),
  insecure_allow_http: flag('Let the endpoint be spoken to without TLS.'),
});

export type TokenExchangeConfig = Static<typeof tokenExchangeConfig>;

const TOKEN_TYPES: ReadonlySet<string> = new Set(
  ['access_token', 'id_token', 'jwt'].flatMap((name) => [name, `urn:ietf:params:oauth:token-type:${name}`]),
);

/** What the schema cannot say about a configured exchange. */
export function tokenExchangeProblems(config: TokenExchangeConfig): Problem[] {
  const { client_id, client_secret_file, subject_token_type, header_strategy } = config;
  const placement = { header_strategy, custom_name: config.external_token_header_name };
  return [
    ...urlProblems(config),
    ...(client_secret_file !== undefined && client_id === undefined
      ? [{ reason: 'MissingField', path: 'client_id', message: 'client_secret_file needs client_id: set it' }]
      : []),
    ...(subject_token_type !== undefined && !TOKEN_TYPES.has(subject_token_type)
      ? [{ reason: 'InvalidValue', path: 'subject_token_type', message: 'use access_token, id_token or jwt' }]
      : []),
    ...placementProblems(placement, 'external_token_header_name'),
  ];
}

function urlProblems({ token_url, insecure_allow_http }: TokenExchangeConfig): Problem[] {
  const problem = (reason: string, message: string) => [{ reason, path: 'token_url', message }];
  const url = URL.parse(token_url);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    return problem('InvalidUrl', 'not an http or https URL: write https://HOST/PATH');
  }
  if (url.username !== '' || url.password !== '') {
    return problem('CredentialsInUrl', 'the URL holds a user name or password: use client_id and client_secret_file');
  }
  if (url.hash !== '') {
    return problem('InvalidUrl', 'the URL has a fragment, which is never sent: remove everything from the # on');
  }
  if (insecure_allow_http === true || isEncrypted(url.href)) return [];
  return problem('InsecureUrl', 'http is not encrypted: use https, or set insecure_allow_http: true');
}
