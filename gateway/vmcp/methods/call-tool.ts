import { readString } from '../../http/json-scan.ts';
import { whenFound } from '../views/readable-view.ts';
import { failToolCall } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Route } from '../aggregation/view.ts';
import type { ClientRequest } from '../client-request.ts';
import { wrongParamHeader } from '../tool-headers.ts';
import type { Method } from './method.ts';

/** Serves `tools/call`, the hot path: finds the route by name and forwards `params` unchanged. */
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
  const view = server.view(session);
  const route = view.certain ? view.current.tools.get(name) : undefined;
  const unknown = (): void => {
    const unread = server.views.unreadBackend(session, name);
    const backend = unread && server.fleet.runtime(unread.backend);
    const item = { kind: 'tools', name, backend: backend?.name } as const;
    server.calls.answerUnknown(session, request, item, answer, failToolCall, () => {
      if (backend) failToolCall(answer, unread.failure, backend);
      else answer.error(CODE.invalidParams, `unknown tool "${shown(name)}"`);
    });
  };
  const send = (found: Route): void => {
    const wrong = wrongHeader(request, found);
    if (wrong === undefined)
      server.calls.forward(session, request, found, found.advertised, params.name, answer, failToolCall);
    else
      answer.error(CODE.headerMismatch, `the header ${wrong} must equal its argument`, { mismatch: { header: wrong } });
  };
  if (route) send(route);
  else if (view.settled) unknown();
  else
    later(
      server,
      request,
      answer,
      whenFound(view, ({ tools }) => tools.get(name)),
      (late) => {
        if (late) send(late);
        else unknown();
      },
    );
};

/** Returns the `Mcp-Param-*` header that contradicts the arguments of a request without a session. */
const wrongHeader = ({ body, params, received }: ClientRequest, { json }: Route): string | undefined =>
  received &&
  wrongParamHeader(
    json,
    params.arguments && body.toString('utf8', params.arguments.start, params.arguments.end),
    received,
  );

const shown = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);
