import { describe, expect, it } from 'vitest';
import { addressFault, nameFault, parseAuthority } from './access.ts';

const to = (host: string, port = 443) => ({ host, port });
const own = new Set(['192.0.2.7', '10.88.0.1', '2001:db8::7']);
const isAllowed = (host: string, address: string, isolation: object, port = 443): boolean =>
  nameFault(to(host, port), isolation) === undefined &&
  addressFault(to(host, port), address, isolation, own) === undefined;
const PUBLIC = '93.184.216.34';

describe('the target of a CONNECT request', () => {
  it.each([
    ['Example.COM:443', to('example.com')],
    ['example.com.:443', to('example.com')],
    ['[2001:DB8::1]:8443', to('2001:db8::1', 8443)],
    ['127.0.0.1:80', to('127.0.0.1', 80)],
  ])('%s is read', (text, destination) => {
    expect(parseAuthority(text)).toEqual(destination);
  });

  it.each(['example.com', 'example.com:0', 'example.com:65536', 'user@example.com:80', ':80', '/x:80', 'a b:80', ''])(
    '%j is rejected',
    (text) => {
      expect(parseAuthority(text)).toBeUndefined();
    },
  );
});

describe('a destination', () => {
  it('is refused when nothing is allowed', () => {
    expect(isAllowed('example.com', PUBLIC, {})).toBe(false);
    expect(isAllowed('example.com', PUBLIC, { allow_container_gateway: true })).toBe(false);
  });

  it.each([
    ['example.com', true],
    ['EXAMPLE.com', true],
    ['api.example.com', false],
    ['badexample.com', false],
    ['example.org', true],
    ['api.example.org', true],
    ['badexample.org', false],
    ['example.org.evil.test', false],
  ])('%s is allowed by the hosts example.com and .example.org: %s', (host, allowed) => {
    const isolation = { allow_hosts: ['Example.com', '.example.ORG'] };
    expect(isAllowed(host.toLowerCase(), PUBLIC, isolation)).toBe(allowed);
  });

  it('is refused on other ports than the allowed ones', () => {
    const isolation = { allow_hosts: ['example.com'], allow_ports: [443] };
    expect(isAllowed('example.com', PUBLIC, isolation)).toBe(true);
    expect(isAllowed('example.com', PUBLIC, isolation, 80)).toBe(false);
    expect(isAllowed('other.test', PUBLIC, isolation)).toBe(false);
    expect(isAllowed('other.test', PUBLIC, { allow_ports: [443] })).toBe(true);
  });

  it('matches an address in every spelling', () => {
    const isolation = { allow_hosts: ['[2001:4860:0::1]', '10.0.0.9'] };
    expect(isAllowed('2001:4860::1', '2001:4860::1', isolation)).toBe(true);
    expect(isAllowed('::ffff:10.0.0.9', '::ffff:10.0.0.9', isolation)).toBe(true);
    expect(isAllowed('10.0.0.8', '10.0.0.8', isolation)).toBe(false);
  });

  it('is allowed in private networks', () => {
    expect(isAllowed('db.corp.test', '10.1.2.3', { allow_hosts: ['db.corp.test'] })).toBe(true);
    expect(isAllowed('db.corp.test', '10.1.2.3', { allow_all: true })).toBe(true);
  });
});

describe('the container host', () => {
  it.each([
    ['localhost', '127.0.0.1'],
    ['x.localhost', '127.0.0.1'],
    ['host.docker.internal', '127.0.0.1'],
    ['host.containers.internal', '127.0.0.1'],
    ['rebinding.test', '127.0.0.1'],
    ['rebinding.test', '::1'],
    ['rebinding.test', '::ffff:127.0.0.1'],
    ['rebinding.test', '::ffff:192.0.2.7'],
    ['192.0.2.7', '192.0.2.7'],
    ['10.88.0.1', '10.88.0.1'],
    ['2001:db8:0::7', '2001:db8:0::7'],
  ])('%s (%s) needs allow_container_gateway, even when all hosts are allowed', (host, address) => {
    const listed = { allow_all: true, allow_hosts: [host] };
    expect(isAllowed(host, address, listed, 8080)).toBe(false);
    // 192.0.2.0/24 and 2001:db8::/32 are documentation ranges, which are never called.
    const reserved = /192\.0\.2|db8/u.test(address);
    expect(isAllowed(host, address, { ...listed, allow_container_gateway: true }, 8080)).toBe(!reserved);
  });
});

describe('allow_container_gateway', () => {
  const isolation = { allow_container_gateway: true };

  it('allows names and addresses of the container host on every port', () => {
    for (const host of ['127.0.0.1', '10.88.0.1', '::1']) expect(isAllowed(host, host, isolation, 9)).toBe(true);
    expect(isAllowed('host.docker.internal', '127.0.0.1', isolation, 9)).toBe(true);
    expect(isAllowed('10.1.2.3', '10.1.2.3', isolation)).toBe(false);
  });

  it('resolves no other names', () => {
    expect(nameFault(to('secret.evil.test'), isolation)).toBe('the permission profile does not allow it');
  });
});

describe('link-local and metadata addresses', () => {
  it.each(['169.254.169.254', 'fe80::1', '100.100.100.200', '0.0.0.0', '224.0.0.1', '::'])(
    '%s are refused',
    (address) => {
      for (const host of [address, 'rebinding.test']) {
        expect(isAllowed(host, address, { allow_all: true, allow_container_gateway: true })).toBe(false);
      }
    },
  );

  it('are refused by name', () => {
    expect(nameFault(to('metadata.google.internal', 80), { allow_all: true })).toMatch('metadata');
  });
});
