import { createHash } from 'node:crypto';
import { RESOURCES, type KubeObject } from '../../../gateway/kube/resource.ts';
import { sortKeys } from '../../resolve/config-check.ts';
import { ownedObject, type Owned } from '../owned.ts';

/** A ConfigMap that holds one document as JSON, the same bytes for the same document. */
export const documentConfigMap = (owned: Owned, name: string, key: string, document: object): KubeObject =>
  ownedObject(owned, RESOURCES.ConfigMap, name, { data: { [key]: documentText(document) } });

const documentText = (document: object): string => `${JSON.stringify(sortKeys(document), null, 2)}\n`;

/** Pods whose template names it roll when the document changes. */
export const documentChecksum = (document: object): string =>
  createHash('sha256').update(documentText(document)).digest('hex');
