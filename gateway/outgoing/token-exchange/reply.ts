import { CredentialError, type CredentialFault, type FormReply } from '../authenticator.ts';
import { urnOf, type TokenType } from './config.ts';
import { isObject } from '../../contract/json.ts';
import { cleaned, errorCode } from '../../contract/text/provider-text.ts';

/** Token in the reply of a token endpoint. */
interface GrantedToken {
  readonly accessToken: string;
  /** undefined when the reply has no valid lifetime. */
  readonly expiresInSeconds: number | undefined;
}

/** Facts of the request that decide how its reply is read. */
export interface ExchangeAsked {
  readonly tokenType: TokenType;
  /** Upstream provider of the subject token. */
  readonly provider: string | undefined;
  /**
   * True when only the subject can be invalid: the configuration adds nothing to the request, or the same request was
   * granted before, or the subject has expired.
   */
  readonly onlySubjectCanBeWrong: boolean;
  /** True when the next login would get the same rejection: a new subject was rejected although it was never exchanged before. */
  readonly loginCannotHelp: boolean;
  /** Values of the request that nobody may read in the log. */
  readonly secrets: readonly string[];
}

/** The token endpoint rejected the exchange with an OAuth error. An immediate retry would fail again. */
export class ExchangeRefused extends CredentialError {
  /** Scope of the rejection: every user, or this user with this token. */
  readonly refuses: 'everyone' | 'caller';

  constructor(fault: CredentialFault, message: string, provider: string | undefined, refuses: 'everyone' | 'caller') {
    super(fault, message, provider);
    this.refuses = refuses;
  }
}

/** Accepted `issued_token_type` values by requested type. */
const USABLE: Readonly<Record<TokenType, readonly TokenType[]>> = {
  access_token: ['access_token', 'jwt'],
  jwt: ['jwt', 'access_token'],
  id_token: ['id_token'],
};

/** Error codes of RFC 6749 §5.2, RFC 8693 §2.2.2 and of known servers. */
const FAULT_OF_ERROR: Readonly<Record<string, CredentialFault>> = {
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

/** Errors that do not depend on the subject. Targets and scopes may be rejected for one user only. */
const REFUSES_EVERYONE: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
]);

function objectIn(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the reply of a token endpoint to an exchange. Throws `CredentialError`, which never quotes the body. */
export function readTokenReply({ status, body }: FormReply, asked: ExchangeAsked): GrantedToken {
  const json = objectIn(body);
  if (status !== 200) throw refusal(status, json, asked);
  if (!json) throw wrong('answered 200 with something else than a JSON object');
  const { access_token, token_type, issued_token_type, expires_in } = json;
  if (typeof access_token !== 'string' || access_token === '') throw wrong('answered 200 without access_token');
  const issued = USABLE[asked.tokenType].find((type) => issued_token_type === urnOf(type));
  if (issued === undefined) throw wrong(`gave a token whose issued_token_type does not fit ${asked.tokenType}`);
  if (!isBearer(token_type) && !(token_type === 'N_A' && issued !== 'access_token' && issued === asked.tokenType)) {
    throw wrong('gave a token whose token_type is not Bearer');
  }
  return { accessToken: access_token, expiresInSeconds: seconds(expires_in) };
}

/**
 * Rejects mac, DPoP and other types that need a proof. N_A (RFC 8693 §2.2.1) means that the token is not an access token, as for
 * a requested ID token or JWT.
 */
const isBearer = (tokenType: unknown): boolean => typeof tokenType === 'string' && tokenType.toLowerCase() === 'bearer';

/** Reads a number, or a string of digits as some servers write it. */
function seconds(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/u.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 ? number : undefined;
}

/** Descriptions of a rejected target under the code `invalid_client`, such as "Audience not found" of Keycloak. */
const ABOUT_TARGET = /audience|resource|target/iu;

const ADVICE = {
  client:
    'check clientId and the client secret or private key, and allow this client the token exchange at the provider',
  target: 'check audience, resource, scopes and the token types',
  subject:
    'a new login would get the same answer: let the provider issue tokens that this client may exchange, and check audience, resource and scopes',
} as const;

const wrong = (what: string) => new CredentialError('misconfigured', `the token endpoint ${what}`);

function refusal(
  status: number,
  json: Readonly<Record<string, unknown>> | undefined,
  asked: ExchangeAsked,
): CredentialError {
  const answer = `the token endpoint answered ${String(status)}`;
  const { error, error_description: description } = json ?? {};
  const said =
    typeof description === 'string' && description !== '' ? `: "${cleaned(description, asked.secrets)}"` : '';
  const reason = `${answer} ${shownCode(error, asked)}`.trimEnd() + said;
  if (status >= 500 || status === 429 || status === 408)
    return new CredentialError('unavailable', answer).explain(reason);
  const code = typeof error === 'string' && status >= 400 ? codeOf(error, said) : undefined;
  const fault = code === undefined ? undefined : faultOf(code, asked);
  if (typeof error !== 'string' || code === undefined || fault === undefined)
    return new CredentialError('misconfigured', answer).explain(reason);
  const message = `${answer} ${error}`;
  if (fault === 'unavailable') return new CredentialError(fault, message).explain(reason);
  const provider = fault === 'reauthenticate' ? asked.provider : undefined;
  const refuses = REFUSES_EVERYONE.has(code) ? 'everyone' : 'caller';
  const advice = fault === 'misconfigured' ? `: ${adviceFor(code)}` : '';
  return new ExchangeRefused(fault, message, provider, refuses).explain(reason + advice);
}

/** Returns a known code. An unknown code could contain anything, and is not logged. */
function shownCode(error: unknown, { secrets }: ExchangeAsked): string {
  const code = errorCode(error) ?? '';
  return code === 'invalid_request' || Object.hasOwn(FAULT_OF_ERROR, code) ? code : cleaned(code, secrets);
}

/** Returns the code that the description means. */
const codeOf = (error: string, said: string): string =>
  error === 'invalid_client' && ABOUT_TARGET.test(said) ? 'invalid_target' : error;

function adviceFor(code: string): string {
  if (REFUSES_EVERYONE.has(code)) return ADVICE.client;
  return FAULT_OF_ERROR[code] === 'reauthenticate' ? ADVICE.subject : ADVICE.target;
}

/**
 * RFC 8693 §2.2.2 requires `invalid_request` for an invalid subject token and for any other flaw of the
 * request; Keycloak sends it for an expired subject and for a forbidden audience alike. A new login helps only
 * in the first case, and would be requested endlessly in the second.
 */
function faultOf(error: string, asked: ExchangeAsked): CredentialFault | undefined {
  const fault = subjectFaultOf(error, asked);
  return fault === 'reauthenticate' && asked.loginCannotHelp ? 'misconfigured' : fault;
}

function subjectFaultOf(error: string, { onlySubjectCanBeWrong }: ExchangeAsked): CredentialFault | undefined {
  if (error === 'invalid_request') return onlySubjectCanBeWrong ? 'reauthenticate' : 'misconfigured';
  return Object.hasOwn(FAULT_OF_ERROR, error) ? FAULT_OF_ERROR[error] : undefined;
}
