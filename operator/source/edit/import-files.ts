import type { ImportedServer, ImportedServers } from '../clients/imported-servers.ts';
import { freeName } from '../clients/names.ts';
import { quoted } from '../clients/quoted.ts';
import { STAYS_READABLE } from '../clients/secret-text.ts';
import { DEFAULT_NAMESPACE } from '../files/manifest-object.ts';
import { withDefaults } from './default-values.ts';
import {
  GATEWAY_FILE,
  gatewayFile,
  type FolderCommands,
  OWNER_ONLY,
  SECRETS_FILE,
  secretsFile,
  type NewFile,
} from './folder-files.ts';
import type { MissingValue } from './secret-text.ts';
import { serverText, type ServerText } from './server-resource.ts';
import { textProblems } from './text-problems.ts';
import { joinDocuments } from './yaml-text.ts';

export interface ImportFiles {
  /** Servers of the files. */
  readonly servers: readonly ImportedServer[];
  readonly leftOut: ImportedServers['leftOut'];
  readonly files: readonly NewFile[];
  readonly missing: readonly MissingValue[];
}

/** Returns the files of a new folder: a group and an endpoint with this name, each server, and the Secrets. */
export function importFiles(imported: ImportedServers, name: string, commands?: FolderCommands): ImportFiles {
  const taken = new Set([GATEWAY_FILE, SECRETS_FILE]);
  const { servers, files: defaults } = withDefaults(imported.servers);
  const rendered = servers.map((server) => ({ server, ...textOf(server, name) }));
  const refused = rendered.filter(({ problems }) => problems.length > 0);
  const texts = rendered
    .filter(({ problems }) => problems.length === 0)
    .map((each) => {
      const file = `${freeName(each.server.name, (free) => taken.has(`${free}.yaml`))}.yaml`;
      taken.add(file);
      return { ...each, file };
    });
  const rules = new Map(texts.flatMap(({ server }) => (server.rules ? [[server.name, server.rules] as const] : [])));
  const secrets = texts.flatMap(({ secret }) => secret ?? []);
  return {
    servers: texts.map(({ server }) => server),
    leftOut: [
      ...imported.leftOut,
      ...refused.map(({ server, problems }) => ({ original: server.original, reason: problems.join('; ') })),
    ],
    files: [
      gatewayFile(name, commands, rules),
      ...texts.map(({ server, file, kind, text }) => ({
        ...{ name: file, text, objects: [`${kind}/${server.name}`] },
        ...(containsSecret(server) && { mode: OWNER_ONLY }),
      })),
      ...defaults,
      ...(secrets.length > 0 ? [secretsFile(secrets)] : []),
    ],
    missing: secrets.flatMap(({ missing }) => missing),
  };
}

/** Returns true for a secret in an argument or a URL, which cannot come from a Secret. */
const containsSecret = ({ warnings }: ImportedServer): boolean =>
  warnings.some((warning) => warning.includes(STAYS_READABLE));

function textOf(
  { name, original, spec, warnings }: ImportedServer,
  group: string,
): ServerText & { problems: string[] } {
  const place = { name, namespace: DEFAULT_NAMESPACE, group, secretName: name };
  const comments = [`Server ${quoted(original)} of the imported file.`, ...warnings.map((text) => `Warning: ${text}`)];
  const text = serverText(spec, place, ...comments);
  return { ...text, problems: textProblems(joinDocuments(text.text, ...(text.secret ? [text.secret.text] : []))) };
}
