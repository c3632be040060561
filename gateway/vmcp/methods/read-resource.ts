import { readString } from '../../http/json-scan.ts';
import { advertisedReply } from '../aggregation/resources/skills.ts';
import { namesAt } from '../aggregation/resources/uri-names.ts';
import { judgedUri, listedUri, routeResource } from '../aggregation/routing.ts';
import type { Route, View } from '../aggregation/view.ts';
import type { Answer } from '../answers/answer.ts';
import { RewrittenAnswer } from '../answers/rewritten-answer.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/**
 * Serves `resources/read`. The URI of a renamed resource is replaced by that at the backend, and in its reply back; another spelling of
 * a listed URI by the listed one.
 */
export const readResource: Method = (server, call) => {
  const { session, answer } = call;
  const asked = readString(call.body, call.params.uri);
  if (asked === undefined) {
    answer.error(CODE.invalidParams, 'resources/read needs a "uri" that is a string');
    return;
  }
  const find = (view: View): Route | undefined => routeResource(view, listedUri(view, asked));
  later(server, call, server.views.whenKnown(session, find), () => {
    const view = server.view(session).current;
    const uri = listedUri(view, asked);
    const route = routeResource(view, uri);
    if (route) {
      if (route.renamed) call.answer = advertisedAnswer(answer, route);
      const sent = uri === asked ? route : { ...route, renamed: true };
      const span = sent.renamed ? call.params.uri : undefined;
      server.calls.forward(call, sent, judgedUri(route, uri), span);
    } else {
      server.calls.answerUnknown(call, { kind: 'resources', name: uri }, () => {
        answer.error(CODE.resourceNotFound, 'resource not found', { uri });
      });
    }
  });
};

/** Returns an answer that replaces the URIs in the contents by the advertised ones. */
function advertisedAnswer(answer: Answer, route: Route): Answer {
  const advertise = namesAt(route);
  return new RewrittenAnswer(answer, (message) => advertisedReply(message, 'contents', advertise));
}
