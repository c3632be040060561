import type { Problem } from '../../contract/problem.ts';
import { urlProblems } from '../../contract/url-problems.ts';
import { classifyHost } from '../../outbound/address-class.ts';

/** Advice for workloads, which lack the settings that other resources have. */
const MESSAGES: Readonly<Record<string, string>> = {
  InsecureUrl: 'http is not encrypted: use https; http is for servers on this machine (http://127.0.0.1:PORT)',
  CredentialsInUrl: 'the URL contains a user name or password: use header_forward or oauth_config',
};

/** Lists problems of a URL that a workload calls, except those that need a look-up of its host. Pure. */
export function workloadUrlProblems(text: string, path: string): Problem[] {
  const problems = urlProblems(text, path, false);
  if (problems.length > 0)
    return problems.map((problem) => ({ ...problem, message: MESSAGES[problem.reason] ?? problem.message }));
  if (classifyHost(URL.parse(text)?.hostname ?? '') !== 'forbidden') return [];
  const message = 'is a link-local, metadata, multicast or reserved address, which vmcp never calls: use another host';
  return [{ reason: 'ForbiddenAddress', path, message }];
}

/** Returns true for the host of a URL, with or without its port and the brackets of an address. */
export function isHostOfUrl(text: string | undefined, host: string): boolean {
  const url = URL.parse(text ?? '');
  if (url === null) return false;
  const { hostname, protocol } = url;
  const port = url.port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : url.port;
  const names = [hostname, hostname.replaceAll(/[[\]]/gu, ''), `${hostname}:${port ?? ''}`];
  return names.includes(host.toLowerCase());
}
