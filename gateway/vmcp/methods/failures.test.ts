import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { PostAnswer } from '../edge/post-answer.ts';
import { failRequest, failToolCall } from './failures.ts';

it.each([
  ['a tool call', failToolCall],
  ['another request', failRequest],
])('fails %s without access to the provider and requests no login', async (_, fail) => {
  const server = createServer((_req, res) => {
    const challenge = (): void => void res.writeHead(401).end();
    const failure = { kind: 'forbidden', detail: 'for the log', provider: 'github' } as const;
    fail(new PostAnswer(res, Buffer.from('7'), undefined, challenge), failure, { name: 'issues', timeoutMs: 1_000 });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`);
  expect(response.status).toBe(200);
  const body = await response.text();
  expect(JSON.parse(body)).toMatchObject({ id: 7 });
  expect(body).toContain(String.raw`your account has no access to provider \"github\", which backend \"issues\" needs`);
  expect(body).not.toMatch(/for the log|reauth/u);
});
