import type { KubeClient } from '../../../gateway/kube/client.ts';
import { isAsNewAs, type KubeObject } from '../../../gateway/kube/resource.ts';
import { annotatedHosts } from '../../resolve/backends/release.ts';
import { compareText, type ConfigMapData, type SecretMeta } from '../../resolve/snapshot.ts';
import type { ReferenceIndex, ReferencedKeys } from './reference-index.ts';
import { DATA_TYPES, type DataKind } from './watched-kinds.ts';
import { SingleFlight, Turns } from '../../../gateway/kit/tasks.ts';

/** Data kept of a Secret or ConfigMap. `value` is undefined when it does not exist or nothing refers to it. */
export type Data =
  | { readonly kind: 'Secret'; readonly value: SecretMeta | undefined }
  | { readonly kind: 'ConfigMap'; readonly value: ConfigMapData | undefined };

export interface DataRef {
  readonly kind: DataKind;
  readonly namespace: string;
  readonly name: string;
}

export interface ReferencedDataOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly index: ReferenceIndex;
  /** Returns the latest version of an object that the watch reported, or undefined when it does not exist. */
  readonly versionOf: (ref: DataRef) => string | undefined;
  readonly keep: (ref: DataRef, data: Data) => void;
}

interface Read {
  readonly version: string;
  readonly keys: ReferencedKeys;
}

/** State of one object. */
interface Entry {
  readonly ref: DataRef;
  read?: Read | undefined;
  readonly running: SingleFlight;
  failure?: unknown;
}

const MAX_CONCURRENT_READS = 16;

/**
 * Reads the Secrets and ConfigMaps that custom resources refer to. The watch only reports changes; an object is read
 * after a change, and after the first reference to it. Of a Secret only the names of keys are kept, never a value. Of a
 * ConfigMap only the referenced values are kept.
 */
export class ReferencedData {
  readonly #options: ReferencedDataOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #turns = new Turns(MAX_CONCURRENT_READS);

  constructor(options: ReferencedDataOptions) {
    this.#options = options;
  }

  /** Reads or forgets an object as needed. Resolves after the attempt, whether or not it succeeded. */
  async check(ref: DataRef): Promise<void> {
    if (this.#options.index.referencedKeys(ref) === undefined || this.#options.versionOf(ref) === undefined) {
      this.#forget(ref);
      return;
    }
    const entry = this.#entry(ref);
    if (!entry.running.running && !this.#missing(entry)) {
      entry.failure = undefined; // the object that could not be read is no longer needed
      return;
    }
    // `#read` checks again after each read: the object may have changed in the meantime.
    await entry.running.run(() => this.#turns.run(() => this.#read(entry)));
  }

  /**
   * Resolves when the data of all referenced objects in a namespace is as current as the watches.
   * @throws ApiError when an object could not be read
   */
  async ready(namespace: string): Promise<void> {
    const entries = [...(this.#entries.get(namespace)?.values() ?? [])].filter(
      ({ running, failure }) => running.running !== undefined || failure !== undefined,
    );
    await Promise.all(entries.map(({ ref }) => this.check(ref)));
    const failed = entries.find(({ failure }) => failure !== undefined);
    if (failed) throw failed.failure as Error;
  }

  async #read(entry: Entry): Promise<void> {
    try {
      for (let missing = this.#missing(entry); missing; missing = this.#missing(entry)) await this.#get(entry, missing);
      entry.failure = undefined;
    } catch (error) {
      entry.failure = error;
    }
  }

  /** Returns the version and keys to read, or undefined when the data is current. */
  #missing({ ref, read }: Entry): Read | undefined {
    const keys = this.#options.index.referencedKeys(ref);
    const version = this.#options.versionOf(ref);
    if (keys === undefined || version === undefined) return undefined;
    return read && isAsNewAs(read.version, version) && covers(read.keys, keys) ? undefined : { version, keys };
  }

  async #get(entry: Entry, { version, keys }: Read): Promise<void> {
    const { kind, namespace, name } = entry.ref;
    const object = await this.#options.client.get(DATA_TYPES[kind], namespace, name);
    entry.read = { version: object?.metadata.resourceVersion ?? version, keys };
    // The entry may have been removed during the request.
    if (this.#entries.get(namespace)?.get(idOf(entry.ref)) === entry) {
      this.#options.keep(entry.ref, object ? dataOf(kind, object, keys) : { kind, value: undefined });
    }
  }

  #entry(ref: DataRef): Entry {
    let entries = this.#entries.get(ref.namespace);
    if (!entries) {
      entries = new Map();
      this.#entries.set(ref.namespace, entries);
    }
    const known = entries.get(idOf(ref));
    if (known) return known;
    const entry = { ref, running: new SingleFlight() };
    entries.set(idOf(ref), entry);
    return entry;
  }

  #forget(ref: DataRef): void {
    const entries = this.#entries.get(ref.namespace);
    if (!entries?.delete(idOf(ref))) return;
    if (entries.size === 0) this.#entries.delete(ref.namespace);
    this.#options.keep(ref, { kind: ref.kind, value: undefined });
  }
}

const idOf = ({ kind, name }: DataRef): string => `${kind}/${name}`;

const covers = (read: ReferencedKeys, referenced: ReferencedKeys): boolean =>
  read === 'all' || (referenced !== 'all' && [...referenced].every((key) => read.has(key)));

function dataOf(kind: DataKind, object: KubeObject, referenced: ReferencedKeys): Data {
  const { name, resourceVersion } = object.metadata;
  const members = Object.entries((object['data'] ?? {}) as Readonly<Record<string, string>>);
  if (kind === 'Secret') {
    const keys = members.map(([key]) => key).toSorted(compareText);
    const allowedHosts = annotatedHosts(object.metadata['annotations']);
    const version = resourceVersion === undefined ? {} : { version: resourceVersion };
    return { kind, value: { name, keys, ...(allowedHosts.length > 0 && { allowedHosts }), ...version } };
  }
  // Every key is kept, so that a missing key differs from one that nothing refers to.
  const data = members.map(([key, value]) => [key, referenced === 'all' || referenced.has(key) ? value : ''] as const);
  return { kind, value: { name, data: Object.fromEntries(data) } };
}
