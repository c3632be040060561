/** Error codes of OAuth responses. @see RFC 6749 §4.1.2.1, §5.2; RFC 7591 §3.2.2; RFC 8707 §2; OpenID Connect Core §3.1.2.6 */
type OAuthErrorCode =
  | 'access_denied'
  | 'consent_required'
  | 'insufficient_scope'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_software_statement'
  | 'invalid_target'
  | 'invalid_token'
  | 'login_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type';

/** Error response of an OAuth endpoint. */
export interface OAuthError {
  readonly status: number;
  readonly error: OAuthErrorCode;
  /** One sentence for the developer of the client, without quotes and backslashes. @see RFC 6749 §5.2 */
  readonly description: string;
}

/** Error code and description, and a status that differs from the usual one of the code. */
type Row = readonly [error: OAuthErrorCode, description: string, status?: number];

const GRANT =
  'the code, token or assertion is invalid, expired, already used or issued to another client: start a new login';
const CLIENT = 'the client is unknown or its authentication failed: register again or check its credentials';
const CHALLENGE = 'send a code_challenge of 43 base64url characters with code_challenge_method S256';
const RESOURCE =
  'resource is not a protected resource of this authorization server: use the URL in the resource metadata';
const SUBJECT = 'the subject token is invalid or expired, or this client may not exchange it';
const DENIED = 'the user or an identity provider denied the request';

/**
 * Every rejection of the authorization server by its reason in the log, with its wire error. Several reasons share one
 * wire error, so that the response does not reveal why a guessed code or secret failed.
 */
