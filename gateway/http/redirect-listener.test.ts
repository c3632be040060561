import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openRedirectListener } from './redirect-listener.ts';

/** More than the listener keeps. */
const CONNECTIONS = 100;

it('explains a login that failed, and repeats no other text of the redirect', async () => {
  const listener = await openRedirectListener([0], 'Close this page.');
  onTestFinished(() => {
    listener.close();
  });
  const pageFor = async (state: string, query: string): Promise<string> => {
    void listener.receive(state, 10_000);
    return (await fetch(`${listener.redirectUri}?state=${state}&${query}`)).text();
  };
  expect(await pageFor('one', 'error=access_denied')).toContain(
    'The login failed (access_denied). Start it again where you began it. Close this page.',
  );
  expect(await pageFor('two', 'error=%3Cb%3Ex&error_description=y')).toContain('<p>The login failed. Start');
  const foreign = await fetch(`${listener.redirectUri}?state=other&code=1`);
  expect([foreign.status, await foreign.text()]).toEqual([400, expect.stringContaining('start the login again')]);
});

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
