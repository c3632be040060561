import { expect, it } from 'vitest';
import type { Session } from '../session.ts';
import { ConnectionInbox } from './connection-inbox.ts';
import { ConnectionPipe } from './connection-pipe.ts';
import type { Mailbox, Messages } from './messages.ts';

interface Sent {
  readonly fields: Messages['carry'];
  readonly body: Buffer;
}

/** Returns a pipe, the messages that it has sent, and a function that delivers them at the other replica. */
function fixture() {
  const sent: Sent[] = [];
  const written: string[] = [];
  const mailbox = {
    post: (_to: string, _kind: string, fields: Messages['carry'], body: Buffer) => void sent.push({ fields, body }),
  } as unknown as Mailbox;
  const session = { ended: false, streams: { main: { send: (text: Buffer) => void written.push(String(text)) } } };
  const inbox = new ConnectionInbox(mailbox);
  inbox.close();
  const ask = () => Promise.resolve('open' as const);
  const options = { mailbox, connection: 'c', owner: 'aaaaaaaa', now: () => 0, ask, onEnd: () => undefined };
  const deliver = ({ fields, body }: Sent): boolean =>
    inbox.receive(session as unknown as Session, fields, body, 'bbbbbbbb');
  return { pipe: new ConnectionPipe({ ...options, pipe: 'p1' }), options, sent, written, inbox, deliver, session };
}

it('a long message arrives whole, and messages in their order', () => {
  const { pipe, sent, written, deliver } = fixture();
  const long = 'x'.repeat(1_000_000);
  pipe.begin('1');
  pipe.send(Buffer.from(long), '1');
  pipe.send(Buffer.from('next'));
  expect(sent.length).toBeGreaterThan(5);
  expect(sent.map(deliver)).not.toContain(false);
  expect(written).toEqual([long, 'next']);
});

it('a lost message is noticed, also when it is the last one', () => {
  const { pipe, sent, inbox, deliver, session } = fixture();
  for (const text of ['a', 'b', 'c']) pipe.send(Buffer.from(text));
  const [first, , third] = sent;
  expect(first && deliver(first)).toBe(true);
  const hasReceived = (count: number): boolean =>
    inbox.hasReceived(session as unknown as Session, 'p1', count, 'bbbbbbbb');
  expect([hasReceived(1), hasReceived(2)]).toEqual([true, false]);
  expect(third && deliver(third)).toBe(false);
});

it('requests that run elsewhere are counted until their reply, also across copies of a session', () => {
  const { pipe, options, sent, inbox, deliver } = fixture();
  pipe.begin('1');
  pipe.begin('"two"');
  pipe.drop('1');
  sent.splice(0).forEach(deliver);
  expect(inbox.running).toBe(1);
  const again = new ConnectionPipe({ ...options, pipe: 'p2' });
  again.send(Buffer.from('reply'), '"two"');
  expect(sent.map(deliver)).toEqual([true]);
  expect(inbox.running).toBe(0);
});
