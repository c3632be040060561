import { join } from 'node:path';
import { Type } from 'typebox';
import { StateFile } from '../state/state-file.ts';
import { SkillRecord } from './shapes.ts';
import { isIn, type SkillPlace } from './place.ts';

const SkillsDocument = Type.Object({ skills: Type.Array(SkillRecord) });

/** Records of installed skills, in `skills.json`. */
export class SkillStore {
  readonly #file: StateFile<typeof SkillsDocument>;

  constructor(stateDir: string) {
    this.#file = new StateFile(join(stateDir, 'skills.json'), SkillsDocument, { skills: [] });
  }

  /** Returns all records, sorted by name. */
  async list(): Promise<SkillRecord[]> {
    const { skills } = await this.#file.read();
    return skills.toSorted((one, two) => sortKey(one).localeCompare(sortKey(two), 'en'));
  }

  async listIn(place: SkillPlace): Promise<SkillRecord[]> {
    return (await this.list()).filter((record) => isIn(place, record));
  }

  /** Replaces all records of one place. */
  async replaceIn(place: SkillPlace, records: readonly SkillRecord[]): Promise<void> {
    await this.#file.update(({ skills }) => ({
      skills: [...skills.filter((record) => !isIn(place, record)), ...records],
    }));
  }
}

const sortKey = ({ metadata, scope, project_root: root = '' }: SkillRecord): string =>
  [metadata.name, scope, root].join('\n');
