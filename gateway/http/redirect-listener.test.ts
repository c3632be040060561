import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openRedirectListener } from './redirect-listener.ts';

/** More than the listener keeps. */
const CONNECTIONS = 100;

it('row 92: receives the redirect of a login while another program holds silent connections', async () => {
  const listener = await openRedirectListener([0], 'Close this page.');
  onTestFinished(() => {
    listener.close();
  });
  let closed = 0;
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.resume().once('close', () => (closed += 1));
    await new Promise((resolve) => socket.once('connect', resolve));
  }
  const received = listener.receive('mine', 10_000);
  const foreign = await fetch(`${listener.redirectUri}?state=other&code=1`);
  expect(foreign.status).toBe(400);
  expect((await fetch(`${listener.redirectUri}?state=mine&code=2`)).status).toBe(200);
  expect((await received)?.get('code')).toBe('2');
  expect(closed).toBeGreaterThan(0);
});
