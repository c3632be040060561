import { isEncrypted } from '../../../gateway/contract/rule.ts';
import { classifyHost } from '../../../gateway/outbound/address-class.ts';
import type { ProcessSpec, RemoteSpec, ServerSpec } from '../clients/server-spec.ts';
import { resourceText } from './resource-text.ts';
import { secretKey, secretText, type SecretText } from './secret-text.ts';

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
