import type { Client } from '../storage/client.ts';
import type { AuthServerContext } from '../context.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import type { TokenReply } from './issue.ts';

export interface GrantRequest {
  /** The authenticated client, which is registered for this grant type. */
  readonly client: Client;
  readonly form: RequestParameters;
}

/** Issues tokens for one grant type. Throws `Refused`. */
export type GrantHandler = (context: AuthServerContext, request: GrantRequest) => Promise<TokenReply>;
