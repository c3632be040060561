/**
 * A gateway from the sources with a stub as its store of upstream tokens. `vmcp gateway` has no such option, because in
 * production the embedded authorization server fills the store. Prints `{"ports":[...]}` when it listens.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { GatewayConfig } from '../../../gateway/contract/gateway-config.ts';
import { Secret } from '../../../gateway/contract/identity.ts';
import { startGateway } from '../../../gateway/process/gateway.ts';
import type { UpstreamToken, UpstreamTokens } from '../../../gateway/outgoing/upstream-tokens.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { announce } from './child.ts';

/** Store in which every login has a token with its name that never expires. */
class EveryLogin implements UpstreamTokens {
  readonly #tokens = new Map<string, UpstreamToken>();

  get({ tsid }: { readonly tsid: string }): UpstreamToken {
    const known = this.#tokens.get(tsid);
    if (known) return known;
    const token: UpstreamToken = { accessToken: new Secret(`upstream-${tsid}`) };
    this.#tokens.set(tsid, token);
    return token;
  }
}

const { values } = parseArgs({ options: { config: { type: 'string', default: '' } } });
// Not through `readGatewayConfig`, which rejects upstream tokens without an authorization server.
const config = JSON.parse(readFileSync(values.config, 'utf8')) as GatewayConfig;
const gateway = await startGateway({
  servers: [{ config, host: '127.0.0.1', port: 0 }],
  management: { host: '127.0.0.1', port: 0 },
  log: createLog(process.stderr, 'info'),
  version: 'bench',
  upstreamTokens: new EveryLogin(),
});
announce(gateway.servers.map(({ mcpUrl }) => Number(new URL(mcpUrl).port)));
