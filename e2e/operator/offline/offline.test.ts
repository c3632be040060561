import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { validate } from '../../../operator/cli/validate/validate.ts';
import { EXPECTED_IN_CLUSTER } from '../../../operator/resolve/references.ts';
import { pathOf } from '../../harness/control-plane/api.ts';
import { yaml, type Manifest } from '../../harness/manifests.ts';
import { testScope } from '../../harness/scope.ts';
import { temporaryFolder } from '../../harness/vmcp.ts';
import { OFFLINE_CASES } from './offline-cases.ts';
import { at, conditionsOf, placeOf, type Playground } from '../playground.ts';
import { sharedOperator } from '../shared.ts';

const { playground, api } = sharedOperator();

interface Problem {
  readonly kind: string;
  readonly name: string;
  readonly path: string;
  readonly message: string;
  readonly reason: string;
}

/** Runs `vmcp validate --cluster -o json` over these files. */
async function offline(
  files: readonly Manifest[],
): Promise<{ code: number; problems: Problem[]; warnings: Problem[] }> {
  const file = join(await temporaryFolder(testScope()), 'files.yaml');
  await writeFile(file, yaml(...files));
  let text = '';
  const stdout = { write: (part: string) => (text += part) };
  const code = await validate([file], { cluster: true, output: 'json' }, { stdout, stderr: { write: () => true } });
  const { problems, warnings } = JSON.parse(text) as { problems: Problem[]; warnings: Problem[] };
  return { code, problems, warnings };
}

const within = (namespace: string, manifest: Manifest): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, namespace },
});

/** Creates an object as `kubectl create` does, and returns the error of the API server. */
async function refusalOf(manifest: Manifest): Promise<string | undefined> {
  const { apiVersion, kind, metadata } = manifest;
  const path = `${pathOf({ apiVersion, kind, namespace: metadata.namespace })}?fieldValidation=Strict`;
  const { status, message } = await api().send('POST', path, manifest);
  return status === 201 ? undefined : message;
}

/** Waits until the operator has read an object and, where it has pods, applied its objects. */
const isTaken = (here: Playground, { kind, metadata }: Manifest): Promise<unknown> =>
  here.appears(kind, metadata.name, (object) => {
    const conditions = conditionsOf(object);
    const wanted = conditions.filter(({ type }) => /^(Valid|Applied|PodTemplate\w*Valid)$/u.test(type));
    const isRead = at(object, 'status.observedGeneration') === object.metadata.generation;
    const hasPods = kind === 'MCPServer' || kind === 'VirtualMCPServer';
    const isApplied = !hasPods || wanted.some(({ type }) => type === 'Applied');
    return isRead && isApplied && wanted.every(({ status }) => status === 'True');
  });

describe.concurrent('vmcp validate --cluster gives the verdict of a cluster', () => {
  it.for(OFFLINE_CASES)('$title', async ({ files, elsewhere = [], problems, atAdmission, expects = [] }) => {
    const here = await playground();
    const placed = files.map((manifest) => within(here.namespace, manifest));
    const found = await offline(placed);
    expect(found.problems.map(({ kind, name, path }) => `${kind}/${name} ${path}`)).toEqual(problems);
    expect(found.code).toBe(problems.length === 0 ? 0 : 2);
    const expected = found.warnings.filter(({ reason }) => reason === EXPECTED_IN_CLUSTER);
    expect(expected.map(({ path }) => path)).toEqual(expects);

    await here.create(...elsewhere);
    for (const manifest of placed) {
      const isRefused =
        atAdmission === true && problems.some((each) => each.startsWith(`${manifest.kind}/${manifest.metadata.name} `));
      expect(await refusalOf(manifest)).toEqual(isRefused ? expect.any(String) : undefined);
    }
    if (atAdmission) return;
    for (const { kind, name, message } of found.problems)
      await here.appears(kind, name, (object) => conditionsOf(object).some((each) => each.message.includes(message)));
    if (problems.length > 0) return;
    const ours = placed.filter(({ kind }) => placeOf(kind).apiVersion.startsWith('vmcp.dev/'));
    for (const manifest of ours) await isTaken(here, manifest);
  });
});
