import { scanBackendEnvelope, type Envelope } from '../../../../http/json-scan.ts';
import { memberOf, splice, type Span } from '../../../../http/json-walk.ts';
import type { Answer } from '../../../answers/answer.ts';
import { RewrittenAnswer } from '../../../answers/rewritten-answer.ts';

/**
 * Returns the answer to a request that continues an earlier call, whose backend knows the progress token of the first
 * request: progress gets the token of this one, or is not sent. `params` is a span of `body`.
 * @see MCP 2026-07-28, basic/patterns/progress, Behavior Requirements
 */
export function withOwnProgress(answer: Answer, body: Buffer, params: Span | undefined): Answer {
  const own = memberOf(body, memberOf(body, params, '_meta'), 'progressToken');
  const token = own && Buffer.from(body.subarray(own.start, own.end));
  const relay = (message: Buffer, envelope: Envelope): void => {
    if (envelope.method !== 'notifications/progress') {
      answer.message(message, envelope);
      return;
    }
    const given = memberOf(message, envelope.params, 'progressToken');
    if (!token || !given) return;
    const renamed = splice(message, { start: 0, end: message.length }, given, token);
    answer.message(renamed, scanBackendEnvelope(renamed));
  };
  return new RewrittenAnswer(answer, (reply) => reply, relay);
}
