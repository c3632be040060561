import { readString } from '../../http/json-scan.ts';
import type { Route, View } from '../aggregation/view.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** Serves `prompts/get`. */
export const getPrompt: Method = (server, call) => {
  const { session, answer } = call;
  const name = readString(call.body, call.params.name);
  if (name === undefined) {
    answer.error(CODE.invalidParams, 'prompts/get needs a "name" that is a string');
    return;
  }
  const find = ({ prompts }: View): Route | undefined => prompts.get(name);
  later(server, call, server.views.whenKnown(session, find), () => {
    const route = find(server.view(session).current);
    if (route) server.calls.forward(call, route, route.advertised, call.params.name);
    else {
      server.calls.answerUnknown(call, { kind: 'prompts', name }, () => {
        answer.error(CODE.invalidParams, 'unknown prompt');
      });
    }
  });
};
