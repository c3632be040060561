import { readServers, type RegistryCatalog } from '../catalog.ts';

export const READ_AT = '2026-01-02T03:04:05Z';

/** A catalog of these `server.json` documents, or of records with the metadata of a registry. */
export const catalogOf = (...servers: readonly object[]): RegistryCatalog => ({
  version: '1.0.0',
  lastUpdated: READ_AT,
  skills: [],
  ...readServers(servers, READ_AT),
});

export const ECHO = {
  name: 'com.example/echo',
  description: 'Repeats a text.',
  version: '1.2.0',
  packages: [{ registryType: 'oci', identifier: 'ghcr.io/example/echo:1.2.0', transport: { type: 'stdio' } }],
};

export const NOTES = {
  name: 'com.example/notes',
  title: 'Notes',
  description: 'Keeps notes.',
  version: '2.0.0',
  remotes: [{ type: 'streamable-http', url: 'https://notes.example.com/mcp' }],
};

export const SUMMARY_SKILL = {
  namespace: 'com.example',
  name: 'summary',
  description: 'Shortens a text.',
  version: '1.0.0',
  packages: [{ registryType: 'git', url: 'https://github.com/example/skills', subfolder: 'summary' }],
};

/** Registry document of the upstream layout. */
export const upstreamDocument = (data: object = { servers: [NOTES, ECHO], skills: [SUMMARY_SKILL] }): string =>
  JSON.stringify({ $schema: 'x', version: '1.1.0', meta: { last_updated: '2026-05-06T07:08:09Z' }, data });
