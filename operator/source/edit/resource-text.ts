import { API_GROUP, API_VERSION } from '../../../gateway/contract/api-group.ts';
import { DEFAULT_NAMESPACE } from '../files/manifest-object.ts';
import { yamlText } from './yaml-text.ts';

interface Identity {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Returns the metadata of a new object; the default namespace is not written. */
export const metadataOf = ({ name, namespace }: Omit<Identity, 'kind'>) => ({
  name,
  ...(namespace !== DEFAULT_NAMESPACE && { namespace }),
});

/** Renders a resource of our API group below comment lines. */
export const resourceText = (identity: Identity, spec: object, ...comments: readonly string[]): string =>
  yamlText(
    { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: identity.kind, metadata: metadataOf(identity), spec },
    ...comments,
  );
