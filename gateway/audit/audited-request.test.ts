import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../listener.ts';
import { AuditedRequest } from './audited-request.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditEvent } from './event.ts';
import { AuditOutput, OUTPUT_LIMITS } from './output.ts';
import { settingsOf } from './settings.ts';

const ignore = (): void => undefined;

/** Serves a response with this status that never ends, and returns the event after the client has left. */
async function eventOf(status: number): Promise<AuditEvent> {
  const written = Promise.withResolvers<AuditEvent>();
  const done = () => Promise.resolve();
  const write = (bytes: Buffer) => {
    written.resolve(JSON.parse(bytes.toString()) as AuditEvent);
    return Promise.resolve(bytes.length);
  };
  const limits = { ...OUTPUT_LIMITS, flushMs: 1 };
  const destination = { name: 'memory', write, sync: done, reopen: done, close: done };
  const output = new AuditOutput(destination, { warn: ignore, info: ignore }, limits);
  const settings = settingsOf({}, { vmcp: { incoming: {} } });
  if (!settings) throw new Error('the audit log is off');
  const log = new AuditLog(settings, output, { now: Date.now, onDropped: ignore });
  const app = express().use((req, res) => {
    AuditedRequest.start(log, req, res);
    res.status(status).write('x');
  });
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(async () => {
    await Promise.all([listener.close(), output.close()]);
  });
  const client = httpRequest({ port: listener.port, host: '127.0.0.1', path: '/x' }).on('error', ignore).end();
  await once(client, 'response');
  client.destroy();
  return written.promise;
}

it.each([
  [200, 'failure', 499],
  [401, 'denied', 401],
  [403, 'denied', 403],
  [429, 'failure', 429],
  [500, 'error', 500],
])('records a response %i whose client leaves as %s with the status %i (row 113)', async (sent, outcome, status) => {
  expect(await eventOf(sent)).toMatchObject({ outcome, metadata: { extra: { status, reason: 'client_left' } } });
});
