import type { Request } from 'express';
import { authenticateClient, presentedClient, type ClientRefused } from '../clients/client-authentication.ts';
import type { Client } from '../clients/client.ts';
import type { AuthServerContext } from '../context.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import { Refused } from '../http/refused.ts';
import type { FailureBudget } from './failure-budget.ts';

export const BASIC_CHALLENGE = 'Basic realm="oauth"';

/** The client that a form comes from. Throws `Refused` when it does not prove that. @see RFC 6749 §2.3 */
export type ClientOfRequest = (req: Request, form: RequestParameters) => Promise<Client>;

export const clientOfRequest =
  ({ clients }: Pick<AuthServerContext, 'clients'>, budget: FailureBudget): ClientOfRequest =>
  async (req, form) => {
    const [authorization, second] = req.headersDistinct['authorization'] ?? [];
    if (second !== undefined) throw new Refused('authorization_doubled');
    const read = presentedClient({ authorization, params: form.firsts });
    if (!read.ok) throw refusedBy(read);
    const { clientId, method } = read.presented;
    if (method !== 'none') budget.checkLeft(clientId, req);
    const outcome = authenticateClient(read.presented, await clients.known(clientId));
    if (outcome.ok) return outcome.client;
    if (method === 'none') throw refusedBy(outcome); // no secret was guessed
    return budget.charge(clientId, req, refusedBy(outcome));
  };

const refusedBy = ({ error, challenge, reason }: ClientRefused): Refused =>
  error === 'invalid_request'
    ? new Refused('client_two_methods')
    : new Refused('client_authentication', {
        challenge: challenge ? BASIC_CHALLENGE : undefined,
        facts: { cause: reason },
      });
