import { readString, type Span } from '../../../../http/json-scan.ts';
import type { Route } from '../../../aggregation/view.ts';
import { RewrittenAnswer } from '../../../answers/rewritten-answer.ts';
import type { Call } from '../../../call.ts';
import { CODE } from '../../../error-codes.ts';
import { withTool } from '../../../methods/call-tool.ts';
import { failRequest } from '../../../methods/failures.ts';
import type { Method } from '../../../methods/method.ts';
import { declaresTasks, replyWithTaskId, TASKS_UNDECLARED } from './task-text.ts';
import type { TaskIds, TaskOrigin } from './task-ids.ts';

/**
 * Serves `tasks/get`, `tasks/update` and `tasks/cancel`: forwards them to the backend of the task, under its own id.
 * Policies decide on them as on the tool that made the task. @see MCP SEP-2663
 */
export const taskMethod =
  (tasks: TaskIds): Method =>
  (server, call) => {
    const { session, answer } = call;
    if (!declaresTasks(session)) {
      answer.error(...TASKS_UNDECLARED);
      return;
    }
    const given = readTaskId(call);
    if (!given) {
      const message = `${call.envelope.method ?? ''} needs a "taskId" that is a string, and no member twice`;
      answer.error(CODE.invalidParams, message);
      return;
    }
    const { id, span } = given;
    const origin = tasks.open(id, session.principal);
    const unknown = (): void => {
      answer.error(CODE.invalidParams, 'unknown task', { reason: 'unknown_task' });
    };
    if (!origin) {
      unknown();
      return;
    }
    const send = (found: Route): void => {
      if (found.backend !== origin.backend) {
        unknown();
        return;
      }
      call.answer = new RewrittenAnswer(answer, (reply) => replyWithTaskId(reply, id));
      server.calls.forward(call, routeOf(found, origin), found.advertised, span);
    };
    withTool(server, call, origin.tool, send, () => {
      const { unavailable } = server.view(session).current;
      if (!unavailable.includes(origin.backend)) unknown();
      else failRequest(answer, { kind: 'unavailable', detail: 'not listed' }, { name: origin.backend, timeoutMs: 0 });
    });
  };

function readTaskId({
  body,
  params: { taskId: span },
}: Call): { readonly id: string; readonly span: Span } | undefined {
  const id = readString(body, span);
  return span && id !== undefined ? { id, span } : undefined;
}

/** Returns a route that replaces the id of the client by that of the backend. */
const routeOf = (tool: Route, { taskId }: TaskOrigin): Route => ({
  ...tool,
  renamed: true,
  nameJson: Buffer.from(JSON.stringify(taskId)),
});
