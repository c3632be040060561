import { revisionOf } from '../../contract/protocol/revisions.ts';
import { scanBackendEnvelope } from '../../http/json-scan.ts';
import { memberOf } from '../../http/json-walk.ts';
import type { Catalog } from '../aggregation/catalog.ts';
import { judgedUri, readReference, routeReference } from '../aggregation/routing.ts';
import type { Route, View } from '../aggregation/view.ts';
import type { Answer } from '../answers/answer.ts';
import { RewrittenAnswer } from '../answers/rewritten-answer.ts';
import { CODE } from '../error-codes.ts';
import { resultMessage } from '../message.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

const NOTHING = '{"completion":{"values":[],"total":0,"hasMore":false}}';

/**
 * Serves `completion/complete`: forwards it to the backend of the referenced prompt or resource, under the backend's
 * own name.
 */
export const complete: Method = (server, call) => {
  const { session, answer } = call;
  const reference = call.params.ref && readReference(call.body, call.params.ref);
  if (reference === undefined) {
    answer.error(CODE.invalidParams, 'completion/complete needs a "ref" of type ref/prompt or ref/resource');
    return;
  }
  const find = (view: View): Route | undefined => routeReference(view, reference);
  later(server, call, server.views.whenKnown(session, find), () => {
    const route = find(server.view(session).current);
    const { type, key, value } = reference;
    const none = (): void => {
      answer.result(NOTHING);
    };
    if (!route) {
      const kind = type === 'ref/prompt' ? 'prompts' : 'resources';
      server.calls.answerUnknown(call, { kind, name: key }, none);
      return;
    }
    const sent = answerTo(server.view(session).catalog(route.backend), answer);
    if (sent) {
      const span = type === 'ref/prompt' || route.renamed ? value : undefined;
      call.answer = sent;
      server.calls.forward(call, route, judgedUri(route, key), span);
    } else server.calls.answerHere(call, route, judgedUri(route, key), none);
  });
};

/**
 * Returns the answer for the reply of the backend of a catalog; undefined when it has no completions. An unknown method is an
 * empty list for a backend that could not declare completions.
 */
function answerTo(catalog: Catalog | undefined, answer: Answer): Answer | undefined {
  if (catalog?.capabilities['completions'] !== undefined) return answer;
  if (!revisionOf(catalog?.revision).hasUndeclaredCompletions) return undefined;
  return new RewrittenAnswer(answer, (reply) => (isUnknownMethod(reply) ? resultMessage(answer.id, NOTHING) : reply));
}

function isUnknownMethod(reply: Buffer): boolean {
  const code = memberOf(reply, scanBackendEnvelope(reply).error, 'code');
  return code !== undefined && reply.toString('latin1', code.start, code.end) === String(CODE.methodNotFound);
}
