import { Type } from 'typebox';
import { Closed } from '../../../contract/fields.ts';
import { secretKeyRef } from '../../../contract/references.ts';
import { rule } from '../../../contract/rule.ts';
import { memoryStore } from '../memory.ts';
import { defineStore } from '../variant.ts';

/** Store as a contributor may add it: everything about it is in this file. */
export const toyStore = defineStore({
  type: 'toyFolder',
  aliases: ['toyDisk'],
  description: 'A folder.',
  isShared: false,
  survivesRestart: true,
  spec: Closed(
    {
      folder: Type.String({ maxLength: 64, description: 'Path of the folder.' }),
      passphraseSecretRef: secretKeyRef('Passphrase of the files.'),
    },
    { description: 'Set when `type` is `toyFolder`.' },
  ),
  rules: [
    rule<{ readonly folder: string }>('', {
      field: 'folder',
      rule: "!self.folder.contains(':')",
      message: 'folder must not contain a colon',
      check: (self) => !self.folder.includes(':'),
    }),
  ],
  config: Closed({ folder: Type.String(), passphrase_file: Type.Optional(Type.String()) }),
  resolve({ folder, passphraseSecretRef }, scope) {
    if (!passphraseSecretRef) {
      scope.problem({ reason: 'PassphraseMissing', path: 'passphraseSecretRef', message: 'set the passphrase' });
    }
    return {
      folder: `${folder}/${scope.namespace}/${scope.name}`,
      ...(passphraseSecretRef && { passphrase_file: scope.secretFile(passphraseSecretRef) }),
    };
  },
  check: ({ folder }) =>
    folder.startsWith('/proc') ? [{ reason: 'InvalidValue', path: 'folder', message: 'use another folder' }] : [],
  async create({ folder, passphrase_file }, { now, log }) {
    log.info(`opened ${folder} with ${String(passphrase_file)}`);
    return memoryStore(now);
  },
});
