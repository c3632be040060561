import { parseDocuments } from '../files/document.ts';
import { isManifestObject, objectsOf } from '../files/manifest-object.ts';
import { validate } from '../files/validate.ts';

/** Lists what the kinds reject in the text of new resources, as `path: message`. */
export const textProblems = (text: string): string[] =>
  parseDocuments('', text)
    .documents.flatMap((document) => objectsOf(document))
    .filter(isManifestObject)
    .map((object) => validate(object))
    .flatMap((verdict) => (verdict.is === 'refused' ? verdict.problems : []))
    .map(({ path, message }) => `${path}: ${message}`);
