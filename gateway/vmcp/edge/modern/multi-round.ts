import { readString } from '../../../http/json-scan.ts';
import { memberOf, objectMembers, isObjectSpan, type Span } from '../../../http/json-walk.ts';
import type { ClientRequest } from '../../client-request.ts';
import { CODE } from '../../error-codes.ts';
import type { Method } from '../../methods/method.ts';
import { bindingOf, type Binding } from './request-state.ts';
import { RoundsAnswer, type Rounds } from './rounds-answer.ts';

const STATE = Buffer.from('"requestState"');

/**
 * Serves a method whose results may ask the client for input: a repeated request with `requestState` continues an
 * earlier one. @see MCP 2026-07-28, SEP-2322
 */
export const multiRound =
  (method: Method, rounds: Rounds): Method =>
  (server, session, request, answer) => {
    const { body, envelope } = request;
    const span = body.includes(STATE) ? memberOf(body, envelope.params, 'requestState') : undefined;
    let binding: Binding | undefined;
    const bound = (): Binding => (binding ??= bindingOf(session.principal, request));
    if (request.held) bound(); // a large body is not kept until the reply
    let continued = request;
    if (span) {
      const sealed = readString(body, span);
      const state = sealed === undefined ? undefined : rounds.states.open(sealed, bound());
      if (!state) {
        const message = '"requestState" is not valid for this request: send the request again without it';
        answer.error(CODE.invalidParams, message, { reason: 'invalid_request_state' });
        return;
      }
      if ('handle' in state) {
        const call = rounds.suspended.take(state.handle);
        if (call) call.resume(answer, responsesOf(request));
        else {
          const message = 'the call does not wait for input any more: send the request again without "requestState"';
          answer.error(CODE.internal, message, { reason: 'call_ended' });
        }
        return;
      }
      continued = withState(request, span, state.inner);
    }
    method(server, session, continued, new RoundsAnswer(answer, session, rounds, bound));
  };

const withState = (request: ClientRequest, span: Span, inner: string): ClientRequest => ({
  ...request,
  edits: [...(request.edits ?? []), { span, text: JSON.stringify(inner) }],
});

/** Returns the JSON texts of the client's answers, by the key of their request. */
function responsesOf({ body, envelope }: ClientRequest): ReadonlyMap<string, string> {
  const span = memberOf(body, envelope.params, 'inputResponses');
  if (!span || !isObjectSpan(body, span)) return new Map();
  const members = [...objectMembers(body, span)].filter(([, value]) => isObjectSpan(body, value));
  return new Map(members.map(([key, { start, end }]) => [key, body.toString('utf8', start, end)]));
}
