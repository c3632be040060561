import { api } from './api.ts';
import { builtIn } from './default.ts';
import { file } from './file.ts';
import type { SourceType } from '../schema/registry.ts';
import type { RegistrySource } from './source.ts';
import { url } from './url.ts';

/** Kinds of registries. */
const SOURCES: readonly RegistrySource[] = [api, url, file, builtIn];

const byType = new Map(SOURCES.map((source) => [source.type, source]));

export function sourceOf(type: SourceType): RegistrySource {
  const source = byType.get(type);
  if (!source) throw new Error(`no source of the type ${type}`);
  return source;
}
