import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Scope } from '../../harness/scope.ts';

/** Server with the API of OpenAI that answers "hello" and keeps the names of the tools that a program offers. */
export interface Model {
  /** Base URL, which ends in `/v1`. */
  readonly url: string;
  readonly offered: Set<string>;
}

interface Body {
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[];
}

export async function startModel(scope: Scope): Promise<Model> {
  const offered = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const received = await text(request);
    const body = received === '' ? {} : (JSON.parse(received) as Body);
    for (const tool of body.tools ?? []) offered.add(tool.function?.name ?? tool.name ?? '');
    reply(response, body.stream === true);
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1`, offered };
}

function reply(response: ServerResponse, streams: boolean): void {
  const head = { id: 'a', created: 1, model: 'test' };
  const message = { role: 'assistant', content: 'hello' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!streams) {
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  const chunk = (delta: object, finish_reason: string | null): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], usage })}\n\n`;
  response.setHeader('content-type', 'text/event-stream');
  response.end(`${chunk(message, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
}
