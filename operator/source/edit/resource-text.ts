import { stringify } from 'yaml';
import { API_GROUP, API_VERSION } from '../../../gateway/contract/api-group.ts';
import { DEFAULT_NAMESPACE } from '../files/manifest-object.ts';
import { isEncrypted } from '../../../gateway/contract/rule.ts';
import { classifyHost } from '../../../gateway/outbound/address-class.ts';
import type { ProcessSpec, RemoteSpec, ServerSpec, Setting } from '../clients/server-spec.ts';
import { ALLOWED_HOSTS_ANNOTATION } from '../../resolve/backends/release.ts';
import { oneLine } from '../clients/texts.ts';
import { referencesIn } from '../clients/placeholders.ts';

/** Renders one document below comment lines. Quotes texts that YAML 1.1, as in kubectl, reads as other types. */
export const yamlText = (value: unknown, ...comments: readonly string[]): string =>
  `${comments.map((line) => `# ${line}\n`).join('')}${stringify(value, { lineWidth: 0, compat: 'yaml-1.1' })}`;

/** Joins documents into the text of a file. */
export const joinDocuments = (...documents: readonly string[]): string => documents.join('---\n');

/** Appends a document and keeps every byte of the text before it. */
export function appendDocument(text: string, document: string): string {
  if (text.trim() === '') return document;
  return `${text}${text.endsWith('\n') ? '' : '\n'}---\n${document}`;
}

interface Identity {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Returns the metadata of a new object; the default namespace is not written. */
const metadataOf = ({ name, namespace }: Omit<Identity, 'kind'>) => ({
  name,
  ...(namespace !== DEFAULT_NAMESPACE && { namespace }),
});

/** Renders a resource of our API group below comment lines. */
export const resourceText = (identity: Identity, spec: object, ...comments: readonly string[]): string =>
  yamlText(
    { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: identity.kind, metadata: metadataOf(identity), spec },
    ...comments,
  );

/** Name, group and Secret of a new server. */
export interface ServerPlace {
  readonly name: string;
  readonly namespace: string;
  readonly group: string;
  /** Name of the Secret, when the server needs one. */
  readonly secretName: string;
}

export interface ServerText {
  readonly kind: 'MCPServer' | 'MCPServerEntry';
  /** Document of the server, without the values of secrets. */
  readonly text: string;
  /** Absent when the server needs no Secret. */
  readonly secret?: SecretText;
}

/** Renders the documents of a server. `comments` are lines above it. */
export function serverText(spec: ServerSpec, place: ServerPlace, ...comments: readonly string[]): ServerText {
  const kind = spec.runs === 'here' ? 'MCPServer' : 'MCPServerEntry';
  const fields = spec.runs === 'here' ? processFields(spec, place) : remoteFields(spec, place);
  const text = resourceText({ kind, ...place }, { groupRef: { name: place.group }, ...fields }, ...comments);
  const settings = spec.runs === 'here' ? spec.secrets : spec.headers;
  if (settings.length === 0) return { kind, text };
  const hosts = spec.runs === 'here' ? [] : [new URL(spec.url).host];
  return { kind, text, secret: secretText({ ...place, name: place.secretName, settings, hosts }) };
}

const processFields = (spec: ProcessSpec, { secretName }: ServerPlace) => ({
  image: spec.image,
  ...(spec.package && { package: spec.package }),
  ...(spec.workingDir !== undefined && { workingDir: spec.workingDir }),
  transport: spec.transport,
  ...(spec.args.length > 0 && { args: spec.args }),
  ...(spec.env.length > 0 && { env: spec.env }),
  ...(spec.secrets.length > 0 && { secrets: spec.secrets.map(({ name }) => ({ name: secretName, key: name })) }),
  ...(spec.volumes && { volumes: spec.volumes }),
  ...(spec.permissionProfile && { permissionProfile: spec.permissionProfile }),
});

const remoteFields = ({ url, transport, headers }: RemoteSpec, { secretName }: ServerPlace) => ({
  remoteUrl: url,
  transport,
  ...(!isEncrypted(url) && { insecureAllowHTTP: true }),
  ...(classifyHost(new URL(url).hostname) === 'private' && { allowPrivateEndpoint: true }),
  ...(headers.length > 0 && {
    headerForward: {
      addHeadersFromSecret: headers.map(({ name }) => ({
        headerName: name,
        valueSecretRef: { name: secretName, key: secretKey(name) },
      })),
    },
  }),
});

interface SecretContents {
  readonly name: string;
  readonly namespace: string;
  readonly settings: readonly Setting[];
  /** Hosts to which an MCPServerEntry sends the values. */
  readonly hosts: readonly string[];
}

/** Value that the user must fill in. */
export interface MissingValue {
  readonly secret: string;
  readonly key: string;
  /** References of the client's file in its place, such as `${input:token}`. */
  readonly origin: string;
}

export interface SecretText {
  readonly name: string;
  readonly text: string;
  readonly missing: readonly MissingValue[];
}

/** Returns the key for a header or a variable: other characters than Kubernetes allows become `-`. */
const secretKey = (name: string): string => name.replace(/[^-._a-zA-Z0-9]/gu, '-');

/** Renders a Secret. A missing value becomes a comment line, so that its absence is a problem and no wrong value is sent. */
function secretText({ name, namespace, settings, hosts }: SecretContents): SecretText {
  const values = settings.flatMap((setting) => ('value' in setting ? [[secretKey(setting.name), setting.value]] : []));
  const missing = settings.flatMap((setting) => ('missing' in setting ? setting : []));
  const annotations = hosts.length > 0 && { annotations: { [ALLOWED_HOSTS_ANNOTATION]: hosts.join(',') } };
  const known = yamlText({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadataOf({ name, namespace }), ...annotations },
    ...(values.length > 0 && { stringData: Object.fromEntries(values) as object }),
  });
  const lines = missing.map(({ name: key, missing: text }) => {
    const origin = text === '' ? '' : ` # in place of ${oneLine(text)}`;
    return `  # ${secretKey(key)}: ""${origin}\n`;
  });
  return {
    name,
    text: `${known}${values.length === 0 ? 'stringData:\n' : ''}${lines.join('')}`,
    missing: missing.map((setting) => ({
      secret: name,
      key: secretKey(setting.name),
      origin: oneLine(referencesIn(setting.missing).join(' ')),
    })),
  };
}
