import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { StateFile } from '../state/state-file.ts';

export const DEFAULT_GROUP = 'default';

/** Lower-case letters, digits, `_`, `-`, and single spaces between words. */
export const GROUP_NAME = '^[a-z0-9_-]+(?: [a-z0-9_-]+)*$';
/** A longer name may not fit into the path of a request that deletes the group. */
export const MAX_GROUP_NAME = 255;

const GroupRecord = Type.Object({
  /** Client types that are registered in the group. */
  registered_clients: Type.Array(Type.String()),
  skills: Type.Array(Type.String()),
});

const GroupsDocument = Type.Object({
  groups: Type.Record(Type.String(), GroupRecord),
  /** Client types that are registered without a group. */
  clients: Type.Array(Type.String()),
});

export type GroupsDocument = Static<typeof GroupsDocument>;
export type GroupRecord = Static<typeof GroupRecord>;

export const EMPTY_GROUP: GroupRecord = { registered_clients: [], skills: [] };
const EMPTY: GroupsDocument = { groups: { [DEFAULT_GROUP]: EMPTY_GROUP }, clients: [] };

const isEmpty = ({ registered_clients: clients, skills }: GroupRecord): boolean => clients.length + skills.length === 0;

/** Store of the document of all groups. */
export interface GroupDocuments {
  read(): Promise<GroupsDocument>;
  /** Replaces the document. Changes happen one after the other; `change` runs again after a conflict. */
  update(change: (document: GroupsDocument) => GroupsDocument | Promise<GroupsDocument>): Promise<GroupsDocument>;
}

/** Returns the store in `groups.json`. */
export const groupsFile = (stateDir: string): GroupDocuments =>
  new StateFile(join(stateDir, 'groups.json'), GroupsDocument, EMPTY);

/** Groups of workloads, with the clients and skills that belong to them. */
export class Groups {
  readonly #documents: GroupDocuments;
  readonly #fileGroups: () => readonly string[];

  /** `fileGroups` lists the groups of files: they exist while a file has them. */
  constructor(documents: GroupDocuments, fileGroups: () => readonly string[] = () => []) {
    this.#documents = documents;
    this.#fileGroups = fileGroups;
  }

  async read(): Promise<GroupsDocument> {
    return this.#withFileGroups(await this.#documents.read());
  }

  /** Replaces the document. Changes happen one after the other. Groups of files are stored once they have clients or skills. */
  update(change: (document: GroupsDocument) => GroupsDocument | Promise<GroupsDocument>): Promise<GroupsDocument> {
    return this.#documents.update(async (stored) => {
      const before = this.#withFileGroups(stored);
      const after = await change(before);
      if (after === before) return stored;
      const isKept = ([name, group]: [string, GroupRecord]): boolean =>
        Object.hasOwn(stored.groups, name) || !Object.hasOwn(before.groups, name) || !isEmpty(group);
      return { ...after, groups: Object.fromEntries(Object.entries(after.groups).filter(isKept)) };
    });
  }

  #withFileGroups(document: GroupsDocument): GroupsDocument {
    const missing = this.#fileGroups().filter((name) => !Object.hasOwn(document.groups, name));
    if (missing.length === 0) return document;
    const added = Object.fromEntries(missing.map((name) => [name, EMPTY_GROUP]));
    return { ...document, groups: { ...document.groups, ...added } };
  }

  /** Throws `managed_by_files`. */
  refuseFileGroup(name: string): void {
    if (this.#fileGroups().includes(name))
      throw new OperationError(
        'managed_by_files',
        `a file of vmcp up describes the group "${name}": edit that file instead`,
      );
  }

  async has(name: string): Promise<boolean> {
    return Object.hasOwn((await this.read()).groups, name);
  }

  /** Throws `group_exists`. */
  async create(name: string): Promise<void> {
    await this.update((document) => {
      if (Object.hasOwn(document.groups, name)) throw new OperationError('group_exists');
      return { ...document, groups: { ...document.groups, [name]: EMPTY_GROUP } };
    });
  }

  /**
   * Removes a group. `release` removes the registrations of its clients first. Throws `group_not_found` and, for the default group,
   * `default_group`.
   */
  async remove(name: string, release: (document: GroupsDocument, group: GroupRecord) => GroupsDocument): Promise<void> {
    await this.update((document) => {
      const group = requireGroup(document, name);
      if (name === DEFAULT_GROUP) throw new OperationError('default_group');
      const released = release(document, group);
      const { [name]: _removed, ...groups } = released.groups;
      return { ...released, groups };
    });
  }

  /** Throws `group_not_found`. */
  async addSkill(name: string, skill: string): Promise<void> {
    await this.update((document) => {
      const group = requireGroup(document, name);
      if (group.skills.includes(skill)) return document;
      const changed = { ...group, skills: [...group.skills, skill].toSorted() };
      return { ...document, groups: { ...document.groups, [name]: changed } };
    });
  }

  /** Removes a skill from every group. */
  async removeSkill(skill: string): Promise<void> {
    await this.update((document) => {
      const without = (group: GroupRecord): GroupRecord => ({
        ...group,
        skills: group.skills.filter((other) => other !== skill),
      });
      return { ...document, groups: mapGroups(document.groups, without) };
    });
  }
}

/** Throws `group_not_found`. */
export function requireGroup({ groups }: GroupsDocument, name: string): GroupRecord {
  const group = Object.hasOwn(groups, name) ? groups[name] : undefined;
  if (!group) throw new OperationError('group_not_found', `there is no group "${name}": create it first`);
  return group;
}

export const mapGroups = (
  groups: GroupsDocument['groups'],
  change: (group: GroupRecord, name: string) => GroupRecord,
): GroupsDocument['groups'] =>
  Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, change(group, name)]));
