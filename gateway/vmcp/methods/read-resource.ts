import { readString } from '../../http/json-scan.ts';
import { advertisedReply } from '../aggregation/resources/skills.ts';
import { namesAt } from '../aggregation/resources/uri-names.ts';
import { judgedUri, listedUri, routeResource } from '../aggregation/routing.ts';
import type { Route, View } from '../aggregation/view.ts';
import type { Answer } from '../answers/answer.ts';
import { RewrittenAnswer } from '../answers/rewritten-answer.ts';
import { failRequest } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/**
 * Serves `resources/read`. The URI of a renamed resource is replaced by that at the backend, and in its reply back; another spelling of
 * a listed URI by the listed one.
 */
export const readResource: Method = (server, session, request, answer) => {
  const asked = readString(request.body, request.params.uri);
  if (asked === undefined) {
    answer.error(CODE.invalidParams, 'resources/read needs a "uri" that is a string');
    return;
  }
  const find = (view: View): Route | undefined => routeResource(view, listedUri(view, asked));
  later(server, request, answer, server.views.whenKnown(session, find), () => {
    const view = server.view(session).current;
    const uri = listedUri(view, asked);
    const route = routeResource(view, uri);
    if (route) {
      const out = route.renamed ? advertisedAnswer(answer, route) : answer;
      const sent = uri === asked ? route : { ...route, renamed: true };
      const span = sent.renamed ? request.params.uri : undefined;
      server.calls.forward(session, request, sent, judgedUri(route, uri), span, out, failRequest);
    } else {
      server.calls.answerUnknown(session, request, { kind: 'resources', name: uri }, answer, failRequest, () => {
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
