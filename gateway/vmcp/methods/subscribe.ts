import { readString, scanBackendEnvelope } from '../../http/json-scan.ts';
import { routeResource } from '../aggregation/routing.ts';
import type { Route } from '../aggregation/view.ts';
import { SESSION_SUBSCRIPTIONS } from '../budgets/limits.ts';
import type { ClientRequest } from '../client-request.ts';
import type { Answer } from '../edge/answer.ts';
import { CODE } from '../error-codes.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { failRequest } from './failures.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

const FULL = {
  session: `a session has at most ${String(SESSION_SUBSCRIPTIONS.count)} subscriptions and ${String(SESSION_SUBSCRIPTIONS.bytes / 1_024)} KiB of their URIs: unsubscribe from some`,
  principal: 'the subscriptions of your sessions, or of all clients, fill their budget: unsubscribe from some',
} as const;

/**
 * `resources/subscribe` and `resources/unsubscribe`: forwarded to the backend that has the resource, whose
 * `notifications/resources/updated` then reach this session and no other.
 */
export const subscription =
  (subscribe: boolean): Method =>
  (server, session, request, answer) => {
    const uri = readString(request.body, request.params.uri);
    if (uri === undefined) {
      answer.error(CODE.invalidParams, '"uri" must be a string');
      return;
    }
    later(server, request, answer, server.view(session).whenSettled(), () => {
      if (!subscribe) session.subscriptions.delete(uri); // also when its resource or backend is gone
      const route = routeResource(server.view(session).current, uri);
      if (!route) answer.error(CODE.resourceNotFound, 'resource not found', { uri });
      else if (!server.offersSubscriptions(session, route.backend))
        answer.error(CODE.methodNotFound, `backend "${route.backend}" has no subscriptions`);
      else if (subscribe) begin(server, session, request, answer, uri, route);
      else if (server.sharesSubscription(session, route.backend, uri)) answer.result('{}');
      else server.calls.forward(session, request, route, uri, undefined, answer, failRequest);
    });
  };

/** The subscription counts from now on, as an update may come before the reply; it is forgotten when it is refused. */
function begin(
  server: VirtualServer,
  session: Session,
  request: ClientRequest,
  answer: Answer,
  uri: string,
  route: Route,
): void {
  if (session.ended) {
    answer.error(CODE.internal, 'the session ended before the reply came');
    return;
  }
  const { subscriptions } = session;
  const full = subscriptions.begin(uri, route.backend);
  if (full) {
    server.refused('subscriptions');
    const [code, reason] = full === 'session' ? [CODE.invalidParams, 'too_many'] : [CODE.internal, 'over_budget'];
    answer.error(code, FULL[full], { reason, budget: 'subscriptions' });
    return;
  }
  server.calls.forward(
    session,
    request,
    route,
    uri,
    undefined,
    answer,
    (refused, failure, backend) => {
      subscriptions.settle(uri, false);
      failRequest(refused, failure, backend);
    },
    (reply) => {
      subscriptions.settle(uri, scanBackendEnvelope(reply).error === undefined);
    },
  );
}
