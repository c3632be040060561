import { readString } from '../../http/json-scan.ts';
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
  later(server, request, answer, server.view(session).whenSettled(), () => {
    const route = server.view(session).current.prompts.get(name);
    if (route)
      server.calls.forward(session, request, route, route.advertised, request.params.name, answer, failRequest);
    else {
      server.calls.answerUnknown(session, request, { kind: 'prompts', name }, answer, failRequest, () => {
        answer.error(CODE.invalidParams, 'unknown prompt');
      });
    }
  });
};
