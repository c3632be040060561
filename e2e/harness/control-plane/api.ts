import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

export interface ObjectMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
  }[];
  readonly managedFields?: readonly { readonly manager: string; readonly subresource?: string }[];
}

/** An object of any kind, as JSON. */
export interface KubeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
  readonly [member: string]: unknown;
}

export interface Place {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** `message` of a `Status` object. */
  readonly message: string;
}

const CLUSTER_WIDE =
  /^(Namespace|CustomResourceDefinition|Cluster(Role|RoleBinding)|FlowSchema|PriorityLevelConfiguration)$/u;
const IRREGULAR: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  MCPServerEntry: 'mcpserverentries',
  Endpoints: 'endpoints',
};

/** Returns the URL path of an object or, without a name, of the list of its kind. */
export function pathOf({ apiVersion, kind, namespace, name }: Place): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = IRREGULAR[kind] ?? `${kind.toLowerCase()}s`;
  const within = CLUSTER_WIDE.test(kind) || namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${base}${within}/${plural}${name === undefined ? '' : `/${name}`}`;
}

const placeOf = ({ apiVersion, kind, metadata }: KubeManifest): Place => ({
  apiVersion,
  kind,
  namespace: metadata.namespace ?? 'default',
  name: metadata.name,
});

export class Refused extends Error {
  readonly status: number;
  constructor(what: string, { status, message }: Answer) {
    super(`${what}: ${status} ${message}`);
    this.status = status;
  }
}

export interface ApiOptions {
  readonly server: string;
  readonly ca: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
  readonly token?: string;
}

const PATCHES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;
const MOST_TRIES = 20;

/** Client of the API server for tests, independent of the client of the product. */
export class ClusterApi {
  readonly #agent: Agent;
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#agent = new Agent({ connections: 16, connect: { ca: options.ca, ...options.certificate } });
  }

  /** Sends any request and returns the answer with any status. */
  async send(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<Answer> {
    const { token, server } = this.#options;
    const response = await request(`${server}${path}`, {
      method: method as 'GET',
      dispatcher: this.#agent,
      headers: {
        ...(body !== undefined && { 'content-type': contentType }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    const parsed: unknown = /json/u.test(String(response.headers['content-type'])) ? JSON.parse(text) : text;
    const message = typeof parsed === 'object' && parsed !== null && 'message' in parsed ? String(parsed.message) : '';
    return { status: response.statusCode, body: parsed, message };
  }

  /** Retries while the API server is overloaded or reloads a kind (429), like every client of Kubernetes. */
  async #patiently(method: string, path: string, body?: unknown, contentType?: string): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.send(method, path, body, contentType);
      if (answer.status !== 429 || tries === MOST_TRIES) return answer;
      await sleep(500);
    }
  }

  async #ask(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeManifest> {
    const answer = await this.#patiently(method, path, body, contentType);
    if (answer.status >= 300) throw new Refused(`${method} ${path}`, answer);
    return answer.body as KubeManifest;
  }

  create(object: KubeManifest): Promise<KubeManifest> {
    return this.#ask('POST', pathOf({ ...placeOf(object), name: undefined }), object);
  }

  /** Returns undefined when there is no such object. */
  async get(place: Place): Promise<KubeManifest | undefined> {
    const path = pathOf(place);
    const answer = await this.#patiently('GET', path);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw new Refused(`GET ${path}`, answer);
    return answer.body as KubeManifest;
  }

  async list(place: Place): Promise<KubeManifest[]> {
    const { items } = (await this.#ask('GET', pathOf(place))) as unknown as { items: KubeManifest[] };
    return items.map((item) => ({ ...item, apiVersion: place.apiVersion, kind: place.kind }));
  }

  /** Patches an object and returns it. A merge patch by default; a JSON patch is a list. */
  patch(
    place: Place,
    patch: unknown,
    { type = 'merge', subresource }: { readonly type?: keyof typeof PATCHES; readonly subresource?: string } = {},
  ): Promise<KubeManifest> {
    const path = `${pathOf(place)}${subresource === undefined ? '' : `/${subresource}`}`;
    return this.#ask('PATCH', path, patch, PATCHES[type]);
  }

  /** Applies an object like `kubectl apply --server-side --force-conflicts`. */
  apply(object: KubeManifest, fieldManager = 'test'): Promise<KubeManifest> {
    const path = `${pathOf(placeOf(object))}?fieldManager=${fieldManager}&force=true`;
    return this.#ask('PATCH', path, object, 'application/apply-patch+yaml');
  }

  /** Deletes an object; does nothing when there is none. */
  async remove(place: Place): Promise<void> {
    const path = pathOf(place);
    const answer = await this.send('DELETE', path);
    if (answer.status >= 300 && answer.status !== 404) throw new Refused(`DELETE ${path}`, answer);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
