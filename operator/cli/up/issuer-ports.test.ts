import { describe, expect, it } from 'vitest';
import { given } from '../../../gateway/authserver/testdata/given-config.ts';
import { issuerPortLines } from './issuer-ports.ts';

const linesOf = (issuer: string, port: number): string[] => issuerPortLines([{ config: given({ issuer }), port }]);

describe('the port of an issuer on this machine', () => {
  it('is reported with advice when the gateway listens on another one', () => {
    const [line = '', ...others] = linesOf('http://127.0.0.1:4483', 4484);
    expect(others).toEqual([]);
    expect(line).toContain('desk listens on port 4484');
    expect(line).toContain('http://127.0.0.1:4483 sends browsers to port 4483');
    expect(line).toContain('--port 4483');
  });

  it.each(['http://localhost', 'http://localhost:4000/tenant', 'http://[::1]:4000', 'http://127.0.0.2:4000'])(
    'is reported for %s',
    (issuer) => {
      expect(linesOf(issuer, 4483)).toHaveLength(1);
    },
  );

  it.each([
    ['http://127.0.0.1:4483', 4483],
    ['http://localhost', 80],
    ['https://localhost:8443', 4483],
    ['https://desk.example', 4483],
    ['http://desk.example:9', 4483],
  ])('is not reported for %s at port %i', (issuer, port) => {
    expect(linesOf(issuer, port)).toEqual([]);
  });

  it('is checked only for an embedded authorization server', () => {
    const { embedded_auth_server_config: _, ...config } = given();
    const oidc_config = { issuer: 'http://127.0.0.1:4500', audience: 'desk' };
    expect(issuerPortLines([{ config: { ...config, oidc_config }, port: 4483 }])).toEqual([]);
  });
});
