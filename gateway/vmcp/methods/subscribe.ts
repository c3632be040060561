import { readString, scanBackendEnvelope, type Span } from '../../http/json-scan.ts';
import { judgedUri, listedUri, routeResource } from '../aggregation/routing.ts';
import type { Route, View } from '../aggregation/view.ts';
import { SESSION_SUBSCRIPTIONS } from '../budgets/limits.ts';
import type { Call } from '../call.ts';
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
 * Serves `resources/subscribe` and `resources/unsubscribe`: forwards them to the backend of the resource. Its
 * `notifications/resources/updated` are then relayed to this session only.
 */
export const subscription =
  (subscribe: boolean): Method =>
  (server, call) => {
    const { session, answer } = call;
    const asked = readString(call.body, call.params.uri);
    if (asked === undefined) {
      answer.error(CODE.invalidParams, '"uri" must be a string');
      return;
    }
    const find = (view: View): Route | undefined => routeResource(view, listedUri(view, asked));
    later(server, call, server.views.whenKnown(session, find), () => {
      const view = server.view(session).current;
      const uri = listedUri(view, asked);
      if (!subscribe) {
        session.subscriptions.delete(uri); // even when the resource or its backend is gone
        if (session.shared) server.replica?.unsubscribed(session, uri);
      }
      const found = routeResource(view, uri);
      const route = found && uri !== asked ? { ...found, renamed: true } : found;
      // updates of a resource have one name only, the advertised one
      if (!route || judgedUri(route, uri) !== uri) {
        server.calls.answerUnknown(call, { kind: 'resources', name: uri }, () => {
          answer.error(CODE.resourceNotFound, 'resource not found', { uri });
        });
      } else if (!hasSubscriptions(server, session, route.backend)) {
        server.calls.answerHere(call, route, uri, () => {
          answer.error(CODE.methodNotFound, `backend "${route.backend}" has no subscriptions`);
        });
      } else if (subscribe) begin(server, call, uri, route);
      else if (isShared(server, session, route.backend, uri)) {
        server.calls.answerHere(call, route, uri, () => {
          answer.result('{}');
        });
      } else server.calls.forward(call, route, uri, spanOf(route, call));
    });
  };

/** Returns the URI in `params` that the one at the backend replaces; undefined for a resource that is not renamed. */
const spanOf = ({ renamed }: Route, { params }: Call): Span | undefined => (renamed ? params.uri : undefined);

/**
 * Records the subscription before the request is sent, as an update may precede the reply. Removes it when the backend
 * rejects it.
 */
function begin(server: VirtualServer, call: Call, uri: string, route: Route): void {
  const { session, answer } = call;
  if (session.ended) {
    answer.error(CODE.internal, 'the session ended before the reply came');
    return;
  }
  const { subscriptions } = session;
  const full = subscriptions.begin(uri, route.backend, route.renamed ? route.name : uri);
  if (full) {
    server.refused('subscriptions');
    const [code, reason] = full === 'session' ? [CODE.invalidParams, 'too_many'] : [CODE.internal, 'over_budget'];
    server.calls.answerHere(call, route, uri, () => {
      answer.error(code, FULL[full], { reason, budget: 'subscriptions' });
    });
    return;
  }
  const replica = session.shared && server.replica;
  const place = { backend: route.backend, name: route.renamed ? route.name : uri };
  replica?.subscribing(session, uri, place);
  const settle = (isAccepted: boolean): void => {
    subscriptions.settle(uri, isAccepted);
    if (isAccepted) replica?.subscribed(session, uri, place);
    else if (!subscriptions.has(uri)) replica?.unsubscribed(session, uri);
  };
  call.fail = (refused, failure, backend) => {
    settle(false);
    failRequest(refused, failure, backend);
  };
  call.onReply = (reply) => {
    settle(scanBackendEnvelope(reply).error === undefined);
  };
  server.calls.forward(call, route, uri, spanOf(route, call));
}

function hasSubscriptions(server: VirtualServer, session: Session, backend: string): boolean {
  const resources = server.view(session).catalog(backend)?.capabilities['resources'];
  return (
    typeof resources === 'object' && resources !== null && 'subscribe' in resources && resources.subscribe === true
  );
}

/**
 * Returns true when another session receives the updates of `uri` through the same process: the backend must then not be
 * unsubscribed.
 */
function isShared(server: VirtualServer, session: Session, backend: string, uri: string): boolean {
  const { transport, isolation = 'principal' } = server.fleet.runtime(backend)?.config ?? {};
  if (transport !== 'stdio' || isolation === 'session') return false;
  for (const other of server.sessions.all()) {
    const shares = isolation === 'shared' || other.principal === session.principal;
    if (other !== session && shares && other.subscriptions.backendOf(uri) === backend) return true;
  }
  return false;
}
