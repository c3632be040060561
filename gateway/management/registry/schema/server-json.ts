import { Type, type Static } from 'typebox';
import { flag, text, texts } from '../../../contract/optional.ts';

const input = {
  description: text('Meaning of the value.'),
  isRequired: flag('A value is required.'),
  isSecret: flag('The value is a secret.'),
  default: text('Value when none is given.'),
  value: text('Fixed value. `{name}` stands for a variable.'),
  choices: texts('Allowed values.'),
  format: text('`string`, `number`, `boolean` or `filepath`.'),
  placeholder: text('Example of a value.'),
};
const variables = Type.Optional(
  Type.Record(Type.String(), Type.Object(input), { description: 'Variables of the template.' }),
);

/** Environment variable or header. */
const KeyValueInput = Type.Object({ name: Type.String(), ...input, variables }, { title: 'KeyValueInput' });
export type KeyValueInput = Static<typeof KeyValueInput>;

/** Argument of a command line. */
const PackageArgument = Type.Object(
  {
    type: text('`positional` or `named`.'),
    name: text('Flag, with its dashes.'),
    valueHint: text('Name of a positional argument.'),
    ...input,
    variables,
  },
  { title: 'PackageArgument' },
);
export type PackageArgument = Static<typeof PackageArgument>;

const Transport = Type.Object(
  {
    type: Type.String({ description: '`stdio`, `sse` or `streamable-http`.' }),
    url: text('Endpoint, or a template of it.'),
    headers: Type.Optional(Type.Array(KeyValueInput)),
  },
  { title: 'PackageTransport' },
);

/** Package from which a server is started. */
const Package = Type.Object(
  {
    registryType: Type.String({ description: '`npm`, `pypi`, `oci`, `nuget` or `mcpb`.' }),
    registryBaseUrl: text('Package registry.'),
    identifier: Type.String({ description: 'Name of the package, or reference of the image.' }),
    version: text('Version of the package.'),
    fileSha256: text('Hash of the file, which a client must verify.'),
    runtimeHint: text('Program that starts the package, such as `npx`.'),
    transport: Type.Optional(Transport),
    environmentVariables: Type.Optional(Type.Array(KeyValueInput)),
    packageArguments: Type.Optional(Type.Array(PackageArgument)),
    runtimeArguments: Type.Optional(Type.Array(PackageArgument)),
  },
  { title: 'ServerPackage' },
);
export type Package = Static<typeof Package>;

/** Endpoint of a server that runs elsewhere. */
const Remote = Type.Object(
  {
    type: Type.String({ description: '`sse` or `streamable-http`.' }),
    url: Type.String({ description: 'Endpoint, or a template of it.' }),
    headers: Type.Optional(Type.Array(KeyValueInput)),
    variables,
  },
  { title: 'ServerRemote' },
);
export type Remote = Static<typeof Remote>;

/** Description of a server (`server.json`). Further members are kept. @see MCP registry, server.json schema 2025-12-11 */
export const ServerJson = Type.Object(
  {
    name: Type.String({
      minLength: 3,
      maxLength: 200,
      pattern: '^[^/\\s]+/[^/\\s]+$',
      description: 'Reverse-DNS name.',
    }),
    description: Type.String({ description: 'Purpose of the server.' }),
    version: Type.String({ description: 'Version of the server.' }),
    title: text('Display name.'),
    repository: Type.Optional(Type.Object({ url: text('URL.') }, { description: 'Source repository.' })),
    packages: Type.Optional(Type.Array(Package, { description: 'Packages from which the server is started.' })),
    remotes: Type.Optional(Type.Array(Remote, { description: 'Endpoints of the server.' })),
    _meta: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Metadata of the publisher.' })),
  },
  { title: 'ServerJson', description: 'Description of a server (`server.json`).' },
);
export type ServerJson = Static<typeof ServerJson>;

/** Server with the metadata of its registry. */
export const ServerRecord = Type.Object(
  {
    server: ServerJson,
    _meta: Type.Record(Type.String(), Type.Unknown(), { description: 'Metadata of the registry.' }),
  },
  { title: 'ServerRecord' },
);
export type ServerRecord = Static<typeof ServerRecord>;

/** Page of servers of the MCP registry protocol. */
export const ServerPage = Type.Object(
  {
    servers: Type.Array(ServerRecord, { description: 'Servers of this page, sorted by name.' }),
    metadata: Type.Object({
      count: Type.Integer({ description: 'Number of servers on this page.' }),
      nextCursor: text('Cursor of the next page. Absent on the last page.'),
    }),
  },
  { title: 'ServerPage' },
);
export type ServerPage = Static<typeof ServerPage>;
