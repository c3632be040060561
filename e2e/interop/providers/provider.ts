import type { Lab } from '../lab.ts';

/** Uses of a provider that docs/providers describes, each with a folder file of the same name: `incoming.yaml`. */
export const USES = ['incoming', 'upstream', 'exchange', 'delegation'] as const;
export type Use = (typeof USES)[number];

/** Replaces the ports of the docs with those of the run. */
export type At = (text: string) => string;

/** Steps of a login of an MCP client at the provider. */
export interface ProviderLogin {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scope: string;
  /** True for providers that take `resource` (RFC 8707). */
  readonly sendsResource?: boolean;
}

/** An identity provider that runs on this machine, set up from the files in its folder, which its page quotes. */
export interface Provider {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  /** Issuer in the docs, with the default port. */
  readonly issuer: string;
  readonly user: { readonly name: string; readonly password: string };
  readonly login: ProviderLogin;
  /** A login whose tokens are not meant for the gateway. */
  readonly otherLogin?: ProviderLogin;
  /** True for a provider that answers no refresh in the set-up of its page. */
  readonly lacksRefresh?: true;
  /** Returns an ID token that nothing tells from an access token: the gateway accepts it, and the page says so. */
  alikeIdToken?(place: Place, accessToken: string): Promise<string>;
  /** Why a use is not possible; uses that are not named here are run. */
  readonly lacks: Readonly<Partial<Record<Use, string>>>;
  /** `aud` that the backend receives after an exchange. */
  readonly exchangedAudience?: string;
  /** `other` for providers that give the user another `sub` in an exchanged token. */
  readonly exchangedSubject?: 'same' | 'other';
  /** A mistake in `exchange.yaml`, and the words of the provider that the log of the gateway must have then. */
  readonly exchangeMistake?: { readonly correct: string; readonly wrong: string; readonly says: string };
  /** Installs and starts the provider, and resolves when it answers and is set up. */
  start(lab: Lab, place: Place): Promise<void>;
}

/** Addresses of a run. */
export interface Place {
  readonly at: At;
  /** First of three adjacent ports, in place of those of the docs. */
  readonly port: number;
  /** Reads a file of the provider's folder with the ports of the run. */
  file(name: string): Promise<string>;
}

/** Ports of the docs, which a run replaces: that of the gateway, of a backend, and those of each provider. */
export const DOCUMENTED_PORTS = { gateway: 4483, backend: 4410 } as const;

/** Returns the replacement of `127.0.0.1:PORT` and `localhost:PORT` for each port in `ports`. */
export function replacing(ports: ReadonlyMap<number, number>): At {
  return (text) =>
    text.replaceAll(/\b(127\.0\.0\.1|localhost):(\d+)\b/gu, (all, host: string, port: string) => {
      const other = ports.get(Number(port));
      return other === undefined ? all : `${host}:${String(other)}`;
    });
}
