import type { ApiServer } from '../../kube/api-server.ts';
import { decodeObject } from './classify.ts';
import { FetchFailure, type JsonGet } from '../keys/json-get.ts';
import { DependencyDown } from '../refusal.ts';
import type { JsonObject } from '../../contract/json.ts';

/** Permission that an API server requires for its issuer and its keys. */
export const ROLE_MISSING =
  'the API server does not show us its issuer and its keys: bind the ClusterRole system:service-account-issuer-discovery to the service account of this pod';

export const isForbidden = ({ status }: FetchFailure): boolean => status === 401 || status === 403;

/** Default issuer of clusters. */
const USUAL_ISSUER = 'https://kubernetes.default.svc';

/**
 * Finds the issuer of a cluster's service account tokens once: `iss` of the pod's own token (the kubelet wrote it, so it needs no
 * verification), else the issuer in the API server's metadata, else the default.
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
      return undefined; // no token is mounted: use the API server
    }
  }

  async #ofApiServer(): Promise<string> {
    try {
      const { document } = await this.#get(`${this.#apiServer.url}/.well-known/openid-configuration`);
      return textOf((document as JsonObject | null)?.['issuer']) ?? USUAL_ISSUER;
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      if (error.status === 404) return USUAL_ISSUER; // it has no issuer metadata
      throw new DependencyDown('discovery', isForbidden(error) ? ROLE_MISSING : error.message);
    }
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
