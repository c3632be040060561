import { expect, it, onTestFinished } from 'vitest';
import { DocumentReach } from './document-reach.ts';

const ONE = 'https://one.example/client.json';
const TWO = 'https://two.example/client.json';
const LOCAL = 'http://127.0.0.1:4000/client.json';

function reachOf() {
  let ms = 0;
  const logged: string[] = [];
  const line = (message: string, facts?: object) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const reach = new DocumentReach({
    advertise: 'auto',
    probe: () => Promise.reject(new Error('closed')),
    onReturn: () => undefined,
    now: () => ms,
    log: { warn: line, info: line },
  });
  onTestFinished(() => {
    reach.close();
  });
  return { reach, logged, pass: (by: number) => void (ms += by) };
}

it('one host that is down does not count while another one was reached', () => {
  const { reach, pass } = reachOf();
  reach.noteReply(ONE);
  reach.noteFailure(TWO);
  expect(reach.isAdvertised).toBe(true);
  pass(600_000);
  reach.noteFailure(TWO);
  expect(reach.isAdvertised).toBe(false);
  reach.noteReply(ONE);
  expect(reach.isAdvertised).toBe(true);
});

it('a host that was reached and is down proves nothing', () => {
  const { reach } = reachOf();
  reach.noteReply(ONE);
  reach.noteFailure(ONE);
  expect(reach.isAdvertised).toBe(false);
});

it('a loopback host proves nothing about others', () => {
  const { reach } = reachOf();
  reach.noteReply(LOCAL);
  reach.noteFailure(ONE);
  expect(reach.isAdvertised).toBe(false);
  reach.noteReply(LOCAL);
  expect(reach.isAdvertised).toBe(false);
});

it('logs each change once, with the settings', () => {
  const { reach, logged } = reachOf();
  for (let count = 0; count < 20; count += 1) reach.noteFailure(`https://host-${String(count)}.example/c`);
  reach.noteReply(ONE);
  reach.noteReply(ONE);
  expect(logged).toHaveLength(2);
  expect(logged[0]).toMatch(/cimd\.documents.*cimd\.enabled.*host-0\.example/u);
});
