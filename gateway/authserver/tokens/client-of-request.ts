import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { Type, type Static } from 'typebox';
import { assertionRefusal, type PresentedAssertion } from '../clients/client-assertion.ts';
import {
  authenticateClient,
  presentedClient,
  clientRefused,
  type ClientRefused,
} from '../clients/client-authentication.ts';
import { ClientKeysUnavailable } from '../clients/client-keys.ts';
import type { Client } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';
import type { Endpoint } from '../../contract/paths/public-paths.ts';
import { endpointUrl } from '../core/metadata.ts';
import { Refused } from '../http/refused.ts';
import { addressKey, EVERYBODY } from '../../http/client-address.ts';
import { storageKeyOf } from '../core/opaque-token.ts';
import { ExpiringMap } from '../../kit/cache.ts';

export const BASIC_CHALLENGE = 'Basic realm="oauth"';

/** Authenticates the client of a form. Throws `Refused` if that fails. @see RFC 6749 §2.3 */
type ClientOfRequest = (req: Request, form: ReadonlyMap<string, string>) => Promise<Client>;

type Needs = Pick<AuthServerContext, 'clients' | 'settings' | 'store' | 'now' | 'addressOf'>;

/** Creates the authentication for one endpoint, whose URL assertions may name as audience. */
export const clientOfRequest =
  (context: Needs, endpoint: Endpoint, budget: FailureBudget): ClientOfRequest =>
  async (req, form) => {
    const [authorization, second] = req.headersDistinct['authorization'] ?? [];
    if (second !== undefined) throw new Refused('authorization_doubled');
    const read = presentedClient({ authorization, params: form });
    if (!read.ok) throw refusedBy(read);
    const { clientId, method, assertion } = read.presented;
    if (method !== 'none') budget.checkLeft(clientId, req);
    const outcome = authenticateClient(read.presented, await context.clients.known(clientId));
    const verdict =
      outcome.ok && assertion ? await verifyAssertion(context, endpoint, req, outcome.client, assertion) : outcome;
    if (verdict.ok) return verdict.client;
    if (method === 'none') throw refusedBy(verdict); // a public client has no secret to guess
    return budget.charge(clientId, req, refusedBy(verdict));
  };

/** Verifies an assertion. Throws `Refused` with 429 or 503 if the keys of the client are unavailable. */
async function verifyAssertion(
  { clients, settings, store, now, addressOf }: Needs,
  endpoint: Endpoint,
  req: Request,
  client: Client,
  assertion: PresentedAssertion,
): Promise<{ readonly ok: true; readonly client: Client } | ClientRefused> {
  const { urls } = settings;
  // The URL of the token endpoint is a valid audience at the other endpoints too: RFC 7523 §3.
  const audiences = [urls.issuer, endpointUrl('token', urls), endpointUrl(endpoint, urls)];
  const keys = clients.keys(client, addressOf(req));
  try {
    const reason = await assertionRefusal(assertion, client, { keys, audiences, locks: store.locks, now });
    return reason === undefined ? { ok: true, client } : clientRefused(reason, false);
  } catch (error) {
    if (!(error instanceof ClientKeysUnavailable)) throw error;
    const { why, retryAfterSeconds, message: detail } = error;
    const facts = { client_id: client.client_id, detail };
    throw new Refused(why === 'busy' ? 'rate_limited' : 'client_keys', { retryAfterSeconds, facts });
  }
}

const refusedBy = ({ error, challenge, reason }: ClientRefused): Refused =>
  error === 'invalid_request'
    ? new Refused('client_two_methods')
    : new Refused('client_authentication', {
        challenge: challenge ? BASIC_CHALLENGE : undefined,
        facts: { cause: reason },
      });

const Text = Type.Optional(Type.String());

/** Form about one token, with the parameters that authenticate the client. @see RFC 7009 §2.1, RFC 7662 §2.1, RFC 6749 §2.3.1 */
export const TokenForm = Type.Object({
  token: Type.String(),
  /** Accepted and ignored: the server finds both kinds of token without a hint. */
  token_type_hint: Text,
  client_id: Text,
  client_secret: Text,
  client_assertion_type: Text,
  client_assertion: Text,
  /** Accepted and ignored, repeated or not. @see RFC 8707 §2 */
  resource: Type.Optional(Type.Array(Type.String())),
});

/** Returns the parameters that may authenticate the client. */
export const clientParameters = (form: Static<typeof TokenForm>): ReadonlyMap<string, string> =>
  new Map(Object.entries(form).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

const MAX_SPENT = 10_000;

/** Limits failed secrets and codes for each client and, if it is known, address. */
interface FailureBudget {
  /** Called before a secret is verified. Throws `Refused` with 429 while the budget is spent. */
  checkLeft(clientId: string, req: IncomingMessage): void;
  /** Charges a failure. Throws `failure`, or `Refused` with 429 if the budget is spent. */
  charge(clientId: string, req: IncomingMessage, failure: Refused): Promise<never>;
}

/**
 * Creates the budget. A spent budget of a client address rejects every secret, even the right one. It never rejects a valid code,
 * which cannot be guessed, because users of one public client may share an address. Without known addresses it rejects wrong
 * secrets only: otherwise anybody could lock a client out.
 */
export function failureBudget({ settings, store, addressOf, now }: AuthServerContext): FailureBudget {
  const spent = new ExpiringMap<true>(now, undefined, MAX_SPENT);
  // hashed, because anybody may invent client ids as long as a URL
  const keyOf = (clientId: string, address: string | undefined): string =>
    storageKeyOf(`${address === undefined ? EVERYBODY : addressKey(address)} ${clientId}`);
  return {
    checkLeft(clientId, req) {
      const address = addressOf(req);
      if (address === undefined) return;
      const leftMs = spent.remainingMs(keyOf(clientId, address));
      if (leftMs > 0) throw new Refused('rate_limited', { retryAfterSeconds: Math.ceil(leftMs / 1_000) });
    },
    async charge(clientId, req, failure) {
      const key = keyOf(clientId, addressOf(req));
      const decision = await store.rates.take('failure', key, settings.limits.failuresPerClient);
      if (decision.allowed) throw failure;
      const { retryAfterSeconds } = decision;
      spent.set(key, true, retryAfterSeconds * 1_000);
      throw new Refused('rate_limited', { retryAfterSeconds, facts: { cause: failure.reason } });
    },
  };
}
