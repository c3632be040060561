import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { auditSettings } from './settings.ts';

it('row 109: refuses a file that is not UTF-8, and names it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'audit.json');
  writeFileSync(path, Buffer.from('{"component":"J\u00FCrg"}', 'latin1'));
  await expect(auditSettings({ audit_config_path: path } as never)).rejects.toThrow(`${path}: is not UTF-8`);
});
