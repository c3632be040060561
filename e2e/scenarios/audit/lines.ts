import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { Value } from 'typebox/value';
import { AuditEvent } from '../../../gateway/audit/event.ts';
import { eventually } from '../../harness/poll.ts';

/** Returns the events in the text of an audit log. Throws for a line that is no complete event. */
export function eventsIn(text: string): AuditEvent[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => {
    const event: unknown = JSON.parse(line);
    if (Value.Check(AuditEvent, event)) return event;
    throw new Error(`no audit event: ${line}: ${JSON.stringify(Value.Errors(AuditEvent, event))}`);
  });
}

/** Standard output of a gateway in this process, with the events on it. */
export function capturedEvents() {
  let text = '';
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  return {
    stdout,
    text: () => text,
    events: () => eventsIn(text),
    /** Waits for an event of a type; `matches` chooses among several. */
    event: (type: AuditEvent['type'], matches: (event: AuditEvent) => boolean = () => true) =>
      eventually(`the event ${type}`, () => eventsIn(text).find((event) => event.type === type && matches(event)), {
        timeoutMs: 3_000,
      }),
  };
}

export const eventsOfFile = (file: string): AuditEvent[] => eventsIn(readFileSync(file, 'utf8'));

/** Returns the events of tool calls in the text of an audit log. */
export const callsIn = (text: string): AuditEvent[] => eventsIn(text).filter(({ type }) => type === 'mcp_tool_call');

/** Returns the complete lines of a file that is still written. */
export function wholeLines(file: string): string {
  const text = readFileSync(file, 'utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1);
}
