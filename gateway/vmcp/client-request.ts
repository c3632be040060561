import type { IncomingHttpHeaders } from 'node:http';
import type { AuditedRequest } from '../audit/audited-request.ts';
import type { Identity } from '../contract/identity.ts';
import type { Envelope, ParamsSurface } from '../http/json-scan.ts';
import type { Edit } from './aggregation/forward-params.ts';
import type { HeldBytes } from './budgets/byte-budget.ts';
import type { RequestClient } from './transport/channel.ts';

/** One request of a client, as far as the edge has parsed it. Spans are offsets in `body`. */
export interface ClientRequest {
  readonly body: Buffer;
  readonly envelope: Envelope;
  readonly params: ParamsSurface;
  /** Identity that the request proved; undefined: anonymous. */
  readonly identity: Identity | undefined;
  /** Headers of the client that `passthrough_headers` names; undefined when there are none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /**
   * Share of the request budget that `body` uses; undefined for a small body. Code that keeps `body` after it returns
   * retains the share.
   */
  readonly held: HeldBytes | undefined;
  /** Parts of `params` that backends receive with another text; undefined: none. */
  readonly edits?: readonly Edit[] | undefined;
  readonly received: IncomingHttpHeaders;
  /** Client of a request without a session. */
  readonly client?: RequestClient | undefined;
  /** Record of the request; undefined while the audit log is off. */
  readonly audit?: AuditedRequest | undefined;
  /** Continues the call that waits for this request, in place of a new call, once the policies allow it. */
  readonly resumes?: (() => void) | undefined;
}
