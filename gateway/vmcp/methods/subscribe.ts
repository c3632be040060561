import { readString } from '../../http/json-scan.ts';
import { routeResource } from '../aggregation/routing.ts';
import { CODE } from '../error-codes.ts';
import { failRequest } from './failures.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

const MOST_SUBSCRIPTIONS = 1_000;

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
    later(server, answer, server.view(session).whenSettled(), () => {
      const route = routeResource(server.view(session).current, uri);
      if (!route) {
        answer.error(CODE.resourceNotFound, 'resource not found', { uri });
        return;
      }
      if (!server.offersSubscriptions(session, route.backend)) {
        answer.error(CODE.methodNotFound, `backend "${route.backend}" has no subscriptions`);
        return;
      }
      if (subscribe && session.subscriptions.size >= MOST_SUBSCRIPTIONS) {
        answer.error(
          CODE.invalidParams,
          `a session has at most ${String(MOST_SUBSCRIPTIONS)} subscriptions: unsubscribe from some`,
        );
        return;
      }
      const wasShared = server.sharesSubscription(session, route.backend, uri);
      if (subscribe) session.subscriptions.set(uri, route.backend);
      else session.subscriptions.delete(uri);
      if (!subscribe && wasShared) answer.result('{}');
      else server.forward(session, request, route, undefined, answer, failRequest);
    });
  };
