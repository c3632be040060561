import { request, type IncomingMessage } from 'node:http';
import type { Scope } from '../scope.ts';
import { eventually } from '../poll.ts';

/** A message of an event stream. */
export interface StreamMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** An event stream that is being read, without a client library. */
export interface ReadStream {
  readonly status: number;
  /** Messages so far. */
  readonly messages: readonly StreamMessage[];
  /** Path of the messages endpoint of HTTP+SSE (2024-11-05). */
  readonly endpoint: () => string;
  /** Id of the last event. */
  readonly lastId: () => string;
  readonly ids: readonly string[];
  readonly isOver: () => boolean;
  /** Waits for a message that `wanted` accepts. */
  next(wanted: (message: StreamMessage) => boolean): Promise<StreamMessage>;
  /** Cuts the connection. */
  cut(): void;
}

/** Sends a request whose answer is an event stream, and reads it until it ends or the scope does. */
export async function readStream(
  scope: Scope,
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body?: string },
): Promise<ReadStream> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent: false }, resolve);
    sent.once('error', reject).end(body);
  });
  const cut = (): void => {
    response.destroy();
  };
  scope.defer(cut);
  const messages: StreamMessage[] = [];
  const ids: string[] = [];
  let unread = '';
  let endpoint = '';
  let isOver = false;
  response.setEncoding('utf8').on('data', (piece: string) => {
    unread += piece;
    const events = unread.split('\n\n');
    unread = events.pop() ?? '';
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'mu').exec(event)?.[1];
      const id = field('id');
      if (id !== undefined) ids.push(id);
      const data = field('data');
      if (field('event') === 'endpoint') endpoint = data ?? '';
      else if (data) messages.push(JSON.parse(data) as StreamMessage);
    }
  });
  response.on('error', () => undefined).on('close', () => (isOver = true));
  const next: ReadStream['next'] = async (wanted) => {
    await eventually('the message arrives', () => messages.some(wanted) || isOver);
    const found = messages.find(wanted);
    if (!found) throw new Error(`the stream ended without the message: ${JSON.stringify(messages)}`);
    return found;
  };
  const lastId = () => ids.at(-1) ?? '';
  return {
    status: response.statusCode ?? 0,
    messages,
    ids,
    lastId,
    endpoint: () => endpoint,
    isOver: () => isOver,
    next,
    cut,
  };
}
