import { describe, expect, it } from 'vitest';
import { KeyRefused } from '../../private-keys/private-key.ts';
import { DelegateClients } from './delegate-clients.ts';
import { secretHash } from './client-authentication.ts';

const BATCH = {
  clientId: 'batch',
  secretFile: '/secrets/batch',
  audiences: ['https://a.example/mcp'],
  scopes: ['a', 'b'],
};

function clientsWith(secret: string) {
  let [content, now] = [secret, 0];
  const faults: string[] = [];
  const log = { error: (_message: string, facts: object = {}) => void faults.push(JSON.stringify(facts)) };
  const clients = new DelegateClients({ clients: [BATCH], readSecret: () => content, log, now: () => now });
  const change = (text: string): void => {
    content = text;
    now += 2_000;
  };
  return { clients, change, faults };
}

describe('delegate clients', () => {
  it('are known by their id, with the hash of their secret', () => {
    const { clients } = clientsWith(`${'s'.repeat(32)}\n`);
    expect(clients.get('batch')).toMatchObject({ source: 'configured', secretHash: secretHash('s'.repeat(32)) });
    expect(clients.get('other')).toBeUndefined();
  });

  it('need a secret of 32 characters', () => {
    expect(() => clientsWith('s'.repeat(31))).toThrow(KeyRefused);
    expect(() => clientsWith('s'.repeat(31))).toThrow('/secrets/batch: the client secret has 31 characters');
  });

  it('follow a changed secret, and ignore an unusable one', () => {
    const { clients, change, faults } = clientsWith('s'.repeat(32));
    change('short');
    expect(clients.get('batch')?.secretHash).toBe(secretHash('s'.repeat(32)));
    expect(faults).toHaveLength(1);
    change('t'.repeat(40));
    expect(clients.get('batch')?.secretHash).toBe(secretHash('t'.repeat(40)));
  });
});
