import type { Request } from 'express';
import { assertionRefusal, type ClientAssertion } from '../clients/client-assertion.ts';
import { authenticateClient, presentedClient, refused, type ClientRefused } from '../clients/client-authentication.ts';
import { ClientKeysUnavailable } from '../clients/client-keys.ts';
import type { Client } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';
import type { Endpoint } from '../../contract/paths/auth-server-paths.ts';
import { endpointUrl } from '../core/metadata.ts';
import { Refused } from '../http/refused.ts';
import type { FailureBudget } from './failure-budget.ts';

export const BASIC_CHALLENGE = 'Basic realm="oauth"';

/** Authenticates the client of a form. Throws `Refused` if that fails. @see RFC 6749 §2.3 */
export type ClientOfRequest = (req: Request, form: ReadonlyMap<string, string>) => Promise<Client>;

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
  assertion: ClientAssertion,
): Promise<{ readonly ok: true; readonly client: Client } | ClientRefused> {
  const { urls } = settings;
  // The URL of the token endpoint is a valid audience at the other endpoints too: RFC 7523 §3.
  const audiences = [urls.issuer, endpointUrl('token', urls), endpointUrl(endpoint, urls)];
  const keys = clients.keys(client, addressOf(req));
  try {
    const reason = await assertionRefusal(assertion, client, { keys, audiences, locks: store.locks, now });
    return reason === undefined ? { ok: true, client } : refused(reason, false);
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
