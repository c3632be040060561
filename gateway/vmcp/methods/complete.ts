import { readReference, routeReference } from '../aggregation/routing.ts';
import { failRequest } from './failures.ts';
import { CODE } from '../error-codes.ts';
import type { Session } from '../session.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

const NOTHING = '{"completion":{"values":[],"total":0,"hasMore":false}}';

/**
 * Serves `completion/complete`: forwards it to the backend of the referenced prompt or resource, under the backend's
 * own name.
 */
export const complete: Method = (server, session, request, answer) => {
  const reference = request.params.ref && readReference(request.body, request.params.ref);
  if (reference === undefined) {
    answer.error(CODE.invalidParams, 'completion/complete needs a "ref" of type ref/prompt or ref/resource');
    return;
  }
  later(server, request, answer, server.view(session).whenSettled(), () => {
    const route = routeReference(server.view(session).current, reference);
    if (route && hasCompletions(server, session, route.backend)) {
      const name = reference.type === 'ref/prompt' ? reference.value : undefined;
      server.calls.forward(session, request, route, reference.key, name, answer, failRequest);
    } else answer.result(NOTHING);
  });
};

const hasCompletions = (server: VirtualServer, session: Session, backend: string): boolean =>
  server.view(session).catalog(backend)?.capabilities['completions'] !== undefined;
