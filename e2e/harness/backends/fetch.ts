import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { McpHttpHandler } from '@modelcontextprotocol/server';

/** Answers a request of Node with a handler of SDK 2.x; a JSON body is parsed. */
export async function answerWith(
  fetch: McpHttpHandler['fetch'],
  req: IncomingMessage,
  res: ServerResponse,
  body: unknown,
): Promise<void> {
  await respond(res, await fetch(webRequest(req, body), { parsedBody: body }));
}

/** Returns the request for SDK 2.x. */
export function webRequest(req: IncomingMessage, body: unknown): Request {
  const headers = new Headers();
  for (let at = 0; at + 1 < req.rawHeaders.length; at += 2) {
    headers.append(req.rawHeaders[at] ?? '', req.rawHeaders[at + 1] ?? '');
  }
  headers.delete('content-length');
  const method = req.method ?? 'GET';
  const url = `http://${req.headers.host ?? 'localhost'}${req.url ?? '/'}`;
  return new Request(url, { method, headers, ...(method === 'POST' && { body: JSON.stringify(body ?? null) }) });
}

async function respond(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    res.end();
    return;
  }
  const stream = Readable.fromWeb(response.body);
  res.once('close', () => stream.destroy());
  for await (const chunk of stream) res.write(chunk);
  res.end();
}
