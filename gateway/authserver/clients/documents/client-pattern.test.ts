import { expect, it } from 'vitest';
import { matchesClient } from './client-id-url.ts';

const CODEX = 'https://codex.example/oauth/clients/3f9a/client.json';

it.each([
  ['vcl_abc', 'vcl_abc'],
  [CODEX, CODEX],
  ['codex.example', CODEX],
  ['*.example', CODEX],
  ['*.apps.example', 'https://one.apps.example/id.json'],
  ['https://codex.example/*', CODEX],
  ['https://codex.example/oauth/clients/*/client.json', CODEX],
  ['https://codex.example/*/clients/*.json', CODEX],
  ['https://codex.example/oauth?server=*', 'https://codex.example/oauth?server=https%3A%2F%2Fgateway.example'],
  ['https://codex.example:8443/*', 'https://codex.example:8443/a'],
  ['http://127.0.0.1:4000/*', 'http://127.0.0.1:4000/client.json'],
])('%s names the client %s', (entry, clientId) => {
  expect(matchesClient(entry, clientId)).toBe(true);
});

it.each([
  ['vcl_*', 'vcl_abc'],
  ['*', CODEX],
  ['*', 'vcl_abc'],
  ['example', 'https://example/client.json'],
  ['codex.example', 'https://codex.example.evil.example/oauth'],
  ['codex.example', 'https://evil.example/codex.example'],
  ['codex.example', 'https://codex.example:8443/oauth'],
  ['codex.example', 'http://codex.example/oauth'],
  ['*.example', 'https://example/oauth'],
  ['https://codex.example/*', 'https://codex.example.evil.example/oauth'],
  ['https://codex.example/*', 'https://codex.example:8443/oauth'],
  ['https://codex.example/*', 'http://codex.example/oauth'],
  ['https://codex.example*', 'https://codex.example.evil.example/oauth'],
  ['https://*/client.json', 'https://evil.example/client.json'],
  ['https://*.example/client.json', 'https://evil.example/client.json'],
  ['https://codex.example/oauth/clients/*/client.json', 'https://codex.example/oauth/clients/client.json'],
  ['https://codex.example/a*a', 'https://codex.example/a'],
  ['https://codex.example/a*b*c', 'https://codex.example/acb'],
  ['https://codex.example/oauth', 'https://codex.example/oauth/more'],
  ['127.0.0.1', 'http://127.0.0.1/client.json'],
])('%s does not name the client %s', (entry, clientId) => {
  expect(matchesClient(entry, clientId)).toBe(false);
});

it('compares a long id with a pattern of many stars at once', () => {
  const before = performance.now();
  expect(matchesClient(`https://a.example/${'*a'.repeat(900)}`, `https://a.example/${'a'.repeat(2_000)}b`)).toBe(false);
  expect(performance.now() - before).toBeLessThan(100);
});
