import type { ServerSpec } from '../../../gateway/process/gateway.ts';

/**
 * Returns a line for each embedded authorization server whose issuer names another port of this machine than the one on
 * which it listens. An https issuer belongs to a proxy and is ignored.
 */
export const issuerPortLines = (specs: readonly Pick<ServerSpec, 'config' | 'port'>[]): string[] =>
  specs.flatMap(({ config: { name, embedded_auth_server_config: server }, port }) => {
    const issuer = URL.parse(server?.issuer ?? '');
    if (issuer?.protocol !== 'http:' || !isLoopbackHost(issuer.hostname)) return [];
    const named = issuer.port === '' ? 80 : Number(issuer.port);
    if (named === port) return [];
    return [
      `${name ?? ''} listens on port ${String(port)}, but its issuer ${issuer.href.replace(/\/$/u, '')} sends browsers to port ${String(named)}: free that port and start with --port ${String(named)}, or change the port in the files to ${String(port)}`,
    ];
  });

const isLoopbackHost = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127\./u.test(host);
