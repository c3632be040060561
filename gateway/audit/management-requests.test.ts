import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '../listener.ts';
import { AuditLog } from './audit-log.ts';
import { auditManagement } from './management-requests.ts';
import { AuditOutput, OUTPUT_LIMITS } from './output.ts';
import { settingsOf } from './settings.ts';

const ignore = (): void => undefined;

/** Serves one path behind an audit log of at most two events, whose destination takes none. */
async function serveOver(onOverflow: 'drop' | 'refuse') {
  const stalled = new Promise<never>(ignore);
  const done = () => Promise.resolve();
  const destination = { name: 'stalled', write: () => stalled, sync: done, reopen: done, close: done };
  const limits = { ...OUTPUT_LIMITS, maxEvents: 2, closeMs: 1 };
  const output = new AuditOutput(destination, { warn: ignore, info: ignore }, limits);
  const settings = settingsOf({ onOverflow }, { name: 'management', vmcp: { incoming: {} } });
  if (!settings) throw new Error('the audit log is off');
  const log = new AuditLog(settings, output, { now: Date.now, onDropped: ignore });
  let changes = 0;
  const app = express().use(auditManagement(() => [log]));
  app.all('/', (req, res) => {
    if (req.method === 'POST') changes += 1;
    res.status(200).end();
  });
  const listener = await listen(app, '127.0.0.1', 0);
  onTestFinished(async () => {
    await Promise.all([listener.close(), output.close()]);
  });
  const send = (method: string) => fetch(`http://127.0.0.1:${String(listener.port)}/`, { method });
  return { send, changes: () => changes };
}

it('refuses changes that it could not record, and still answers reads, with onOverflow: refuse', async () => {
  const { send, changes } = await serveOver('refuse');
  expect([(await send('POST')).status, (await send('POST')).status]).toEqual([200, 200]);
  const refused = await send('POST');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await send('GET')).status).toBe(200);
  expect(changes()).toBe(2);
});

it('makes changes while their events are dropped, with onOverflow: drop', async () => {
  const { send, changes } = await serveOver('drop');
  for (let sent = 0; sent < 5; sent += 1) expect((await send('POST')).status).toBe(200);
  expect(changes()).toBe(5);
});
