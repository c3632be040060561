import { CredentialError, type CredentialFault, type FormReply, type StrategyDeps } from '../authenticator.ts';
import { postWithRetry } from '../post-with-retry.ts';
import { cleaned } from '../../contract/text/provider-text.ts';
import { DURATION, stsEndpoint, type CloudStsConfig } from './config.ts';
import { leafTexts } from './xml-reply.ts';

/** Temporary credentials of AWS. */
export interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** Parameters of one AssumeRoleWithWebIdentity that depend on the user. */
interface RoleRequest {
  readonly role: string;
  readonly sessionName: string;
  /** JWT of the user. */
  readonly token: string;
  /** Upstream provider of the token; undefined for the token of the client. */
  readonly provider: string | undefined;
}

type Asked = Pick<RoleRequest, 'provider' | 'token'>;

const ACTION = `AssumeRoleWithWebIdentity`;

/** Lengths of `WebIdentityToken`, AWS Security Token Service API Reference. */
const TOKEN_LENGTH = { least: 4, most: 20_000 };

/**
 * Exchanges the user's token for credentials of a role. Rejects with `CredentialError`.
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
export async function assumeRole(
  { role, sessionName, token, provider }: RoleRequest,
  settings: CloudStsConfig,
  deps: StrategyDeps,
): Promise<SessionCredentials> {
  const { least, most } = TOKEN_LENGTH;
  if (token.length < least || token.length > most) {
    const message = `the user's token has ${String(token.length)} bytes, and AWS takes ${String(least)} to ${String(most)}`;
    throw new CredentialError('misconfigured', message);
  }
  const post = {
    url: stsEndpoint(settings),
    form: {
      Action: ACTION,
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: sessionName,
      WebIdentityToken: token,
      DurationSeconds: String(settings.session_duration ?? DURATION.default),
    },
    headers: { accept: 'text/xml' },
    allowPrivateIPs: settings.allow_private_ips === true,
    insecureAllowHTTP: settings.insecure_allow_http === true,
  };
  const reply = await postWithRetry(() => post, deps, 'the Security Token Service');
  return readReply(reply, deps.now(), { provider, token });
}

const RESULT = `${ACTION}Response/${ACTION}Result/Credentials`;

/** Returns true for a text that a header may hold: the key id and the session token become headers. */
const isVisible = (text: string | undefined): text is string => text !== undefined && /^[\x21-\x7E]+$/u.test(text);

/** Returns the credentials of a reply. Throws `CredentialError` for any other reply. */
function readReply(reply: FormReply, now: number, asked: Asked): SessionCredentials {
  const texts = leafTexts(reply.body);
  if (reply.status !== 200) throw refusal(reply.status, texts, asked);
  const text = (path: string): string | undefined => texts?.get(RESULT + path);
  const accessKeyId = text('/AccessKeyId');
  const secretAccessKey = text('/SecretAccessKey');
  const sessionToken = text('/SessionToken');
  const expiresAt = Date.parse(text('/Expiration') ?? '');
  if (isVisible(accessKeyId) && isVisible(secretAccessKey) && isVisible(sessionToken) && expiresAt > now)
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
  const message = 'the Security Token Service sent no usable credentials: check sts_endpoint and the clock';
  throw new CredentialError('misconfigured', message);
}

/** Faults of the error codes; `misconfigured` for others. */
const FAULTS: Readonly<Record<string, CredentialFault>> = {
  AccessDenied: 'forbidden',
  ExpiredToken: 'reauthenticate',
  ExpiredTokenException: 'reauthenticate',
  IDPRejectedClaim: 'reauthenticate',
  IDPCommunicationError: 'unavailable',
  InternalFailure: 'unavailable',
  RequestLimitExceeded: 'unavailable',
  ServiceUnavailable: 'unavailable',
  Throttling: 'unavailable',
  ThrottlingException: 'unavailable',
};

const ADVICE: Partial<Record<CredentialFault, string>> = {
  forbidden: 'the trust policy of the role does not allow this user',
  misconfigured: 'check the role, its trust policy and the OIDC provider of the AWS account',
};

function refusal(
  status: number,
  texts: ReadonlyMap<string, string> | undefined,
  { provider, token }: Asked,
): CredentialError {
  const code = texts?.get('ErrorResponse/Error/Code');
  const known = code !== undefined && /^[A-Za-z.]{1,64}$/u.test(code) ? code : undefined;
  const isOutage = status >= 500 || status === 429;
  const named = known !== undefined && Object.hasOwn(FAULTS, known) ? FAULTS[known] : undefined;
  const fault = isOutage ? 'unavailable' : (named ?? 'misconfigured');
  const advice = ADVICE[fault] === undefined ? '' : `: ${ADVICE[fault]}`;
  const answer = `the Security Token Service answered ${String(status)} ${known ?? 'without an error code'}`;
  const description = texts?.get('ErrorResponse/Error/Message') ?? '';
  const said = description === '' ? '' : `: "${cleaned(description, [token])}"`;
  const error = new CredentialError(fault, answer + advice, fault === 'reauthenticate' ? provider : undefined);
  return error.explain(answer + said + advice);
}
