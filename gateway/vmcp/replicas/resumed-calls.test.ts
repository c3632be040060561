import { describe, expect, it } from 'vitest';
import { eventually } from '../../../e2e/harness/poll.ts';
import { hasRedis, startRedis } from '../../../e2e/harness/redis.ts';
import { testScope, type Scope } from '../../../e2e/harness/scope.ts';
import { openKeyValueStore } from '../../kvstore/open.ts';
import type { Answer } from '../answers/answer.ts';
import { Mailbox } from './messages.ts';
import { ResumedCalls } from './resumed-calls.ts';

function startReplica(scope: Scope, port: number, name: string): ResumedCalls {
  const store = openKeyValueStore(
    {
      db: 0,
      keyPrefix: 'vmcp:{test}:',
      connectTimeoutMs: 2_000,
      replyTimeoutMs: 500,
      servers: { kind: 'single', address: { host: '127.0.0.1', port } },
    },
    { warn: () => undefined, info: () => undefined },
  );
  const mailbox = new Mailbox(store, name, { warn: () => undefined });
  scope.defer(() => {
    mailbox.close();
    store.close();
  });
  return new ResumedCalls(mailbox);
}

/** Answer that records how it was settled. */
function recorder() {
  const settled: string[] = [];
  const settle = (text: string) => (): void => void settled.push(text);
  const answer: Answer = {
    id: Buffer.from('1'),
    get started() {
      return settled.length > 0;
    },
    reply: settle('reply'),
    result: settle('result'),
    error: (_code, _message, data) => void settled.push((data as { reason: string }).reason),
    end: ({ kind }) => kind === 'refused' && settled.push('refuse') > 0,
    watchClient: () => undefined,
    unwatchClient: () => undefined,
    drop: settle('drop'),
    message: () => undefined,
  };
  return { answer, settled };
}

async function start() {
  const scope = testScope();
  const redis = await startRedis(scope);
  const here = startReplica(scope, redis.port, 'aaaaaaaa');
  const there = startReplica(scope, redis.port, 'bbbbbbbb');
  await eventually('both listen', async () => (await redis.cli('PUBSUB', 'NUMSUB', 'vmcp:{test}:all')).endsWith('2'));
  const outs: Answer[] = [];
  there.serve(() => ({ resume: (out) => void outs.push(out), abandon: () => undefined }));
  return { redis, here, outs };
}

describe.skipIf(!hasRedis)('ResumedCalls', () => {
  it('answers an error when the reply of the other replica is lost', async () => {
    const { redis, here, outs } = await start();
    const { answer, settled } = recorder();
    const resumed = here.resume('bbbbbbbb', 'handle', new Map(), answer);
    await eventually('the call goes on', () => outs.length === 1);
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    outs[0]?.result('{}');
    await eventually('the answer is an error', () => settled.length > 0, { timeoutMs: 10_000 });
    await resumed;
    expect(settled).toEqual(['call_ended']);
  });

  it('brings a long reply of the other replica as a whole', async () => {
    const { here, outs } = await start();
    const replies: Buffer[] = [];
    const answer = { ...recorder().answer, reply: (message: Buffer) => void replies.push(message) };
    const resumed = here.resume('bbbbbbbb', 'handle', new Map(), answer);
    await eventually('the call goes on', () => outs.length === 1);
    const reply = Buffer.from(`{"text":"${'é'.repeat(400_000)}"}`);
    outs[0]?.reply(reply);
    await resumed;
    expect(Buffer.concat(replies).equals(reply)).toBe(true);
    expect(replies).toHaveLength(1);
  });
});
