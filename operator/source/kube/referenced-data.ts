import type { KubeClient } from '../../../gateway/kube/client.ts';
import { isAsNewAs, type KubeObject } from '../../../gateway/kube/resource.ts';
import { Turns } from '../../../gateway/kube/turns.ts';
import { annotatedHosts } from '../../resolve/backends/release.ts';
import { compareText, type ConfigMapData, type SecretMeta } from '../../resolve/snapshot.ts';
import type { ReferenceIndex, WantedKeys } from './reference-index.ts';
import { DATA_TYPES, type DataKind } from './watched-kinds.ts';

/** What is kept of a Secret or ConfigMap; `value` undefined: nothing, it is not there or nothing refers to it. */
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
  /** The version of an object that the watch has brought last; undefined when it is not there. */
  readonly versionOf: (ref: DataRef) => string | undefined;
  readonly keep: (ref: DataRef, data: Data) => void;
}

interface Read {
  readonly version: string;
  readonly keys: WantedKeys;
}

/** One object of which something is, or was, known. */
interface Entry {
  readonly ref: DataRef;
  read?: Read | undefined;
  running?: Promise<void> | undefined;
  failure?: unknown;
}

const AT_A_TIME = 16;

/**
 * The Secrets and ConfigMaps that custom resources refer to. The watch tells only that one has changed; it is read
 * then, and when something begins to refer to it. Of a Secret the names of its keys are kept, never a value; of a
 * ConfigMap the values that something refers to.
 */
export class ReferencedData {
  readonly #options: ReferencedDataOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #turns = new Turns(AT_A_TIME);

  constructor(options: ReferencedDataOptions) {
    this.#options = options;
  }

  /** Looks whether an object has to be read or forgotten; done when that has been tried, whatever came of it. */
  async check(ref: DataRef): Promise<void> {
    if (this.#options.index.wantedKeys(ref) === undefined || this.#options.versionOf(ref) === undefined) {
      this.#forget(ref);
      return;
    }
    const entry = this.#entry(ref);
    if (!entry.running && !this.#missing(entry)) {
      entry.failure = undefined; // what could not be read is not asked for any more
      return;
    }
    // `#read` looks again when it has read: it may have become older than what is asked for now.
    entry.running ??= this.#turns
      .run(() => this.#read(entry))
      .finally(() => {
        entry.running = undefined;
      });
    await entry.running;
  }

  /**
   * Resolves when everything that the custom resources of a namespace refer to is as current as the watches.
   * @throws ApiError of what could not be read
   */
  async ready(namespace: string): Promise<void> {
    const entries = [...(this.#entries.get(namespace)?.values() ?? [])].filter(
      ({ running, failure }) => running !== undefined || failure !== undefined,
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

  /** What has to be read for an object to be current; undefined when it is. */
  #missing({ ref, read }: Entry): Read | undefined {
    const keys = this.#options.index.wantedKeys(ref);
    const version = this.#options.versionOf(ref);
    if (keys === undefined || version === undefined) return undefined;
    return read && isAsNewAs(read.version, version) && covers(read.keys, keys) ? undefined : { version, keys };
  }

  async #get(entry: Entry, { version, keys }: Read): Promise<void> {
    const { kind, namespace, name } = entry.ref;
    const object = await this.#options.client.get(DATA_TYPES[kind], namespace, name);
    entry.read = { version: object?.metadata.resourceVersion ?? version, keys };
    // It may have been let go of meanwhile.
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
    const entry = { ref };
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

const covers = (read: WantedKeys, wanted: WantedKeys): boolean =>
  read === 'all' || (wanted !== 'all' && [...wanted].every((key) => read.has(key)));

function dataOf(kind: DataKind, object: KubeObject, wanted: WantedKeys): Data {
  const { name, resourceVersion } = object.metadata;
  const members = Object.entries((object['data'] ?? {}) as Readonly<Record<string, string>>);
  if (kind === 'Secret') {
    const keys = members.map(([key]) => key).toSorted(compareText);
    const allowedHosts = annotatedHosts(object.metadata['annotations']);
    const version = resourceVersion === undefined ? {} : { version: resourceVersion };
    return { kind, value: { name, keys, ...(allowedHosts.length > 0 && { allowedHosts }), ...version } };
  }
  // Every key is there, so that a missing one can be told from one that nothing refers to.
  const data = members.map(([key, value]) => [key, wanted === 'all' || wanted.has(key) ? value : ''] as const);
  return { kind, value: { name, data: Object.fromEntries(data) } };
}
