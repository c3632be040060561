import { readString } from '../../http/json-scan.ts';
import type { Route, View } from '../aggregation/view.ts';
import { failRequest } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** Serves `prompts/get`. */
export const getPrompt: Method = (server, session, request, answer) => {
  const name = readString(request.body, request.params.name);
  if (name === undefined) {
    answer.error(CODE.invalidParams, 'prompts/get needs a "name" that is a string');
    return;
  }
  const find = ({ prompts }: View): Route | undefined => prompts.get(name);
  later(server, request, answer, server.views.whenKnown(session, find), () => {
    const route = find(server.view(session).current);
    if (route)
      server.calls.forward(session, request, route, route.advertised, request.params.name, answer, failRequest);
    else {
      server.calls.answerUnknown(session, request, { kind: 'prompts', name }, answer, failRequest, () => {
        answer.error(CODE.invalidParams, 'unknown prompt');
      });
    }
  });
};
