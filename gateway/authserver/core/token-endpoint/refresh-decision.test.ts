import { describe, expect, it } from 'vitest';
import { checkRefresh, loginEnd, type RequestedRefresh } from './redemption.ts';
import { wireError, type RefusalReason } from '../refusal.ts';

const GRANTED = { clientId: 'client-1', scopes: ['openid', 'mcp'], resource: 'https://gateway.example/mcp' };
const REQUESTED: RequestedRefresh = { clientId: 'client-1', scope: undefined, resources: [] };

describe('a refresh request', () => {
  it.each<[Partial<RequestedRefresh>, string[]]>([
    [{}, ['openid', 'mcp']],
    [{ scope: 'mcp' }, ['mcp']],
    [{ resources: ['HTTPS://gateway.example:443/mcp'] }, ['openid', 'mcp']],
  ])('%j is granted', (changes, scopes) => {
    expect(checkRefresh(GRANTED, { ...REQUESTED, ...changes })).toEqual({
      ok: true,
      value: { scopes, resource: GRANTED.resource },
    });
  });

  it.each<[Partial<RequestedRefresh>, RefusalReason, string]>([
    [{ clientId: 'client-2' }, 'refresh_client', 'invalid_grant'],
    [{ clientId: 'client-2', scope: 'admin' }, 'refresh_client', 'invalid_grant'],
    [{ scope: 'mcp admin' }, 'scope_widened', 'invalid_scope'],
    [{ scope: 'a"' }, 'scope_malformed', 'invalid_scope'],
    [{ resources: ['https://x.example/mcp'] }, 'resource_changed', 'invalid_target'],
    [{ resources: [GRANTED.resource, GRANTED.resource] }, 'resource_multiple', 'invalid_target'],
  ])('with %j is rejected: %s', (changes, reason, error) => {
    expect(checkRefresh(GRANTED, { ...REQUESTED, ...changes })).toEqual({ ok: false, reason });
    expect(wireError(reason)).toMatchObject({ status: 400, error });
  });
});

describe('a refresh', () => {
  it('is possible for 30 days after the login', () => {
    expect(loginEnd(1)).toBe(2_592_000_001);
  });
});
