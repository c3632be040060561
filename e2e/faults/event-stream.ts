import { request, type IncomingMessage } from 'node:http';
import { MCP_HEADERS, type RawSession } from '../harness/clients/raw.ts';
import type { Message } from './mcp-server.ts';

/** Messages of one connection of a client; a JSON answer counts as one message. */
export interface Received {
  readonly status: number;
  readonly messages: readonly Message[];
  /** Methods of the received notifications and requests. */
  methods(): string[];
  /** Id of the last event with an id. */
  lastEventId(): string | undefined;
  readonly ended: () => boolean;
  /** Cuts the connection. */
  drop(): void;
  /** Stops reading from the socket. */
  pause(): void;
}

interface Open {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request and resolves after its head; messages are added as they arrive. */
export function openExchange(url: string, { method, headers, body }: Open): Promise<Received> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false });
    sent.once('error', reject);
    sent.once('response', (response) => {
      resolve(receive(response, () => sent.destroy()));
    });
    sent.end(body);
  });
}

/** Opens the GET stream of a session, or with `after` resumes one of its streams. */
export const openGet = (url: string, session: Pick<RawSession, 'headers'>, after?: string): Promise<Received> =>
  openExchange(url, {
    method: 'GET',
    headers: {
      ...session.headers,
      accept: 'text/event-stream',
      ...(after !== undefined && { 'last-event-id': after }),
    },
  });

export const openPost = (url: string, session: Pick<RawSession, 'headers'>, message: unknown): Promise<Received> =>
  openExchange(url, {
    method: 'POST',
    headers: { ...MCP_HEADERS, ...session.headers },
    body: JSON.stringify(message),
  });

function receive(response: IncomingMessage, drop: () => void): Received {
  const messages: Message[] = [];
  let [text, ended] = ['', false];
  let lastEventId: string | undefined;
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
  const take = (json: string): void => {
    if (json.trim() !== '') messages.push(JSON.parse(json) as Message);
  };
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (!isStream) return;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      lastEventId = /^id: (.*)$/m.exec(block)?.[1] ?? lastEventId;
      if (!/^event: (?!message$)/m.test(block)) take(/^data: (.*)$/m.exec(block)?.[1] ?? '');
    }
  });
  response.on('error', () => undefined);
  response.once('close', () => {
    if (!isStream && response.complete && response.statusCode === 200) take(text);
    ended = true;
  });
  return {
    status: response.statusCode ?? 0,
    messages,
    methods: () => messages.flatMap(({ method }) => (method === undefined ? [] : [method])),
    lastEventId: () => lastEventId,
    ended: () => ended,
    drop,
    pause: () => void response.pause(),
  };
}
