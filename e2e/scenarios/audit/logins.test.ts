import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { eventually } from '../../harness/poll.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { startAuthServer } from '../auth-server/gateway.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { eventsIn } from './lines.ts';

it('has logins, revocations and changes of the management API, and no secret', async () => {
  const scope = testScope();
  const logFile = join(await temporaryFolder(scope), 'audit.log');
  const { vmcp, issuer } = await startAuthServer(scope, {
    audit: { enabled: true, logFile, includeRequestData: true },
  });
  const client = await OAuthClient.register(issuer);
  const { access_token: access, refresh_token: refresh = '' } = await client.login(
    new ScriptedBrowser({ user: 'ann' }),
  );
  await client.revoke(refresh);
  await fetch(`${issuer}/oauth/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'none' }) });
  await fetch(`${vmcp.management}/api/v1beta/groups`, { method: 'POST', body: '{"name":"team"}' });
  await fetch(`${vmcp.management}/api/v1beta/groups`);
  await fetch(`${vmcp.management}/status`, { headers: { host: 'evil.example', origin: 'https://evil.example' } });
  const expected = [
    'vmcp_auth_client_registered',
    'vmcp_auth_consent_granted',
    'vmcp_auth_login_succeeded',
    'vmcp_auth_code_issued',
    'vmcp_auth_token_issued',
    'vmcp_auth_login_ended',
    'vmcp_auth_request_refused',
  ];
  const read = () => eventsIn(readFileSync(logFile, 'utf8'));
  await eventually('every event is written', () =>
    expected.every((type) => read().some((event) => event.type === type)),
  );
  const issued = read().find(({ type }) => type === 'vmcp_auth_token_issued');
  expect(issued).toMatchObject({
    outcome: 'success',
    source: { type: 'network', value: '127.0.0.1', extra: { request_id: expect.any(String) as string } },
    subjects: { user_id: expect.any(String) as string },
    target: { endpoint: '/oauth/token', type: 'login' },
    metadata: { extra: { client_id: client.client.client_id } },
  });
  expect(read().find(({ type }) => type === 'vmcp_auth_request_refused')).toMatchObject({ outcome: 'denied' });
  const managed = await eventually('the change is written', () => {
    const found = read().filter(({ type }) => type === 'vmcp_management_request');
    return found.length > 0 && found;
  });
  expect(managed[0]).toMatchObject({
    outcome: 'success',
    target: { endpoint: '/api/v1beta/groups', method: 'POST', type: 'operation', name: 'createGroup' },
  });
  expect(managed.every(({ target, outcome }) => target.method === 'POST' || outcome === 'denied')).toBe(true);
  const text = readFileSync(logFile, 'utf8');
  for (const secret of [access, refresh]) expect(text).not.toContain(secret);
  expect(vmcp.output()).not.toContain('"message":"audit"');
});
