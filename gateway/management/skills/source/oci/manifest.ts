import { isObject } from '../../../../contract/json.ts';
import { isSkillName } from '../../reference/install-source.ts';
import { decodeUtf8 } from '../../../../contract/text/utf8.ts';

/** Blob that a manifest names. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

export const INDEX_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
] as const;
export const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
] as const;

const DIGEST = /^sha256:[0-9a-f]{64}$/u;

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the members of a JSON object; none for another value. */
const asMembers = (value: unknown): JsonObject => (isObject(value) ? { ...value } : {});

/** Parses a JSON object. Returns undefined for another text, and for bytes that are not UTF-8. */
export function parseJsonBytes(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(decodeUtf8(bytes) ?? '');
    return isObject(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the manifests of an index: a skill is the same on each platform, so the first one is used. */
export const manifestsOf = (index: JsonObject): Descriptor[] => descriptorsOf(index['manifests']);

export interface ArtifactParts {
  readonly config: Descriptor;
  readonly layer: Descriptor;
}

/** Returns the parts of an artifact; undefined unless it has a config and exactly one layer. */
export function partsOf(manifest: JsonObject): ArtifactParts | undefined {
  const [config] = descriptorsOf([manifest['config']]);
  const [layer, ...more] = descriptorsOf(manifest['layers']);
  return config && layer && more.length === 0 ? { config, layer } : undefined;
}

function descriptorsOf(values: unknown): Descriptor[] {
  return (Array.isArray(values) ? values : []).flatMap((value: unknown) => {
    const { mediaType = '', digest, size } = asMembers(value);
    const isValid = typeof mediaType === 'string' && typeof digest === 'string' && DIGEST.test(digest);
    return isValid && typeof size === 'number' ? [{ mediaType, digest, size }] : [];
  });
}

/** Returns the name of the skill in the config of an artifact: its member `name`, or a label such as `com.example.skills.name`. */
export function skillNameIn(config: JsonObject): string | undefined {
  const labels = Object.entries(asMembers(asMembers(config['config'])['Labels']));
  const label = labels.find(([key]) => /(?:^|\.)skills\.name$/u.test(key));
  const name = config['name'] ?? label?.[1];
  return typeof name === 'string' && isSkillName(name) ? name : undefined;
}
