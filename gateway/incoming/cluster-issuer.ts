import type { ApiServer } from './api-server.ts';
import { decodeObject, type JsonObject } from './classify.ts';
import { FetchFailure, type JsonGet } from './json-get.ts';
import { DependencyDown } from './refusal.ts';

/** Of clusters that say nothing else. */
const USUAL_ISSUER = 'https://kubernetes.default.svc';

/**
 * The issuer of a cluster's service account tokens: `iss` of the pod's own token (the kubelet put it there, so it needs no
 * proof), else what the API server says, else the usual one. Found once.
 */
export class ClusterIssuer {
  readonly #apiServer: ApiServer;
  readonly #get: JsonGet;
  readonly #readSecret: (file: string) => string;
  #found: string | undefined;
  #flight: Promise<string> | undefined;

  constructor(apiServer: ApiServer, get: JsonGet, readSecret: (file: string) => string) {
    this.#apiServer = apiServer;
    this.#get = get;
    this.#readSecret = readSecret;
  }

  get known(): string | undefined {
    this.#found ??= this.#ofOwnToken();
    return this.#found;
  }

  /** Rejects with `DependencyDown`. */
  async find(): Promise<string> {
    if (this.known !== undefined) return this.known;
    this.#flight ??= this.#ofApiServer().finally(() => {
      this.#flight = undefined;
    });
    this.#found = await this.#flight;
    return this.#found;
  }

  #ofOwnToken(): string | undefined {
    try {
      const [, payload = ''] = this.#readSecret(this.#apiServer.tokenFile).split('.');
      return textOf(decodeObject(payload)?.['iss']);
    } catch {
      return undefined; // no token is mounted: the API server is asked
    }
  }

  async #ofApiServer(): Promise<string> {
    try {
      const { document } = await this.#get(`${this.#apiServer.url}/.well-known/openid-configuration`);
      return textOf((document as JsonObject | null)?.['issuer']) ?? USUAL_ISSUER;
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      if (error.status === undefined || error.status >= 500) throw new DependencyDown('discovery', error.message);
      return USUAL_ISSUER;
    }
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
