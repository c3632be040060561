import { Type, type Static } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { flag, text, textMap, texts } from '../../contract/optional.ts';
import { privateKeyJwtConfig, SECRET_OR_KEY } from '../../contract/run-config/private-key-jwt.ts';
import { invalid, missing, type Problem } from '../../contract/problem.ts';
import { reservedProblems } from '../../contract/reserved-names.ts';
import { urlProblems } from '../../contract/addresses.ts';
import { placementProblems } from '../credential-header.ts';

export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

/** `token_exchange` in `vmcp.outgoing_auth`. */
export const tokenExchangeConfig = Closed({
  token_url: Type.String({ minLength: 1, description: 'Token endpoint for the exchange.' }),
  client_id: text('Client identifier.', { minLength: 1 }),
  client_secret_file: text('Path of the file that holds the client secret.', { minLength: 1 }),
  private_key_jwt: privateKeyJwtConfig(),
  audience: text('`audience` of the request; left out when empty.'),
  resource: text('`resource` parameter of the request (RFC 8707). Omitted when absent.', { minLength: 1 }),
  scopes: texts('`scope` parameter of the request.'),
  additional_params: textMap('Additional parameters of the request, such as `connector_id` of Dex.'),
  subject_provider_name: text('Upstream provider whose stored token is the subject. Defaults to the client’s token.'),
  subject_token_type: text('`subject_token_type` parameter of the request, as a short name or a URN.'),
  requested_token_type: text('`requested_token_type` of the request, short or as URN; access_token when absent.'),
  token_endpoint_auth_method: Type.Optional(
    Type.Enum([...AUTH_METHODS], {
      default: 'client_secret_basic',
      description: 'Place of the client secret in a request: the Authorization header or the form.',
    }),
  ),
  header_strategy: Type.Optional(
    Type.Enum(['replace', 'custom'], { default: 'replace', description: '`replace` is Authorization.' }),
  ),
  external_token_header_name: text('Header that carries the exchanged token when the strategy is `custom`.'),
  allow_private_ips: flag('Allow the endpoint to resolve to a private address.'),
  insecure_allow_http: flag('Allow http URLs for the endpoint.'),
});

/** Parameters of the request that have fields of their own, or that identify the client or an actor. */
export const RESERVED: readonly string[] = [
  'actor_token',
  'actor_token_type',
  'assertion',
  'audience',
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'grant_type',
  'requested_token_type',
  'resource',
  'scope',
  'subject_token',
  'subject_token_type',
];

export type TokenExchangeConfig = Static<typeof tokenExchangeConfig>;

const URN = 'urn:ietf:params:oauth:token-type:';

const TOKEN_TYPES = ['access_token', 'id_token', 'jwt'] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

/** RFC 8693 §3. */
export const urnOf = (type: TokenType): string => URN + type;

/** Returns the URN of a token type given as short name or URN; undefined for an unsupported type. */
const tokenType = (written: string): TokenType | undefined =>
  TOKEN_TYPES.find((type) => written === type || written === urnOf(type));

export const subjectTokenType = ({ subject_token_type = 'access_token' }: TokenExchangeConfig): TokenType =>
  tokenType(subject_token_type) ?? 'access_token';

export const requestedTokenType = ({ requested_token_type = 'access_token' }: TokenExchangeConfig): TokenType =>
  tokenType(requested_token_type) ?? 'access_token';

/** Lists problems of an exchange that the schema cannot find. */
export function tokenExchangeProblems(config: TokenExchangeConfig): Problem[] {
  const { client_secret_file, token_endpoint_auth_method: method, header_strategy } = config;
  const placement = { header_strategy, custom_name: config.external_token_header_name };
  return [
    ...urlProblems(config.token_url, 'token_url', config.insecure_allow_http === true),
    ...clientProblems(config),
    ...(method !== undefined && client_secret_file === undefined
      ? [missing('client_secret_file', `${method} needs client_secret_file: set it`)]
      : []),
    ...reservedProblems('additional_params', RESERVED, config.additional_params),
    ...typeProblems(config, 'subject_token_type'),
    ...typeProblems(config, 'requested_token_type'),
    ...placementProblems(placement, 'external_token_header_name'),
  ];
}

function clientProblems({
  client_id,
  client_secret_file: secret,
  private_key_jwt: key,
}: TokenExchangeConfig): Problem[] {
  const credential = secret === undefined ? 'private_key_jwt' : 'client_secret_file';
  return [
    ...(client_id === undefined && (secret !== undefined || key)
      ? [missing('client_id', `${credential} needs client_id: set it`)]
      : []),
    ...(secret !== undefined && key ? [invalid('private_key_jwt', SECRET_OR_KEY)] : []),
  ];
}

function typeProblems(config: TokenExchangeConfig, path: 'subject_token_type' | 'requested_token_type'): Problem[] {
  const written = config[path];
  if (written === undefined || tokenType(written) !== undefined) return [];
  return [invalid(path, `use ${TOKEN_TYPES.join(', ')}, short or as URN`)];
}
