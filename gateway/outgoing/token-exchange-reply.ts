import { CredentialError, type CredentialFault, type FormReply } from './authenticator.ts';

/** What a token endpoint gave. */
export interface GrantedToken {
  readonly accessToken: string;
  /** undefined when the endpoint said nothing that can be read. */
  readonly expiresInSeconds: number | undefined;
}

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
/** What may come when an access token was asked for: any form of it, or the form that it has. */
const USABLE_TOKEN_TYPES: ReadonlySet<unknown> = new Set([`${TOKEN_TYPE}access_token`, `${TOKEN_TYPE}jwt`]);

/** RFC 6749 §5.2, RFC 8693 §2.2.2 and what is seen besides. The code alone is ever repeated. */
const FAULT_OF_ERROR: Readonly<Record<string, CredentialFault>> = {
  // The subject token is invalid or unacceptable: RFC 8693 §2.2.2 demands invalid_request, RFC 7523 invalid_grant.
  invalid_request: 'reauthenticate',
  invalid_grant: 'reauthenticate',
  invalid_token: 'reauthenticate',
  invalid_client: 'misconfigured',
  invalid_scope: 'misconfigured',
  invalid_target: 'misconfigured',
  unauthorized_client: 'misconfigured',
  unsupported_grant_type: 'misconfigured',
  unsupported_token_type: 'misconfigured',
  access_denied: 'misconfigured',
  server_error: 'unavailable',
  temporarily_unavailable: 'unavailable',
};

function objectIn(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the reply of a token endpoint to an exchange. Throws `CredentialError`, with nothing of the body in it. */
export function readTokenReply({ status, body }: FormReply, subjectProvider?: string): GrantedToken {
  const json = objectIn(body);
  if (status !== 200) throw refusal(status, json, subjectProvider);
  if (!json) throw wrong('answered 200 with something else than a JSON object');
  const { access_token, token_type, issued_token_type, expires_in } = json;
  if (typeof access_token !== 'string' || access_token === '') throw wrong('answered 200 without access_token');
  // N_A (RFC 8693 §2.2.1) is for tokens that no resource accepts; mac, DPoP and others need a proof besides.
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') {
    throw wrong('gave a token whose token_type is not Bearer');
  }
  if (!USABLE_TOKEN_TYPES.has(issued_token_type)) {
    throw wrong('gave a token whose issued_token_type is not an access token');
  }
  return { accessToken: access_token, expiresInSeconds: seconds(expires_in) };
}

/** A number, or, as some servers write it, a text of digits. */
function seconds(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? number : undefined;
}

const wrong = (what: string) => new CredentialError('misconfigured', `the token endpoint ${what}`);

function refusal(
  status: number,
  json: Readonly<Record<string, unknown>> | undefined,
  subjectProvider: string | undefined,
): CredentialError {
  const error = json?.['error'];
  const code = typeof error === 'string' && Object.hasOwn(FAULT_OF_ERROR, error) ? error : undefined;
  const message = `the token endpoint answered ${String(status)}${code === undefined ? '' : ` ${code}`}`;
  const fault = faultOf(status, code);
  return new CredentialError(fault, message, fault === 'reauthenticate' ? subjectProvider : undefined);
}

function faultOf(status: number, code: string | undefined): CredentialFault {
  if (status >= 500 || status === 429 || status === 408) return 'unavailable';
  return (code !== undefined && status >= 400 && FAULT_OF_ERROR[code]) || 'misconfigured';
}
