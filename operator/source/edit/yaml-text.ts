import { stringify } from 'yaml';

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
