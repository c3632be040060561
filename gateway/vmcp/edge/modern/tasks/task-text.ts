import { readString, scanBackendEnvelope } from '../../../../http/json-scan.ts';
import { memberOf, splice, type Span } from '../../../../http/json-walk.ts';
import { extensionOf, TASKS } from '../../../aggregation/extensions.ts';
import { CODE } from '../../../error-codes.ts';
import type { Session } from '../../../session.ts';

/** Error for a client that has not declared the extension. @see MCP SEP-2663, Protocol Errors */
export const TASKS_UNDECLARED = [
  CODE.missingCapability,
  `the request needs the client capability extensions["${TASKS}"]: declare it and send the request again`,
  { requiredCapabilities: { extensions: { [TASKS]: {} } } },
] as const;

/** Returns true when the client has declared the extension. */
export const declaresTasks = ({ offers, capabilities }: Pick<Session, 'offers' | 'capabilities'>): boolean =>
  offers.has('extensions') &&
  extensionOf(JSON.parse(capabilities) as Readonly<Record<string, unknown>>, TASKS) !== undefined;

/** Returns the member `taskId` of a task: a result, or `params` of a notification. */
export function taskIdIn(
  text: Buffer,
  task: Span | undefined,
): { readonly span: Span; readonly id: string } | undefined {
  const span = memberOf(text, task, 'taskId');
  const id = readString(text, span);
  return span && id !== undefined ? { span, id } : undefined;
}

/** Returns a message with another task id. */
export const withTaskId = (message: Buffer, span: Span, id: string): Buffer =>
  splice(message, { start: 0, end: message.length }, span, JSON.stringify(id));

/** Returns a reply whose result, if it is a task, has another id. */
export function replyWithTaskId(message: Buffer, id: string): Buffer {
  const found = taskIdIn(message, scanBackendEnvelope(message).result);
  return found ? withTaskId(message, found.span, id) : message;
}
