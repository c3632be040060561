import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { RequestStates, type Binding } from './request-state.ts';

const binding: Binding = ['ann', 'tools/call', 'digest'];
const newStates = (now = () => 0): RequestStates => {
  const secrets = [randomBytes(32)];
  return new RequestStates({ now, secrets: () => secrets, useOnce: () => undefined });
};
const HOUR_MS = 3_600_000;

it('opens a state once', () => {
  const states = newStates();
  const sealed = states.seal({ inner: 'secret' }, binding);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret');
  expect(states.open(sealed, binding)).toEqual({ inner: 'secret' });
  expect(states.open(sealed, binding)).toBeUndefined();
});

it.each([
  ['another user', ['eve', 'tools/call', 'digest']],
  ['another method', ['ann', 'prompts/get', 'digest']],
  ['other arguments', ['ann', 'tools/call', 'other']],
] as const)('refuses a state of %s, and keeps it for its owner', (_, foreign) => {
  const states = newStates();
  const sealed = states.seal({ handle: 'h' }, binding);
  expect(states.open(sealed, foreign)).toBeUndefined();
  expect(states.open(sealed, binding)).toEqual({ handle: 'h' });
});

it('refuses a state after an hour', () => {
  let now = 0;
  const states = newStates(() => now);
  const [early, late] = [states.seal({ inner: 'a' }, binding), states.seal({ inner: 'b' }, binding)];
  now = HOUR_MS - 1;
  expect(states.open(early, binding)).toEqual({ inner: 'a' });
  now = HOUR_MS;
  expect(states.open(late, binding)).toBeUndefined();
});

it.each([
  ['nothing', () => ''],
  ['no Base64', () => '!'],
  ['a suffix', (sealed: string) => `${sealed}-TAMPERED`],
  ['another last character', (sealed: string) => `${sealed.slice(0, -1)}${sealed.endsWith('A') ? 'B' : 'A'}`],
  ['the seal of another process', () => newStates().seal({ inner: 'x' }, binding)],
])('refuses %s', (_, change) => {
  const states = newStates();
  expect(states.open(change(states.seal({ inner: 'x' }, binding)), binding)).toBeUndefined();
});
