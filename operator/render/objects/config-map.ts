import { createHash } from 'node:crypto';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { sortKeys } from '../../resolve/config-check.ts';
import { ownedObject, type Owned } from '../owned.ts';

/** Renders a ConfigMap with one document as JSON. Equal documents give equal bytes. */
export const documentConfigMap = (owned: Owned, name: string, key: string, document: object): KubeObject =>
  ownedObject(owned, RESOURCES.ConfigMap, name, { data: { [key]: documentText(document) } });

const documentText = (document: object): string => `${JSON.stringify(sortKeys(document), null, 2)}\n`;

/** Returns the checksum of a document. Pods whose template contains it are replaced when the document changes. */
export const documentChecksum = (document: object): string =>
  createHash('sha256').update(documentText(document)).digest('hex');
