import { judgedUri, readReference, routeReference } from '../aggregation/routing.ts';
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
    const { type, key, value } = reference;
    const none = (): void => {
      answer.result(NOTHING);
    };
    if (!route) {
      const kind = type === 'ref/prompt' ? 'prompts' : 'resources';
      server.calls.answerUnknown(session, request, { kind, name: key }, answer, failRequest, none);
    } else if (hasCompletions(server, session, route.backend)) {
      const span = type === 'ref/prompt' || route.renamed ? value : undefined;
      server.calls.forward(session, request, route, judgedUri(route, key), span, answer, failRequest);
    } else server.calls.answerHere(session, request, route, judgedUri(route, key), answer, failRequest, none);
  });
};

const hasCompletions = (server: VirtualServer, session: Session, backend: string): boolean =>
  server.view(session).catalog(backend)?.capabilities['completions'] !== undefined;
