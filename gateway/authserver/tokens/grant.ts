import type { Client } from '../storage/client.ts';
import type { AuthServerContext } from '../context.ts';
import type { RequestParameters } from '../core/request-parameters.ts';
import type { TokenReply } from './issue.ts';

export interface GrantRequest {
  /** Authenticated, and registered for this grant. */
  readonly client: Client;
  readonly form: RequestParameters;
}

/** One way to tokens. Throws `Refused`. */
export type GrantHandler = (context: AuthServerContext, request: GrantRequest) => Promise<TokenReply>;
