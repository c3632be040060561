import { describe, expect, it } from 'vitest';
import { Secret, type Identity } from '../../contract/identity.ts';
import type { PolicyCall } from '../policy.ts';
import { webhookBody } from './request.ts';

const IDENTITY: Identity = {
  principal: 'p',
  issuer: 'https://login.example.com',
  subject: 'alice',
  scopes: new Set(['mcp:use']),
  claims: { sub: 'alice', email: 'a@example.com', groups: ['sales', 7], name: { first: 'A' }, team: 'orders', age: 40 },
  token: new Secret('canary-token'),
  expiresAt: 0,
  tsid: 'canary-login',
};

const bodyOf = (identity: Identity | undefined, claims: readonly string[] = []) => {
  const call: PolicyCall = {
    session: { id: 'canary-session', principal: 'p', revision: '2025-11-25', client: { name: 'c', version: '1' } },
    method: 'resources/read',
    name: 'shop:///stock',
    backend: 'shop',
    identity,
    item: { kind: 'resources', name: 'shop:///stock', backend: 'shop', json: undefined },
    arguments: undefined,
    readArguments: () => undefined,
    signal: new AbortController().signal,
  };
  return webhookBody(call, undefined, { uid: 'u', now: 0, server: 's', namespace: undefined, claims });
};
const principal = (...args: Parameters<typeof bodyOf>) =>
  (JSON.parse(bodyOf(...args)) as { principal: unknown }).principal;

describe('the principal of a request', () => {
  const known = { iss: 'https://login.example.com', sub: 'alice', email: 'a@example.com', groups: ['sales'] };

  it('has issuer, subject, email and groups, and of the other claims only those that the webhook may read', () => {
    expect(principal(IDENTITY)).toEqual({ ...known, claims: {} });
    expect(principal(IDENTITY, ['team', 'missing', 'toString'])).toEqual({ ...known, claims: { team: 'orders' } });
  });

  it('is null for an anonymous client', () => {
    expect(principal(undefined)).toBeNull();
  });

  it('contains no token, login or session', () => {
    expect(bodyOf(IDENTITY, ['tsid', 'token'])).not.toContain('canary');
  });
});

it('names a resource by its URI', () => {
  const { mcp_request: request } = JSON.parse(bodyOf(undefined)) as { mcp_request: object };
  expect(request).toEqual({ jsonrpc: '2.0', method: 'resources/read', params: { uri: 'shop:///stock' } });
});
