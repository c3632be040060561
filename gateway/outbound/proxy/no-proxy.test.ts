import { expect, it } from 'vitest';
import { parseNoProxy } from './proxies.ts';

/** Cases of the documentation of curl (`--noproxy`) and of Go (golang.org/x/net/http/httpproxy). */
it.each([
  // names
  ['example.com', 'example.com', true],
  ['example.com', 'www.example.com', true],
  ['example.com', 'a.b.example.com', true],
  ['example.com', 'notexample.com', false],
  ['example.com', 'example.com.evil.test', false],
  ['.example.com', 'www.example.com', true],
  ['.example.com', 'example.com', false],
  ['*.example.com', 'www.example.com', true],
  ['*.example.com', 'example.com', false],
  ['Example.COM', 'example.com', true],
  ['example.com.', 'www.example.com', true],
  ['b\u00FCcher.example', 'www.xn--bcher-kva.example', true],
  ['com', 'example.com', true],
  // lists
  ['*', 'anything.test', true],
  ['a.test, *', 'anything.test', true],
  ['a.test,b.test', 'b.test', true],
  ['  a.test ,\tb.test  c.test', 'c.test', true],
  [',, ,', 'a.test', false],
  ['', 'a.test', false],
  // ports
  ['example.com:8443', 'example.com:8443', true],
  ['example.com:8443', 'www.example.com:8443', true],
  ['example.com:8443', 'example.com', false],
  ['.example.com:8443', 'www.example.com:8443', true],
  ['example.com:443', 'example.com', true],
  ['10.1.2.3:8080', '10.1.2.3:8080', true],
  ['10.1.2.3:8080', '10.1.2.3', false],
  // addresses and networks
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3', '10.1.2.30', false],
  ['10.1.2.3', '10.1.2.3:8080', true],
  ['10.0.0.0/8', '10.200.0.1', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.0.0.0/8', 'ten.example', false],
  ['192.168.1.7/24', '192.168.1.200', true],
  ['10.0.0.0/33', '10.0.0.1', false],
  ['0.0.0.0/0', '203.0.113.9', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['2001:db8::1', '2001:db8::1', true],
  ['2001:DB8:0::1', '2001:db8::1', true],
  ['[2001:db8::1]', '2001:db8::1', true],
  ['[2001:db8::1]:8443', '[2001:db8::1]:8443', true],
  ['[2001:db8::1]:8443', '2001:db8::1', false],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['fd00::/8', '10.0.0.1', false],
  ['10.0.0.1', '::ffff:a00:1', true],
  ['10.0.0.0/8', '::ffff:a00:1', true],
])('NO_PROXY "%s" for %s: %s', (list, target, expected) => {
  const [, bracketed, plain, port = '443'] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*))(?::(\d+))?$/u.exec(target) ?? [];
  expect(parseNoProxy(list)({ host: bracketed ?? plain ?? '', port: Number(port) })).toBe(expected);
});
