import { KINDS } from './kinds/index.ts';
import type { Kind } from './kinds/schema/kind.ts';

const DRAFT = 'http://json-schema.org/draft-07/schema#';

/** Path of the schema of a kind, relative to the other schemas. */
const fileOf = ({ singular }: Pick<Kind, 'singular'>): string => `${singular}.json`;

/** Keywords for the API server, which editors report as unknown. */
const isForEditors = (keyword: string): boolean => !keyword.startsWith('x-kubernetes-');

/** Returns the JSON Schema of a kind for editors, as JSON. It contains no rules between fields. */
function kindSchema({ schema, kind }: Kind): string {
  const plain = JSON.stringify({ $schema: DRAFT, title: kind, ...schema }, (keyword, value: unknown) =>
    isForEditors(keyword) ? value : undefined,
  );
  return `${plain}\n`;
}

/** Returns the schema of a document of any kind. Files of local mode also contain Secrets and ConfigMaps. */
function anyKindSchema(): string {
  const plain = {
    type: 'object',
    required: ['apiVersion', 'kind'],
    properties: { apiVersion: { enum: ['v1'] }, kind: { enum: ['Secret', 'ConfigMap', 'List'] } },
  };
  const schema = {
    $schema: DRAFT,
    title: 'vmcp',
    description: 'Resource of vmcp, or a Secret or ConfigMap that resources refer to.',
    oneOf: [...KINDS.map((kind) => ({ $ref: fileOf(kind) })), plain],
  };
  return `${JSON.stringify(schema)}\n`;
}

/** Returns the JSON Schemas for editors: one for each kind, and `all.json` for files with several. */
export const editorSchemas = (): { readonly name: string; readonly content: string }[] => [
  ...KINDS.map((kind) => ({ name: fileOf(kind), content: kindSchema(kind) })),
  { name: 'all.json', content: anyKindSchema() },
];
