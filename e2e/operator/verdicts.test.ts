import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { KINDS } from '../../crds/kinds/index.ts';
import { validateObject, type Target } from '../../crds/kinds/validate.ts';
import type { Rule } from '../../gateway/contract/rule.ts';
import { adminApi } from '../harness/control-plane/control-plane.ts';
import { pathOf, type ClusterApi, type KubeManifest } from '../harness/control-plane/api.ts';
import { blockScope } from '../harness/scope.ts';
import { root } from '../harness/vmcp.ts';
import { mutations } from './mutations.ts';

const scope = blockScope();
let api: ClusterApi;

/** Samples that a cluster accepts, with the reason why local mode rejects them. */
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

/** Returns the verdict of `vmcp validate`, by default with `--cluster`. */
function ofValidator(object: KubeManifest, target: Target = 'cluster'): Verdict {
  const problems = validateObject(object.kind, object, target);
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

  it.each(local)('both reject %s, which local mode accepts, in the words of the rule', async (_, text) => {
    const object = parse(text) as KubeManifest;
    const { accepted, words } = await ofApiServer(object);
    const rules = KINDS.filter(({ kind }) => kind === object.kind).flatMap(({ rules: all }): readonly Rule[] => all);
    expect({ accepted, local: ofValidator(object, 'local') }).toEqual({
      accepted: false,
      local: { accepted: true, words: '' },
    });
    const [broken, ...others] = rules.filter(({ message }) => words.includes(message));
    expect({ broken, others }).toMatchObject({ broken: { only: 'cluster' }, others: [] });
    expect(ofValidator(object)).toEqual({ accepted: false, words: expect.stringContaining(broken?.message ?? '-') });
  });

  it.each(invalid)('both reject %s', async (file, text) => {
    const object = parse(text) as KubeManifest;
    const verdict = await ofApiServer(object);
    verdictsOnInvalid.set(file, verdict);
    expect(ofValidator(object, 'local').accepted).toBe(false);
    expect({ file, accepted: verdict.accepted }).toEqual({ file, accepted: file in BY_NATURE });
    expect(ofValidator(object).accepted).toBe(verdict.accepted);
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
    // The API server sets the other metadata itself, and ignores the status of a new object.
    const isOurs = (path: string) => /^(spec|metadata\.(name|labels|annotations))(\.|$)/u.test(path);
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