const REFUSALS = {
  client_id_missing: ['invalid_request', 'client_id is missing'],
  client_id_too_long: ['invalid_client', CLIENT],
  client_unknown: ['invalid_client', CLIENT],
  client_document: ['invalid_client', 'the client metadata document could not be used'],
  client_document_unreachable: [
    'invalid_client',
    'the host of the client metadata document cannot be reached: register instead, or let the operator list it in cimd.documents',
  ],
  client_authentication: ['invalid_client', CLIENT],
  client_keys: [
    'temporarily_unavailable',
    'the keys at the jwks_uri of the client cannot be fetched or used: try again later',
  ],
  client_two_methods: ['invalid_request', 'authenticate the client by one method only'],
  authorization_doubled: ['invalid_request', 'send one Authorization header only'],
  redirect_uri_missing: ['invalid_request', 'redirect_uri is missing'],
  redirect_uri_mismatch: ['invalid_request', 'redirect_uri is not one that this client has registered'],
  parameter_duplicated: ['invalid_request', 'a parameter is given more than once'],
  parameters_too_many: ['invalid_request', 'the request has more than 1000 parameters or cookies: send fewer'],
  parameter_invalid: ['invalid_request', 'a parameter is not valid'],
  request_object: ['request_not_supported', 'send the parameters themselves: request objects are not supported'],
  request_uri: ['request_uri_not_supported', 'send the parameters themselves: request_uri is not supported'],
  response_type: ['unsupported_response_type', 'response_type must be code'],
  response_mode: ['invalid_request', 'response_mode must be query or left out'],
  challenge_missing: ['invalid_request', CHALLENGE],
  challenge_method: ['invalid_request', CHALLENGE],
  challenge_malformed: ['invalid_request', CHALLENGE],
  state_too_long: ['invalid_request', 'state is longer than 2048 bytes'],
  nonce_too_long: ['invalid_request', 'nonce is longer than 2048 bytes'],
  scope_malformed: ['invalid_scope', 'scope has a character that is not allowed in a scope'],
  scope_unknown: ['invalid_scope', 'ask only for scopes that the client has registered'],
  scope_widened: ['invalid_scope', 'a refresh may ask for fewer scopes than were granted, not for more'],
  resource_malformed: ['invalid_target', RESOURCE],
  resource_unknown: ['invalid_target', RESOURCE],
  resource_multiple: ['invalid_target', 'name exactly one resource'],
  resource_missing: ['invalid_target', 'add the parameter resource with the URL in the resource metadata'],
  resource_changed: ['invalid_target', 'resource is not the one that was granted'],
  prompt: ['invalid_request', 'prompt must be none alone, or of login, consent and select_account'],
  max_age: ['invalid_request', 'max_age must be a whole number of seconds'],
  login_required: ['login_required', 'the user must log in: ask again without prompt none'],
  consent_required: ['consent_required', 'the user must consent: ask again without prompt none'],
  consent_denied: ['access_denied', DENIED],
  upstream_denied: ['access_denied', DENIED],
  upstream_failed: ['server_error', 'the login at an identity provider failed'],
  upstream_unavailable: ['temporarily_unavailable', 'an identity provider cannot be reached: try again later'],
  grant_type_missing: ['invalid_request', 'grant_type is missing'],
  grant_type_unknown: ['unsupported_grant_type', 'grant_type is not one of grant_types_supported'],
  grant_type_unregistered: ['unauthorized_client', 'the client may not use this grant_type'],
  code_missing: ['invalid_request', 'code is missing'],
  code_tag: ['invalid_grant', GRANT],
  code_unknown: ['invalid_grant', GRANT],
  code_expired: ['invalid_grant', GRANT],
  code_replayed: ['invalid_grant', GRANT],
  code_client: ['invalid_grant', GRANT],
  code_redirect_uri: ['invalid_grant', GRANT],
  verifier_missing: ['invalid_grant', GRANT],
  verifier_malformed: ['invalid_grant', GRANT],
  verifier_wrong: ['invalid_grant', GRANT],
  refresh_token_missing: ['invalid_request', 'refresh_token is missing'],
  refresh_tag: ['invalid_grant', GRANT],
  refresh_unknown: ['invalid_grant', GRANT],
  refresh_client: ['invalid_grant', GRANT],
  refresh_reuse: ['invalid_grant', GRANT],
  upstream_dead: ['invalid_grant', GRANT],
  exchange_subject_missing: ['invalid_request', 'send subject_token and subject_token_type'],
  exchange_token_type: ['invalid_request', 'the type of subject_token or actor_token is not supported'],
  exchange_requested_type: ['invalid_request', 'requested_token_type must be an access token or left out'],
  exchange_actor_missing: ['invalid_request', 'send actor_token together with actor_token_type, or neither'],
  exchange_subject: ['invalid_request', SUBJECT],
  exchange_actor: ['invalid_request', 'the actor is not valid, or may not act for this subject'],
  exchange_depth: ['invalid_request', 'the token has been delegated too often'],
  exchange_scope: ['invalid_scope', 'ask only for scopes that both the client and the presented token may have'],
  token_missing: ['invalid_request', 'token is missing'],
  assertion_missing: ['invalid_request', 'assertion is missing'],
  assertion_invalid: ['invalid_grant', GRANT],
  issuer_keys: [
    'temporarily_unavailable',
    'the keys of the issuer of a token cannot be fetched or used: try again later',
  ],
  token_type_delegated: [
    'unsupported_token_type',
    'a delegated token cannot be revoked alone: it expires soon, and ends with the login',
  ],
  registration_redirect_uri: ['invalid_redirect_uri', 'a redirect URI is not allowed'],
  registration_metadata: ['invalid_client_metadata', 'the client metadata is not allowed'],
  registration_statement: ['invalid_software_statement', 'software statements are not accepted'],
  registration_token: ['invalid_token', 'the registration access token is not valid'],
  rate_limited: ['temporarily_unavailable', 'too many requests: try again later', 429],
  capacity: ['temporarily_unavailable', 'no more clients can be registered now: try again later'],
  not_a_form: ['invalid_request', 'send the parameters as application/x-www-form-urlencoded', 415],
  registration_type: ['invalid_client_metadata', 'send the client metadata as application/json'],
  body_too_large: ['invalid_request', 'the body is longer than 64 KiB', 413],
  client_left: ['invalid_request', 'the request ended early'],
  bearer_missing: ['invalid_request', 'send an access token in the Authorization header', 401],
  bearer_malformed: ['invalid_request', 'send one access token in one Authorization header'],
  bearer_invalid: ['invalid_token', 'the access token is not valid: refresh it or log in again'],
  bearer_scope: [
    'insufficient_scope',
    'the access token was not granted the scope openid: log in again and ask for it',
  ],
  logout_redirect: ['invalid_request', 'post_logout_redirect_uri is not one that this client has registered'],
  store_down: ['temporarily_unavailable', 'the server cannot answer now: try again later'],
  internal: ['server_error', 'the server failed'],
} as const satisfies Readonly<Record<string, Row>>;

/** Reason of a rejection, for the log, for audit and for tests. */
export type RefusalReason = keyof typeof REFUSALS;

export const REFUSAL_REASONS = Object.keys(REFUSALS) as readonly RefusalReason[];

/** Result of a pure step. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: RefusalReason };

export const accepted = <Value>(value: Value): Checked<Value> => ({ ok: true, value });

export const refused = (reason: RefusalReason): Checked<never> => ({ ok: false, reason });

/** Returns the wire error of a rejection. The endpoint adds Retry-After to 429 and 503. */
export function wireError(reason: RefusalReason): OAuthError {
  const [error, description, status = statusOf(error)]: Row = REFUSALS[reason];
  return { status, error, description };
}

function statusOf(error: OAuthErrorCode): number {
  switch (error) {
    case 'invalid_client':
    case 'invalid_token':
      return 401;
    case 'access_denied':
    case 'insufficient_scope':
      return 403;
    case 'server_error':
      return 500;
    case 'temporarily_unavailable':
      return 503;
    case 'consent_required':
    case 'invalid_client_metadata':
    case 'invalid_grant':
    case 'invalid_redirect_uri':
    case 'invalid_request':
    case 'invalid_scope':
    case 'invalid_software_statement':
    case 'invalid_target':
    case 'login_required':
    case 'request_not_supported':
    case 'request_uri_not_supported':
    case 'unauthorized_client':
    case 'unsupported_grant_type':
    case 'unsupported_response_type':
    case 'unsupported_token_type':
      return 400;
  }
}
