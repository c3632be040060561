import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { format } from 'oxfmt';
import { AuditEvent } from '../gateway/audit/event.ts';
import { AUDIT_EVENTS } from '../gateway/contract/run-config/audit.ts';
import { openApiOf } from '../gateway/management/frame/openapi.ts';
import { OPERATIONS } from '../gateway/management/operations.ts';
import packageJson from '../package.json' with { type: 'json' };
import { apiPages } from './api-reference.ts';
import { chartKinds, kustomizeConfiguration } from './chart-files.ts';
import { crdYaml, editorSchemas } from './crd.ts';
import { KINDS } from './kinds/index.ts';
import { auditEventReference, kindReference } from './reference.ts';

/** Generated file. The path starts at the root of the repository. */
export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

/** Formats Markdown and JSON, so that the format check passes. */
async function formatted({ path, content }: GeneratedFile): Promise<GeneratedFile> {
  if (!/\.(?:md|json)$/.test(path)) return { path, content };
  const { code } = await format(path, content, { printWidth: 120 });
  return { path, content: code };
}

/** Returns every generated file. */
export async function generatedFiles(): Promise<GeneratedFile[]> {
  const files = [
    // Helm reads only files in the chart; crds/<plural>.yaml is a symbolic link to each
    ...KINDS.map((kind) => ({ path: `charts/vmcp-crds/files/${kind.plural}.yaml`, content: crdYaml(kind) })),
    ...KINDS.map((kind) => ({ path: `docs/reference/${kind.singular}.md`, content: kindReference(kind) })),
    ...editorSchemas().map(({ name, content }) => ({ path: `crds/schemas/${name}`, content })),
    { path: 'charts/vmcp-crds/kustomize/kustomizeconfig.yaml', content: kustomizeConfiguration(KINDS) },
    { path: 'charts/vmcp/templates/_kinds.tpl', content: chartKinds(KINDS) },
    ...apiPages(OPERATIONS),
    { path: 'docs/reference/openapi.json', content: JSON.stringify(openApiOf(OPERATIONS, packageJson.version)) },
    { path: 'docs/reference/audit-event.md', content: auditEventReference(AuditEvent, AUDIT_EVENTS) },
  ];
  return Promise.all(files.map(formatted));
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  for (const { path, content } of await generatedFiles()) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  for (const { plural } of KINDS) {
    const link = join(root, `crds/${plural}.yaml`);
    await rm(link, { force: true });
    await symlink(`../charts/vmcp-crds/files/${plural}.yaml`, link);
  }
}
