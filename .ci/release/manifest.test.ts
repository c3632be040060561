import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageManifest, repositoryManifest } from './manifest.ts';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8');
const { dependencies, ...others } = JSON.parse(text) as Record<string, unknown>;

describe('packageManifest', () => {
  it('lists the dependencies as bundled, and allows the publication', () => {
    expect(JSON.parse(packageManifest(text))).toEqual({ ...others, private: false, bundled: dependencies });
  });

  it('can be applied again, and reversed', () => {
    expect(packageManifest(packageManifest(text))).toBe(packageManifest(text));
    expect(repositoryManifest(packageManifest(text))).toBe(text);
    expect(repositoryManifest(text)).toBe(text);
  });
});
