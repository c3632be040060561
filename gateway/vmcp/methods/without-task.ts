import { readKey, visitMembers, type Span } from '../../http/json-walk.ts';
import type { Call } from '../call.ts';

/**
 * Leaves out the member `task` of its `params`, to which a backend of 2025-11-25 would reply with a task. The
 * gateway offers no tasks of that revision, so the call runs without one.
 * @see MCP 2025-11-25, basic/utilities/tasks, Task Support and Handling
 */
export function leaveOutTask(call: Call): void {
  const { body, envelope, edits = [] } = call;
  const span = envelope.params && taskMember(body, envelope.params);
  if (span) call.edits = [...edits, { span, text: '' }];
}

/** Returns the member `task` of an object with one of its commas. */
function taskMember(text: Buffer, object: Span): Span | undefined {
  const members: Span[] = [];
  let index = -1;
  visitMembers(text, object, (keyStart, keyEnd, _, end) => {
    if (readKey(text, keyStart, keyEnd) === 'task') index = members.length;
    members.push({ start: keyStart, end });
  });
  const [before, own, after] = [members[index - 1], members[index], members[index + 1]];
  if (!own) return undefined;
  return before ? { start: before.end, end: own.end } : { start: own.start, end: after?.start ?? own.end };
}
