import type { IncomingHttpHeaders } from 'node:http';
import type { AuditedRequest } from '../audit/audited-request.ts';
import type { Identity } from '../contract/identity.ts';
import type { ClientEnvelope, ParamsSurface } from '../http/json-scan.ts';
import type { Edit } from './aggregation/forward-params.ts';
import type { Answer } from './answers/answer.ts';
import type { HeldBytes } from './budgets/byte-budget.ts';
import type { OnFailure } from './calls/failure.ts';
import { failRequest } from './methods/failures.ts';
import type { Session } from './session.ts';
import type { RequestClient } from './transport/channel.ts';

const NO_PARAMS: ParamsSurface = {
  name: undefined,
  uri: undefined,
  arguments: undefined,
  cursor: undefined,
  meta: undefined,
  ref: undefined,
  taskId: undefined,
  requestState: undefined,
  task: undefined,
};

/** One request of a client: made at the edge, and passed on until its answer is given. Spans are offsets in `body`. */
export class Call {
  readonly session: Session;
  /** Destination of the reply. A method may put another before it. */
  answer: Answer;
  readonly body: Buffer;
  readonly envelope: ClientEnvelope;
  readonly received: IncomingHttpHeaders;
  params: ParamsSurface = NO_PARAMS;
  /** Identity that the request proved; undefined: anonymous. */
  identity: Identity | undefined = undefined;
  /** Headers of the client that `passthrough_headers` names; undefined when there are none. */
  headers: Readonly<Record<string, string>> | undefined = undefined;
  /**
   * Share of the request budget that `body` uses; undefined for a small body. Code that keeps `body` after it returns
   * retains the share.
   */
  held: HeldBytes | undefined = undefined;
  /** Record of the request; undefined while the audit log is off. */
  audit: AuditedRequest | undefined = undefined;
  /** Parts of `params` that backends receive with another text; undefined: none. */
  edits: readonly Edit[] | undefined = undefined;
  /** Client of a request without a session. */
  client: RequestClient | undefined = undefined;
  /** Converts a failure of the backend or a refusal into the answer. */
  fail: OnFailure = failRequest;
  /** Receives the reply before the client does. */
  onReply: ((message: Buffer) => void) | undefined = undefined;
  /** Continues the call that waits for this request, in place of a new call, once the policies allow it. */
  resumes: (() => void) | undefined = undefined;

  constructor(session: Session, answer: Answer, body: Buffer, envelope: ClientEnvelope, received: IncomingHttpHeaders) {
    this.session = session;
    this.answer = answer;
    this.body = body;
    this.envelope = envelope;
    this.received = received;
  }

  /** Returns a copy that is answered elsewhere. */
  copyFor(answer: Answer): Call {
    const copy = new Call(this.session, answer, this.body, this.envelope, this.received);
    return Object.assign(copy, this, { answer });
  }
}
