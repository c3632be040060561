import { createHash } from 'node:crypto';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { sortKeys } from '../../resolve/config-check.ts';
import { ownedObject, type Owned } from '../owned.ts';

type Files = Readonly<Record<string, string>>;

/** Renders a ConfigMap with one document as JSON, and further files. Equal documents give equal bytes. */
export const documentConfigMap = (
  owned: Owned,
  name: string,
  { key, document, files = {} }: { readonly key: string; readonly document: object; readonly files?: Files },
): KubeObject => ownedObject(owned, RESOURCES.ConfigMap, name, { data: { ...files, [key]: documentText(document) } });

const documentText = (document: object): string => `${JSON.stringify(sortKeys(document), null, 2)}\n`;

/** Returns the checksum of a document and further files. Pods whose template contains it are replaced when one changes. */
export const documentChecksum = (document: object, files: Files = {}): string =>
  [documentText(document), ...Object.values(files)]
    .reduce((hash, text) => hash.update(text), createHash('sha256'))
    .digest('hex');
