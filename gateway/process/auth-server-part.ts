import type { AuthServer } from '../authserver/auth-server.ts';
import type { GatewayConfig } from '../contract/gateway-config.ts';
import { NO_CHANGE, type Change } from '../kit/parts.ts';

/** Embedded authorization server of the current configuration, if that has `embedded_auth_server_config`. */
export class AuthServerPart {
  current: AuthServer | undefined;
  /** The server of the configuration that is prepared or in use. The boundary of the same configuration trusts it. */
  next: AuthServer | undefined;
  readonly #open: (config: GatewayConfig) => Promise<AuthServer>;

  constructor(open: (config: GatewayConfig) => Promise<AuthServer>) {
    this.#open = open;
  }

  async prepare(config: GatewayConfig): Promise<Change> {
    const { current } = this;
    if (current && config.embedded_auth_server_config) return current.prepare(config);
    if (!current && !config.embedded_auth_server_config) return NO_CHANGE;
    const next = config.embedded_auth_server_config && (await this.#open(config));
    this.next = next;
    return {
      apply: async () => {
        this.current = next;
        await current?.close();
      },
      discard: async () => {
        this.next = current;
        await next?.close();
      },
    };
  }

  async close(): Promise<void> {
    await this.current?.close();
  }
}
