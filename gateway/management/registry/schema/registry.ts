import { Type, type Static } from 'typebox';
import { RemoteServerEntry, ServerEntry } from './entries.ts';
import { RegistryAuth } from './settings.ts';
import { SOURCE_TYPES } from './source-type.ts';

/** Reason why a server or a skill of a registry cannot be used. */
export const EntryProblem = Type.Object({
  server: Type.String({ description: 'Name, or the place in its list where it has none.' }),
  reason: Type.String({ description: 'Reason why vmcp cannot use it.' }),
});
export type EntryProblem = Static<typeof EntryProblem>;

const summary = {
  name: Type.String({ description: 'Name of the registry.' }),
  version: Type.String({ description: 'Version of its content.' }),
  last_updated: Type.String({ description: 'Time of its last change, or of the last reading.' }),
  server_count: Type.Integer({
    description: 'Number of servers that run from an image. Remote servers are not counted.',
  }),
  type: Type.Enum([...SOURCE_TYPES], { description: 'Kind of the source.' }),
  source: Type.String({ description: 'URL or path; empty for the built-in registry.' }),
  auth_status: Type.Enum(['none', 'configured', 'authenticated'], {
    description: 'State of the login at the registry.',
  }),
  auth_type: Type.Enum(['', 'oauth'], { description: 'Kind of the login; empty without one.' }),
  auth_config: Type.Optional(RegistryAuth),
  problems: Type.Optional(
    Type.Array(EntryProblem, { description: 'Servers and skills of the registry that cannot be used.' }),
  ),
};

/** State of a registry without its entries. */
export const RegistrySummary = Type.Object(summary, { title: 'RegistrySummary', description: 'State of a registry.' });
export type RegistrySummary = Static<typeof RegistrySummary>;

/** State of a registry with its entries by name. */
export const RegistryDetail = Type.Object(
  {
    ...summary,
    registry: Type.Object(
      {
        version: summary.version,
        last_updated: summary.last_updated,
        servers: Type.Record(Type.String(), ServerEntry, { description: 'Servers that run from an image.' }),
        remote_servers: Type.Optional(
          Type.Record(Type.String(), RemoteServerEntry, { description: 'Servers that run elsewhere.' }),
        ),
      },
      { description: 'Content of the registry.' },
    ),
  },
  { title: 'RegistryDetails', description: 'State and content of a registry.' },
);
export type RegistryDetail = Static<typeof RegistryDetail>;
