import { readString } from '../../http/json-scan.ts';
import { whenFound } from '../views/readable-view.ts';
import { failToolCall } from './failures.ts';
import { CODE } from '../error-codes.ts';
import { later } from './later.ts';
import type { Route, View } from '../aggregation/view.ts';
import type { Answer } from '../answers/answer.ts';
import type { Call } from '../call.ts';
import type { VirtualServer } from '../virtual-server.ts';
import { wrongParamHeader } from '../tool-headers.ts';
import { leaveOutTask } from './without-task.ts';
import type { Method } from './method.ts';

/** Serves `tools/call`, the hot path: finds the route by name and forwards `params` unchanged, except `task`. */
export const callTool: Method = (server, call) => {
  const { answer, params } = call;
  if (params.task) leaveOutTask(call);
  call.fail = failToolCall;
  const name = readString(call.body, params.name);
  if (name === undefined) {
    answer.error(CODE.invalidParams, 'tools/call needs a "name" that is a string');
    return;
  }
  if (params.arguments !== undefined && call.body[params.arguments.start] !== 0x7b) {
    answer.error(CODE.invalidParams, '"arguments" of tools/call must be an object');
    return;
  }
  const send = (found: Route): void => {
    const wrong = wrongHeader(call, found);
    if (wrong === undefined) server.calls.forward(call, found, found.advertised, params.name);
    else
      answer.error(CODE.headerMismatch, `the header ${wrong} must equal its argument`, { mismatch: { header: wrong } });
  };
  withTool(server, call, name, send, refuseUnknown);
};

const refuseUnknown = (answer: Answer, name: string): void => {
  answer.error(CODE.invalidParams, `unknown tool "${shown(name)}"`);
};

/**
 * Calls `onFound` with the route of the tool that is advertised as `name`, at once when it is known. Calls `onMissing`
 * when there is none, unless a policy rejects the request or the tool may be one of a backend that cannot be read.
 */
export function withTool(
  server: VirtualServer,
  call: Call,
  name: string,
  onFound: (route: Route) => void,
  onMissing: (answer: Answer, name: string) => void,
): void {
  const { session, answer } = call;
  const view = server.view(session);
  const route = view.certain ? view.current.tools.get(name) : undefined;
  if (route) {
    onFound(route);
    return;
  }
  const unknown = (): void => {
    const unread = server.views.unreadBackend(session, name);
    const backend = unread && server.fleet.runtime(unread.backend);
    const item = { kind: 'tools', name, backend: backend?.name } as const;
    server.calls.answerUnknown(call, item, () => {
      if (backend) call.fail(answer, unread.failure, backend);
      else onMissing(answer, name);
    });
  };
  const find = (current: View): Route | undefined => current.tools.get(name);
  const again = server.views.readAgain(session, (backend) => server.views.mayHaveTool(backend, name));
  if (view.settled && !again) unknown();
  else
    later(server, call, whenFound(view, find, again), (late) => {
      if (late) onFound(late);
      else unknown();
    });
}

/** Returns the `Mcp-Param-*` header that contradicts the arguments. */
const wrongHeader = ({ body, params, received, client }: Call, { json }: Route): string | undefined =>
  wrongParamHeader(json, body, params.arguments, received, client !== undefined);

const shown = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);
