import { readString } from '../../http/json-scan.ts';
import { failToolCall } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Method } from './method.ts';

/** `tools/call`, the hot path: look the name up, forward `params` as they came. */
export const callTool: Method = (server, session, request, answer) => {
  const { params } = request;
  const name = readString(request.body, params.name);
  if (name === undefined) {
    answer.error(CODE.invalidParams, 'tools/call needs a "name" that is a string');
    return;
  }
  if (params.arguments !== undefined && request.body[params.arguments.start] !== 0x7b) {
    answer.error(CODE.invalidParams, '"arguments" of tools/call must be an object');
    return;
  }
  const route = server.view.certain ? server.view.current.tools.get(name) : undefined;
  if (route) server.forward(session, request, route, params.name, answer, failToolCall);
  else if (server.view.settled) answer.error(CODE.invalidParams, `unknown tool "${shown(name)}"`);
  else
    later(
      server,
      answer,
      server.view.whenFound((view) => view.tools.get(name)),
      (late) => {
        if (late) server.forward(session, request, late, params.name, answer, failToolCall);
        else answer.error(CODE.invalidParams, `unknown tool "${shown(name)}"`);
      },
    );
};

const shown = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);
