import { Type } from 'typebox';
import { Closed } from './fields.ts';
import { block, flag } from './optional.ts';

const NAME_PATTERN = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';
const NAME_LENGTH = { minLength: 1, maxLength: 253 };
const KEY = { pattern: '^[-._a-zA-Z0-9]+$', minLength: 1, maxLength: 253 };

const name = (description: string) => Type.String({ pattern: NAME_PATTERN, ...NAME_LENGTH, description });

const secretKey = {
  name: name('Name of the Secret.'),
  key: Type.String({ ...KEY, description: 'Key in the Secret.' }),
};

/** One key of a Secret in the same namespace. */
export const SecretKeyRef = (description: string) => Closed(secretKey, { description });

export const secretKeyRef = (description: string) => Type.Optional(SecretKeyRef(description));

/** Another object in the same namespace. */
export const NameRef = (description: string) => Closed({ name: name('Name of the object.') }, { description });

export const nameRef = (description: string) => Type.Optional(NameRef(description));

/** The `name` of a reference that carries more than a name. */
export const RefName = name;

/** An optional `caBundleRef`. */
export interface BundleRef {
  readonly configMapRef?: { readonly name: string; readonly key?: string; readonly optional?: boolean };
}

/** Further certificate authorities from a ConfigMap. */
export const caBundleRef = () =>
  block('PEM certificates trusted in addition to the system roots.', {
    configMapRef: block('ConfigMap that holds the certificates.', {
      name: name('Name of the ConfigMap.'),
      key: Type.Optional(Type.String({ ...KEY, default: 'ca.crt', description: 'Key in the ConfigMap.' })),
      optional: flag('Start without the certificates when the ConfigMap or the key is missing.'),
    }),
  });
