import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { file } from './file.ts';

it('row 109: refuses a document that is not UTF-8, and names the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-registry-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'registry.json');
  writeFileSync(path, Buffer.from('{"name":"J\u00FCrg"}', 'latin1'));
  const reading = file.read(path, { readAt: '2026-01-01T00:00:00Z' } as never);
  await expect(reading).rejects.toThrow(`${path} is not UTF-8: save it in that encoding`);
});
