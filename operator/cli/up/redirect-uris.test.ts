import { expect, it } from 'vitest';
import { given } from '../../../gateway/authserver/testdata/given-config.ts';
import { redirectUriLines } from './redirect-uris.ts';

it('lists the redirect URI to register at each provider', () => {
  const upstreams = [
    { name: 'corp', oidc_config: {} },
    { name: 'git', oauth2_config: {} },
    { name: 'wiki', oidc_config: {} },
    { name: 'chat', oauth2_config: { redirect_uri: 'https://desk.example/chat' } },
  ];
  const uris = redirectUriLines([given({ issuer: 'https://desk.example', upstreams })]).map((line) =>
    line.replace(/^.*redirect URI /u, ''),
  );
  expect(uris).toEqual([
    'https://desk.example/oauth/callback',
    'https://desk.example/oauth/callback/git',
    'https://desk.example/oauth/callback/wiki, or https://desk.example/oauth/callback if its metadata advertises iss (RFC 9207)',
    'https://desk.example/chat',
  ]);
});
