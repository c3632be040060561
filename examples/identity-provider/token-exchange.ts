import { jwtVerify, type JWTVerifyGetKey } from 'jose';
import { errors, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';

/** @see RFC 8693 */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';

export const TOKEN_EXCHANGE_PARAMETERS = [
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'audience',
  'resource',
  'scope',
];

interface Parameters {
  readonly subject_token?: string;
  readonly subject_token_type?: string;
  readonly audience?: string;
  readonly scope?: string;
}

interface ExchangeOptions {
  /** Keys that this provider signs with. */
  readonly keys: JWTVerifyGetKey;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

/** Returns the user of a token of this provider. Throws `InvalidGrant` for any other token, and for one that is no longer valid. */
async function subjectOf(provider: Provider, token: string, keys: JWTVerifyGetKey): Promise<string> {
  const stored = await provider.AccessToken.find(token);
  if (stored) return stored.accountId;
  try {
    const { payload } = await jwtVerify(token, keys, { issuer: provider.issuer, algorithms: ['RS256'] });
    if (payload.sub !== undefined) return payload.sub;
  } catch {
    // Falls through to the error below, which does not say why the token is invalid.
  }
  throw new errors.InvalidGrant('the subject token is not valid');
}

/** Issues a token for one backend: for the user of the subject token, with the requested `aud`. */
export const tokenExchange =
  ({ keys, seconds, log }: ExchangeOptions) =>
  async (ctx: TokenEndpointGrantContext<Parameters>): Promise<void> => {
    const { provider, client, params } = ctx.oidc;
    const { subject_token: subjectToken, subject_token_type: type, audience, scope } = params;
    if (subjectToken === undefined || (type !== ACCESS_TOKEN && type !== JWT)) {
      throw new errors.InvalidRequest('subject_token and a subject_token_type of access_token or jwt are required');
    }
    if (audience === undefined) throw new errors.InvalidTarget('audience is required');
    const subject = await subjectOf(provider, subjectToken, keys);
    const token = new provider.AccessToken({
      accountId: subject,
      client,
      grantId: 'token-exchange',
      gty: 'token-exchange',
      resourceServer: new provider.ResourceServer(audience, {
        audience,
        scope: scope ?? '',
        accessTokenTTL: seconds,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
      ...(scope !== undefined && { scope }),
    });
    log(`exchanged a token: sub ${subject}, aud ${audience}, for ${client.clientId}`);
    ctx.body = {
      access_token: await token.save(),
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in: seconds,
      ...(scope !== undefined && { scope }),
    };
  };
