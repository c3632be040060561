import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { formatProblems } from '../cli/validate/problems-output.ts';
import { locateProblems } from '../cli/validate/examine.ts';
import { loadManifests, type Manifests } from '../source/files/load.ts';
import type { LocatedProblem } from '../source/files/located.ts';
import { resolveAll, type ResolvedServer } from './resolve-all.ts';
import type { Platform } from './scope.ts';

const dir = new URL('testdata/', import.meta.url).pathname;
const inputs = readdirSync(dir).filter((file) => file.endsWith('.in.yaml'));

const LOCAL: Platform = { mode: 'local', secretsDir: '/state/secrets', configMapsDir: '/state/configmaps' };

/** Reads the platform of a case: local mode, changed by a comment `# platform: {...}`. */
function platformOf(input: string): Platform {
  const line = /^# platform: (.*)$/mu.exec(readFileSync(dir + input, 'utf8'))?.[1];
  return { ...LOCAL, ...(line === undefined ? {} : (parse(line) as Partial<Platform>)) };
}

/** Variables of the machine in every case. */
const HOST = { hostEnv: { HOST_TOKEN: 'canary', HOST_EMPTY: '' } };

/** Renders problems as `vmcp validate` prints them, without the folder. */
const lines = (problems: readonly LocatedProblem[]) =>
  formatProblems(problems, []).replaceAll(dir, '').split('\n').slice(0, -1);
const place = (manifests: Manifests, problems: Parameters<typeof locateProblems>[1]) =>
  lines(locateProblems(manifests, problems));

async function outcome(input: string) {
  const manifests = await loadManifests([dir + input], HOST);
  const { servers, ownGateways, unused } = resolveAll(manifests, platformOf(input));
  return {
    files: lines(manifests.problems),
    unused: place(manifests, unused),
    servers: servers.map((server) => shown(manifests, server)),
    ...(ownGateways.length > 0 && { 'own gateways': ownGateways.map((gateway) => shown(manifests, gateway)) }),
  };
}

const shown = (manifests: Manifests, resolved: ResolvedServer) => {
  const { namespace, name, config, mounts, problems, warnings, excluded, onePod } = resolved;
  return {
    server: `${namespace}/${name}`,
    problems: place(manifests, problems),
    warnings: place(manifests, warnings),
    ...(excluded.length > 0 && {
      excluded: excluded.map((member) => ({
        member: `${member.kind}/${member.name}`,
        problems: place(manifests, member.problems),
      })),
    }),
    mounts: mounts.map(
      ({ kind, name: object, key, path, optional }) =>
        `${kind}/${object} ${key} -> ${path}${optional ? ', once it is there' : ''}`,
    ),
    ...(onePod !== undefined && { 'one pod, else': onePod }),
    ...(config && { config }),
  };
};

describe('resolve', () => {
  it.each(inputs)('%s', async (input) => {
    await expect(stringify(await outcome(input), { lineWidth: 0 })).toMatchFileSnapshot(
      dir + input.replace('.in.', '.out.'),
    );
  });

  it.each(inputs)('%s: the outcome contains no Secret value', async (input) => {
    expect(JSON.stringify(await outcome(input))).not.toMatch(/canary|hunter2/u);
  });

  it.each(inputs)('%s: does not modify its input', async (input) => {
    const manifests = await loadManifests([dir + input]);
    for (const snapshot of manifests.snapshots.values()) {
      for (const map of Object.values(snapshot)) if (map instanceof Map) [...map.values()].forEach(freezeDeep);
    }
    expect(() => resolveAll(manifests, platformOf(input))).not.toThrow();
  });

  it.each(inputs)('%s: does not depend on the order of documents', async (input) => {
    const manifests = await loadManifests([dir + input]);
    const resources = [...manifests.snapshots].map(([namespace, snapshot]) => [namespace, reversed(snapshot)] as const);
    const [forwards, backwards] = [manifests, { snapshots: new Map(resources.toReversed()) }].map((source) =>
      JSON.stringify(resolveAll(source, platformOf(input)).servers.map(({ config }) => config)),
    );
    expect(backwards).toBe(forwards);
  });
});

/** Returns the same namespace with its objects in reverse order. */
function reversed<S extends (Manifests['snapshots'] extends ReadonlyMap<string, infer T> ? T : never)>(snapshot: S): S {
  const backwards = Object.entries(snapshot).map(([member, value]) => [
    member,
    value instanceof Map ? new Map([...(value as Map<string, unknown>)].toReversed()) : (value as unknown),
  ]);
  return Object.fromEntries(backwards) as S;
}

function freezeDeep(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeDeep);
}
