import { describe, expect, it } from 'vitest';
import { classifyAddress, classifyHost } from './address-class.ts';

describe('classifyHost', () => {
  it.each([
    ['localhost', 'loopback'],
    ['LOCALHOST.', 'loopback'],
    ['api.localhost', 'loopback'],
    ['[::1]', 'loopback'],
    ['svc.ns.svc.cluster.local', 'private'],
    ['svc.ns.svc', 'private'],
    ['metadata', 'forbidden'],
    ['metadata.google.internal', 'forbidden'],
    ['METADATA.google.internal.', 'forbidden'],
    ['instance-data', 'forbidden'],
    ['kubernetes', 'forbidden'],
    ['kubernetes.default', 'forbidden'],
    ['kubernetes.default.svc', 'forbidden'],
    ['kubernetes.default.svc.cluster.local', 'forbidden'],
    ['example.com', 'public'],
    ['localhost.example.com', 'public'],
    ['127.0.0.1.example.com', 'public'],
    ['metadata.example.com', 'public'],
  ])('classifies %s as %s', (host, expected) => {
    expect(classifyHost(host)).toBe(expected);
  });

  it.each([
    ['http://2130706433/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://0x7f000001/', 'loopback'],
    ['http://017700000001/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://127.0.0.1./', 'loopback'],
    ['http://１２７.０.０.１/', 'loopback'],
    ['http://[0:0:0:0:0:0:0:1]/', 'loopback'],
    ['http://[::ffff:127.0.0.1]/', 'loopback'],
    ['http://ⓛocalhost/', 'loopback'],
    ['http://167772161/', 'private'],
    ['http://012.0.0.1/', 'private'],
    ['http://10.1/', 'private'],
    ['http://192.168.257/', 'private'],
    ['http://[::ffff:10.0.0.1]/', 'private'],
    ['http://[::ffff:a00:1]/', 'private'],
    ['http://2852039166/', 'forbidden'],
    ['http://0xa9fea9fe/', 'forbidden'],
    ['http://0251.0376.0251.0376/', 'forbidden'],
    ['http://[::ffff:169.254.169.254]/', 'forbidden'],
    ['http://0/', 'forbidden'],
  ])('classifies the spelling %s as %s', (url, expected) => {
    expect(classifyHost(new URL(url).hostname)).toBe(expected);
  });
});

describe('classifyAddress', () => {
  it.each([
    ['93.184.215.14', 'public'],
    ['1.1.1.1', 'public'],
    ['172.15.255.255', 'public'],
    ['172.32.0.0', 'public'],
    ['100.63.255.255', 'public'],
    ['100.128.0.0', 'public'],
    ['198.17.255.255', 'public'],
    ['198.20.0.0', 'public'],
    ['2606:4700::1111', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['10.0.0.1', 'private'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['100.127.255.255', 'private'],
    ['198.18.0.1', 'private'],
    ['198.19.255.255', 'private'],
    ['fc00::1', 'private'],
    ['fd12:3456::1', 'private'],
    ['fec0::1', 'private'],
    ['::ffff:192.168.0.1', 'private'],
    ['0.0.0.0', 'forbidden'],
    ['0.1.2.3', 'forbidden'],
    ['169.254.0.1', 'forbidden'],
    ['169.254.169.254', 'forbidden'],
    ['100.100.100.200', 'forbidden'],
    ['168.63.129.16', 'forbidden'],
    ['192.0.0.1', 'forbidden'],
    ['192.0.2.1', 'forbidden'],
    ['198.51.100.1', 'forbidden'],
    ['203.0.113.1', 'forbidden'],
    ['224.0.0.1', 'forbidden'],
    ['239.255.255.255', 'forbidden'],
    ['240.0.0.1', 'forbidden'],
    ['255.255.255.255', 'forbidden'],
    ['::', 'forbidden'],
    ['fe80::1', 'forbidden'],
    ['fe80::1%eth0', 'forbidden'],
    ['ff02::1', 'forbidden'],
    ['fd00:ec2::254', 'forbidden'],
    ['fd20:ce::254', 'forbidden'],
    ['2001::1', 'forbidden'], // Teredo
    ['2001:db8::1', 'forbidden'],
    ['100::1', 'forbidden'], // discard
    ['4000::1', 'forbidden'], // not assigned
    ['::7f00:1', 'forbidden'], // IPv4-compatible, deprecated
    ['::10.0.0.1', 'forbidden'],
    ['::127.0.0.1', 'forbidden'],
    ['not an address', 'forbidden'],
    ['', 'forbidden'],
  ])('classifies %s as %s', (address, expected) => {
    expect(classifyAddress(address)).toBe(expected);
  });

  const inside = (v4: string): Record<string, string> => {
    const hex = v4.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
    const [high, low] = [`${hex[0]!}${hex[1]!}`, `${hex[2]!}${hex[3]!}`];
    return {
      nat64: `64:ff9b::${high}:${low}`,
      sixToFour: `2002:${high}:${low}::1`,
      translated: `::ffff:0:${high}:${low}`,
      localNat64: `64:ff9b:1::${high}:${low}`,
    };
  };
  it.each([
    ['93.184.215.14', 'public', 'private'],
    ['10.0.0.1', 'private', 'private'],
    ['127.0.0.1', 'forbidden', 'forbidden'],
    ['169.254.169.254', 'forbidden', 'forbidden'],
    ['100.100.100.200', 'forbidden', 'forbidden'],
    ['0.0.0.0', 'forbidden', 'forbidden'],
  ])(
    'classifies %s inside NAT64, 6to4 or a translated address as %s, inside a local NAT64 prefix as %s',
    (v4, well, own) => {
      const { nat64 = '', sixToFour = '', translated = '', localNat64 = '' } = inside(v4);
      expect([nat64, sixToFour, translated].map(classifyAddress)).toEqual([well, well, well]);
      expect(classifyAddress(localNat64)).toBe(own);
    },
  );
});
