import type { IncomingMessage } from 'node:http';
import type { Client } from '../storage/records.ts';
import type { AuthServerContext } from '../context.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import type { TokenReply } from './issue.ts';

export interface GrantRequest<GrantClient = Client> {
  /** The authenticated client, which is registered for this grant type. */
  readonly client: GrantClient;
  readonly form: RequestParameters;
  readonly req: IncomingMessage;
}

/** Issues tokens for one grant type. Throws `Refused`. */
export type GrantHandler<GrantClient = Client> = (
  context: AuthServerContext,
  request: GrantRequest<GrantClient>,
) => Promise<TokenReply>;

/** Grant type at the token endpoint. */
export interface Grant {
  /** False: a request without a client id and credentials is accepted. */
  readonly needsClient: boolean;
  readonly redeem: GrantHandler<Client | undefined>;
}
