import type { ServerSpec } from '../../../gateway/main.ts';

/**
 * A line for each embedded authorization server of this machine whose clients are sent to another port than the one it
 * listens on. An https issuer is that of a proxy, which knows where to go.
 */
export const issuerPortLines = (specs: readonly Pick<ServerSpec, 'config' | 'port'>[]): string[] =>
  specs.flatMap(({ config: { name, embedded_auth_server_config: server }, port }) => {
    const issuer = URL.parse(server?.issuer ?? '');
    if (issuer?.protocol !== 'http:' || !isLoopbackHost(issuer.hostname)) return [];
    const named = issuer.port === '' ? 80 : Number(issuer.port);
    if (named === port) return [];
    return [
      `${name ?? ''} listens on port ${String(port)}, and its issuer ${issuer.href.replace(/\/$/u, '')} sends browsers to port ${String(named)}: free that port and start with --port ${String(named)}, or write ${String(port)} into the files`,
    ];
  });

const isLoopbackHost = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127\./u.test(host);
