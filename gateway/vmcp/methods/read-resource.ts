import { readString } from '../../http/json-scan.ts';
import { routeResource } from '../aggregation/routing.ts';
import { failRequest } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** Serves `resources/read`. The URI is forwarded unchanged. */
export const readResource: Method = (server, session, request, answer) => {
  const uri = readString(request.body, request.params.uri);
  if (uri === undefined) {
    answer.error(CODE.invalidParams, 'resources/read needs a "uri" that is a string');
    return;
  }
  later(server, request, answer, server.view(session).whenSettled(), () => {
    const route = routeResource(server.view(session).current, uri);
    if (route) server.calls.forward(session, request, route, uri, undefined, answer, failRequest);
    else {
      server.calls.answerUnknown(session, request, { kind: 'resources', name: uri }, answer, failRequest, () => {
        answer.error(CODE.resourceNotFound, 'resource not found', { uri });
      });
    }
  });
};
