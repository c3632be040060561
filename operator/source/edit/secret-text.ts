import { ALLOWED_HOSTS_ANNOTATION } from '../../resolve/backends/release.ts';
import { oneLine } from '../clients/quoted.ts';
import type { Setting } from '../clients/server-spec.ts';
import { referencesIn } from '../clients/placeholders.ts';
import { metadataOf } from './resource-text.ts';
import { yamlText } from './yaml-text.ts';

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
export const secretKey = (name: string): string => name.replace(/[^-._a-zA-Z0-9]/gu, '-');

/** Renders a Secret. A missing value becomes a comment line, so that its absence is a problem and no wrong value is sent. */
export function secretText({ name, namespace, settings, hosts }: SecretContents): SecretText {
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
