import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { KINDS } from '../../crds/kinds/index.ts';
import { validateObject } from '../../crds/kinds/validate.ts';
import type { Rule } from '../../gateway/contract/rule.ts';
import { adminApi } from '../harness/control-plane/control-plane.ts';
import { pathOf, type ClusterApi, type KubeManifest } from '../harness/control-plane/api.ts';
import { blockScope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';
import { mutations } from './mutations.ts';

const scope = blockScope();
let api: ClusterApi;

/** Samples on which the two must differ, with the reason. */
const BY_NATURE: Readonly<Record<string, string>> = {
  'type-null-for-object.yaml': 'the API server removes null members; in a file a field without a value is a mistake',
};

const samplesOf = (folder: string): [file: string, text: string][] => {
  const path = join(root, 'crds', 'kinds', 'samples', folder);
  return readdirSync(path).map((file) => [file, readFileSync(join(path, file), 'utf8')]);
};
const valid = samplesOf('valid');
const invalid = samplesOf('invalid');
const local = samplesOf('local');

/** Folders of examples with fields that a cluster rejects. */
const LOCAL_EXAMPLES = /^host-variables\//u;

const examples: [file: string, object: KubeManifest][] = readdirSync(join(root, 'examples'), { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.yaml') && !LOCAL_EXAMPLES.test(file))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(root, 'examples', file), 'utf8'))
      .map((document) => document.toJS() as KubeManifest)
      .filter(({ kind }) => KINDS.some((each) => each.kind === kind))
      .map((object): [string, KubeManifest] => [`${file} ${object.kind}/${object.metadata.name}`, object]),
  );

/** Verdicts of the API server on the invalid samples, by file. */
const verdictsOnInvalid = new Map<string, Verdict>();

interface Verdict {
  readonly accepted: boolean;
  readonly words: string;
}

/** Returns the verdict of `kubectl create --dry-run=server --validate=strict`. */
async function ofApiServer(object: KubeManifest): Promise<Verdict> {
  const { apiVersion, kind } = object;
  const path = pathOf({ apiVersion, kind, namespace: object.metadata.namespace ?? 'default' });
  const { status, message, body } = await api.send('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
  return { accepted: status === 201, words: message === '' ? String(body) : message };
}

function ofValidator(object: KubeManifest): Verdict {
  const problems = validateObject(object.kind, object);
  return {
    accepted: problems.length === 0,
    words: problems.map(({ path, message }) => `${path}: ${message}`).join('; '),
  };
}

beforeAll(async () => {
  api = await adminApi(scope, inject('controlPlane'));
  const named = [...valid, ...invalid].map(([, text]) => (parse(text) as KubeManifest).metadata.namespace);
  for (const name of new Set([...named, ...examples.map(([, { metadata }]) => metadata.namespace)]))
    if (name !== undefined && /^[a-z-]+$/u.test(name) && name !== 'default')
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});

describe('the API server and our validator', () => {
  it.each(valid)('both accept %s', async (_, text) => {
    const object = parse(text) as KubeManifest;
    expect([await ofApiServer(object), ofValidator(object)]).toMatchObject([{ accepted: true }, { accepted: true }]);
  });

  it.each(local)('only the API server rejects %s, in the words of the rule', async (_, text) => {
    const object = parse(text) as KubeManifest;
    const { accepted, words } = await ofApiServer(object);
    const rules = KINDS.filter(({ kind }) => kind === object.kind).flatMap(({ rules: all }): readonly Rule[] => all);
    expect({ accepted, ours: ofValidator(object) }).toEqual({ accepted: false, ours: { accepted: true, words: '' } });
    expect(rules.filter(({ message }) => words.includes(message))).toMatchObject([{ only: 'cluster' }]);
  });

  it.each(invalid)('both reject %s', async (file, text) => {
    const object = parse(text) as KubeManifest;
    const verdict = await ofApiServer(object);
    verdictsOnInvalid.set(file, verdict);
    expect(ofValidator(object).accepted).toBe(false);
    expect({ file, accepted: verdict.accepted }).toEqual({ file, accepted: file in BY_NATURE });
  });

  it.each(invalid.filter(([file]) => !(file in BY_NATURE) && file !== 'enum-api-version.yaml'))(
    'the error for %s names the field',
    async (file, text) => {
      const path = /^# expect: (.+)$/mu.exec(text)?.[1] ?? '';
      const member = /([^.[\]"]+)(\[\d+\])?$/u.exec(path)?.[1];
      const { words } = verdictsOnInvalid.get(file) ?? (await ofApiServer(parse(text) as KubeManifest));
      expect(words).toContain(member);
    },
  );

  it.each(examples)('both accept the example %s', async (_, object) => {
    expect([await ofApiServer(object), ofValidator(object)]).toMatchObject([{ accepted: true }, { accepted: true }]);
  });

  it('agree on samples with one change', async () => {
    // Only the API server checks the metadata of an object; it ignores the status of a new object.
    const isOurs = (path: string) => path === 'metadata.name' || path.startsWith('spec');
    const all = valid.flatMap(([file, text]) =>
      [...mutations(parse(text) as KubeManifest, isOurs)].map((mutation) => ({ ...mutation, file })),
    );
    // A prime stride reaches every sample and every kind of change.
    const some = all.filter((_, index) => index % 37 === 5);
    const verdicts = await Promise.all(
      some.map(async ({ object }) => [await ofApiServer(object), ofValidator(object)] as const),
    );
    const disagreements = some.flatMap(({ file, what }, index) => {
      const [theirs, ours] = verdicts[index] ?? [];
      return theirs?.accepted === ours?.accepted ? [] : [{ file, what, theirs, ours }];
    });
    expect(disagreements).toEqual([]);
    expect(verdicts.filter(([theirs]) => theirs.accepted).length).toBeGreaterThan(100);
  });
});
