import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../harness/vmcp.ts';
import { VERSION } from '../../../operator/cli/version.ts';
import { backendImage } from '../harness/cluster.ts';

/** Replaces the server of the examples with the image of the tests, in the same transport. */
const SERVER: readonly (readonly [RegExp, string])[] = [
  [
    /args: \[node, dist\/index\.js, streamableHttp\]\n(\s+)mcpPort: 3001/gu,
    'args: [sdk-1-stateful, web]\n$1mcpPort: 8080',
  ],
  [/(image: mcp\/everything[^\n]*\n {2}transport: stdio)\n/gu, '$1\n  args: [stdio-sdk-1, desk]\n'],
  [/image: mcp\/everything/gu, `image: ${backendImage(VERSION)}`],
];

/** Returns the manifests of `examples/<name>` as one text, with the image and the given texts replaced. */
export function exampleManifests(name: string, exchange: Readonly<Record<string, string>> = {}): string {
  const files = globSync(join(root, 'examples', name, '*.yaml')).toSorted();
  let text = files.map((file) => readFileSync(file, 'utf8')).join('---\n');
  for (const [pattern, replacement] of SERVER) text = text.replace(pattern, replacement);
  for (const [from, to] of Object.entries(exchange)) {
    if (!text.includes(from)) throw new Error(`examples/${name} has no "${from}"`);
    text = text.replaceAll(from, to);
  }
  return text;
}
