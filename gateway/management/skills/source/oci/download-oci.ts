import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { formatOciReference, type OciReference } from '../../reference/oci-reference.ts';
import { SkillError } from '../../errors.ts';
import { sourceError, type Download, type DownloadDeps, type DownloadRequest } from '../download.ts';
import { ArchiveError } from '../archive-path.ts';
import { unpackSkill } from '../unpack-skill.ts';
import { registryAuthorization } from './docker-credentials.ts';
import {
  INDEX_TYPES,
  MANIFEST_TYPES,
  manifestsOf,
  skillNameIn,
  parseJsonBytes,
  partsOf,
  type ArtifactParts,
} from './manifest.ts';
import { digestOf, RegistryClient } from './registry-client.ts';

const TIMEOUT_MS = 300_000;
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MAX_LAYER_BYTES = 50 * 1024 * 1024;
const ACCEPTED = [...INDEX_TYPES, ...MANIFEST_TYPES];

/** Downloads the files of a skill from an artifact of an OCI registry. @throws SkillError */
export async function downloadFromOci(
  reference: OciReference,
  request: DownloadRequest,
  deps: DownloadDeps,
): Promise<Download> {
  const { host, repository, tag = 'latest' } = reference;
  const what = formatOciReference(reference);
  const basic = await registryAuthorization(host, deps);
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), request.signal]);
  const client = new RegistryClient({ reference, outbound: deps.outbound, basic, signal, timeoutMs: TIMEOUT_MS });
  try {
    const top = await client.manifest(reference.digest ?? tag, ACCEPTED, MAX_DOCUMENT_BYTES);
    const { config, layer } = await partsIn(client, top, what);
    checkName(parseJsonBytes(await client.blob(config.digest, MAX_DOCUMENT_BYTES)), repository, what);
    const bytes = await client.blob(layer.digest, MAX_LAYER_BYTES);
    const leftOut = await unpackSkill(unpacked(bytes), request.folder);
    const digest = digestOf(top);
    return {
      reference: formatOciReference({ kind: 'oci', host, repository, digest }),
      ...(reference.digest === undefined && { tag }),
      digest,
      ...(leftOut.length > 0 && { leftOut }),
    };
  } catch (error) {
    throw sourceError(error, what);
  }
}

/** Returns the parts of a manifest, or of the first manifest of an index. */
async function partsIn(client: RegistryClient, bytes: Buffer, what: string): Promise<ArtifactParts> {
  const document = parseJsonBytes(bytes) ?? {};
  const [first] = manifestsOf(document);
  const manifest = first
    ? parseJsonBytes(await client.manifest(first.digest, MANIFEST_TYPES, MAX_DOCUMENT_BYTES))
    : document;
  const parts = partsOf(manifest ?? {});
  if (parts) return parts;
  throw new SkillError('unusable_skill', `${what} is no skill: its manifest must have a config and exactly one layer`);
}

/** Rejects an artifact with another name than its repository: it was copied to a place where users expect another skill. */
function checkName(config: Readonly<Record<string, unknown>> | undefined, repository: string, what: string): void {
  const name = skillNameIn(config ?? {});
  const expected = repository.slice(repository.lastIndexOf('/') + 1);
  if (name === expected) return;
  const found = name === undefined ? 'no valid name' : `the name "${name}"`;
  throw new SkillError('unusable_skill', `the config of ${what} has ${found}, but its repository is "${expected}"`);
}

/** Decompresses a layer. Returns an uncompressed layer unchanged. */
async function* unpacked(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) {
    yield bytes;
    return;
  }
  const packed = Readable.from([bytes]);
  const gunzip = packed.pipe(createGunzip());
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code?.startsWith('Z_') === true
      ? new ArchiveError('its layer is not valid gzip')
      : error;
  }
}
